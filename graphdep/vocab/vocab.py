"""Vocabularies of words, tags and phrase labels, and their files."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from graphdep.io.extras import check_extra
from graphdep.io.files import has_half_character, typed_path
from graphdep.io.limits import check_between, check_least


class Tokens(Protocol):
    """Ids of words and of special nodes between them; see :class:`~graphdep.vocab.VocabTokens` and
    :class:`~graphdep.vocab.SubwordTokens`.

    Attributes:
        cls_id: Id of [CLS], before an example.
        sep_id: Id of [SEP], after the context and after the response.
        eou_id: Id of [EOU], after each utterance of the context.
        fingerprint: Digest of everything that determines the ids.
    """

    cls_id: int
    sep_id: int
    eou_id: int
    fingerprint: str

    def encode(self, words: Sequence[str]) -> list[list[int]]:
        """The piece ids of each word, at least one per word, and never an id of the above."""
        ...


T = TypeVar("T")


def check_once(name: str, entries: Sequence[str]) -> None:
    """Raises :class:`ValueError`, with the entry, if an entry occurs more than once."""
    if len(set(entries)) != len(entries):
        entry, count = Counter(entries).most_common(1)[0]
        raise ValueError(f"{name!r} repeats {entry!r}, or it is a fixed entry ({count} times in all)")


def save_vocab_file(state: dict, path: str | os.PathLike[str], overwrite: bool) -> None:
    """Writes a vocabulary file atomically."""
    with typed_path(path, overwrite=overwrite) as temporary:
        temporary.write_text(json.dumps(state, ensure_ascii=False, indent=1), encoding="utf-8")


def check_state(state: Any, **kinds: type) -> dict:
    """The state of a vocabulary; raises :class:`ValueError` unless it has these keys, each with a value of
    its type. Lists must contain strings that UTF-8 can encode.
    """
    for key, kind in kinds.items():
        value: Any = state.get(key) if isinstance(state, dict) else None
        if type(value) is not kind:
            raise ValueError(f"no {kind.__name__} under {key!r}")
        words: list[Any] = state[key] if kind is list else []
        for word in words:
            if not isinstance(word, str) or has_half_character(word):
                raise ValueError(
                    f"{key!r} must be a list of strings without half a character (got {word!r:.80})"
                )
    return state


def load_vocab_file(path: str | os.PathLike[str], make: Callable[[dict], T]) -> T:
    """The result of ``make`` for the JSON object in a file; if ``make`` raises :class:`ValueError`, the
    message gets the name of the file.
    """
    try:
        return make(json.loads(Path(path).read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:  # invalid UTF-8 and JSON are ValueErrors, too
        raise ValueError(f"{path}: not a vocabulary file ({error})") from None


UNK, ROOT, CLS, SEP, EOU = "[UNK]", "[ROOT]", "[CLS]", "[SEP]", "[EOU]"
SPECIALS = (UNK, ROOT, CLS, SEP, EOU)
UNK_ID, ROOT_ID, CLS_ID, SEP_ID, EOU_ID = range(len(SPECIALS))


class Vocab:
    r"""Words with fixed ids: ``[UNK]`` 0, ``[ROOT]`` 1, ``[CLS]`` 2, ``[SEP]`` 3, ``[EOU]`` 4, then words.

    Args:
        words: The words, most important first, without the special ones.
        lower: Look words up in lower case. (default: :obj:`False`)

    Raises:
        ValueError: If a word occurs twice or is a special symbol.

    Example:
        >>> from graphdep import Vocab
        >>> vocab = Vocab.build([["She", "sings"], ["She", "does"]])
        >>> vocab, vocab["She"], vocab["sleeps"]
        (Vocab(8 words, lower=False), 5, 0)
    """

    def __init__(self, words: Iterable[str] = (), *, lower: bool = False) -> None:
        self.words = [*SPECIALS, *words]
        self.lower = lower
        self._ids = {word: i for i, word in enumerate(self.words)}
        check_once("words", self.words)

    @classmethod
    def build(cls, sentences: Iterable[Sequence[str]], *, min_freq: int = 1, lower: bool = False) -> Vocab:
        """Counts the words of ``sentences`` (word lists) and keeps those seen ``min_freq`` times or more.

        Order: by count, then alphabetically, so that the same corpus always gives the same ids.
        """
        check_least("min_freq", min_freq, 1)
        counts = Counter(word.lower() if lower else word for words in sentences for word in words)
        kept = [w for w, n in counts.items() if n >= min_freq and w not in SPECIALS]
        return cls(sorted(kept, key=lambda w: (-counts[w], w)), lower=lower)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, word: str) -> int:
        return self._ids.get(word, self._ids.get(word.lower(), UNK_ID) if self.lower else UNK_ID)

    def id_of(self, word: str) -> int:
        """The id of a word in a text, where ``[EOU]`` and other special symbols are ordinary words."""
        known = word.lower() if self.lower and word in SPECIALS else word
        return UNK_ID if known in SPECIALS else self[known]

    def words_of(self, ids: Iterable[int]) -> list[str]:
        """The words of given ids."""
        return [self.words[i] for i in ids]

    def __contains__(self, word: str) -> bool:
        return word in self._ids or (self.lower and word.lower() in self._ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocab) and self.state_dict() == other.state_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} words, lower={self.lower})"

    def state_dict(self) -> dict:
        """Plain values, for JSON and for checkpoints."""
        return {"words": self.words[len(SPECIALS) :], "lower": self.lower}

    @classmethod
    def from_state_dict(cls, state: dict) -> Vocab:
        state = check_state(state, words=list, lower=bool)
        return cls(state["words"], lower=state["lower"])

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes a JSON file; one that is there is replaced only if :obj:`overwrite`."""
        save_vocab_file(self.state_dict(), path, overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocab:
        return load_vocab_file(path, cls.from_state_dict)


UPOS = """ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X""".split()
"""The tags of Universal Dependencies; ids follow this order, from 1."""
_IDS = {tag: number for number, tag in enumerate(UPOS, start=1)}


def tag_id(tag: str) -> int:
    """The id of a tag; an unknown tag has the id of ``X``."""
    return _IDS.get(tag, _IDS["X"])


# The labels of the Penn Treebank and of its web and speech releases. Ids follow this order, so only append
# entries.
_PTB = """X ADJP ADVP CONJP EDITED EMBED FRAG INTJ LST META NAC NML NP NX PP PRN PRT QP RRC S SBAR SBARQ SINV
SQ TYPO UCP VP WHADJP WHADVP WHNP WHPP ROOT CAPTION CIT HEADING HTML UNK WHX""".split()
_CUT = re.compile("[-=|+]")


class PhraseVocab:
    """Ids of constituent labels, the same for every graph, corpus and run: 0 is none, 1 is ``X`` for unknown
    labels, then follow the labels of the Penn Treebank.

    A label falls back to its part before ``-``, ``=``, ``|`` and ``+``, without ``@``; ``NP-SBJ`` and ``@NP``
    are ``NP``. :obj:`fallbacks` counts unknown labels.

    Args:
        further: Additional labels, appended. (default: none)

    Raises:
        ValueError: If a label is known already, or is given twice.

    Example:
        >>> from graphdep.vocab import PhraseVocab
        >>> phrases = PhraseVocab()
        >>> phrases.label(phrases["NP-SBJ"]), phrases.label(phrases["strange"])
        ('NP', 'X')
    """

    NONE, UNK = 0, 1

    def __init__(self, further: Iterable[str] = ()) -> None:
        self.further = [*further]
        self._labels = ["[NONE]", *_PTB, *self.further]
        check_once("further", self._labels)
        self._ids = {label: number for number, label in enumerate(self._labels) if number != self.NONE}
        self.fallbacks: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._labels)

    def __getitem__(self, label: str) -> int:
        if not isinstance(label, str):
            raise TypeError(f"'label' must be a string; label({label!r}) is an id's name (got {label!r})")
        found = self._ids.get(label)
        if found is None:
            found = self._ids.get(_CUT.split(label.lstrip("@"), maxsplit=1)[0])
        if found is None:
            self.fallbacks[label] += 1
            return self.UNK
        return found

    def __contains__(self, label: str) -> bool:
        return label in self._ids

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} labels, {len(self.further)} further)"

    def label(self, phrase: int) -> str:
        """The name of an id."""
        check_between("phrase", phrase, 0, len(self) - 1)
        return self._labels[phrase]


# Suffixes that attach to the previous word, wherever the apostrophe was split off.
_CONTRACTION = re.compile(r"(?<=\w) ?(['’]) ?(s|m|d|ll|re|ve|t)\b(?! ['’])", re.IGNORECASE)
_NEGATION = re.compile(r"(?<=\w) (n['’]t)\b", re.IGNORECASE)
_BEFORE = re.compile(r"\s+([.,!?;:…%)\]}])")
_AFTER = re.compile(r"([(\[{$£€])\s+")
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_END = re.compile(r"[.!?…]+")
_I = re.compile(r"i(?=$|['’])")
# Control characters can affect a terminal; white space among them becomes a space.
_CONTROL = {
    code: " " if chr(code).isspace() else None
    for code in range(256)
    if unicodedata.category(chr(code)) == "Cc"
}


def detokenize(words: Iterable[str], *, truecase: bool = True) -> str:
    r"""Joins words to readable text: ``do n't``, ``, `` and brackets are attached to their neighbours.

    Identical quotes alternate between opening and closing. The original text may not be restored exactly; for
    scores, compare words. Control characters are dropped, and runs of white space within a word become one
    space.

    Args:
        words: The words, tokenized as in the Penn or Universal Dependencies treebanks.
        truecase: If no word has a capital letter, capitalize *I* and the first letter of each sentence.
            (default: :obj:`True`)
    """
    check_extra("detokenize", "dialogue", "nltk")
    from nltk.tokenize.treebank import TreebankWordDetokenizer  # here, since NLTK takes a second to import

    words = [_BRACKETS.get(word, word) for word in map(_printable, words) if word]
    if truecase and all(word == word.lower() for word in words if word not in SPECIALS):
        words = _truecased(words)
    text = TreebankWordDetokenizer().detokenize(_turned_quotes(words))
    text = _CONTRACTION.sub(r"\1\2", _NEGATION.sub(r"\1", text))
    return _AFTER.sub(r"\1", _BEFORE.sub(r"\1", text))


def _printable(word: str) -> str:
    return " ".join(word.translate(_CONTROL).split())


def _truecased(words: list[str]) -> list[str]:
    cased, starts = [], True
    for word in words:
        word = f"I{word[1:]}" if _I.match(word) else word
        if any(map(str.isalnum, word)):
            cased.append(word[0].upper() + word[1:] if starts else word)
            starts = False
        else:
            cased.append(word)
            starts = starts or _END.fullmatch(word) is not None
    return cased


def _turned_quotes(words: list[str]) -> list[str]:
    """Straight double quotes as opening and closing quotes of the treebank."""
    turned, opened = [], False
    for word in words:
        if word == '"':
            turned.append("''" if opened else "``")
            opened = not opened
        else:
            turned.append(word)
    return turned
