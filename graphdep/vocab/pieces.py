"""Subword vocabularies."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from graphdep.io.extras import check_extra
from graphdep.io.limits import check_least
from graphdep.vocab.vocab import CLS_ID, EOU_ID, SEP_ID, SPECIALS, Vocab, check_state, load_vocab_file

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


# A text without spaces could otherwise take the memory of a whole corpus as a single word.
MAX_PIECES = 50
# Number of byte values, each of which is a piece.
_BYTES = 256
# Parts of a tokenizer that `train` never writes.
_FOREIGN_PARTS = ("truncation", "padding", "added_tokens", "normalizer", "post_processor")
_FOREIGN_BPE = (
    *("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"),
    *("fuse_unk", "byte_fallback", "ignore_merges"),
)


class PieceVocab(Vocab):
    r"""A byte-level BPE vocabulary, from "Neural Machine Translation of Rare Words with Subword Units": no
    word is unknown.

    The ids of the special symbols are those of :class:`~graphdep.Vocab`: ``[UNK]`` 0, ``[ROOT]`` 1, ``[CLS]``
    2, ``[SEP]`` 3, ``[EOU]`` 4; pieces follow. Pieces at the start of a word differ from others, so
    :meth:`decode` can restore the words. Needs the package tokenizers (``graphdep[bpe]``).

    Args:
        bpe: The JSON text of a :class:`tokenizers.Tokenizer` from :meth:`train`. Only its pieces and merges
            are read.
        lower: Encode words in lower case. (default: :obj:`False`)

    Raises:
        ValueError: If the text is not a tokenizer from :meth:`train`, or the package is missing.

    Example:
        >>> from graphdep.vocab import PieceVocab
        >>> vocab = PieceVocab.train([["low", "lower", "lowest"]] * 9, size=270)
        >>> vocab.decode([*vocab.encode("lowest"), *vocab.encode("low")])
        'lowest low'
    """

    def __init__(self, bpe: str, *, lower: bool = False) -> None:
        tokenizers = _tokenizers()
        alphabet = set(tokenizers.pre_tokenizers.ByteLevel.alphabet())
        try:
            ids, merges = _read(bpe, alphabet)
        except (ValueError, RecursionError) as error:  # invalid JSON is a ValueError, too
            raise ValueError(f"'bpe' is not the JSON text of a tokenizer ({str(error)[:200]})") from None
        self._bpe = _byte_tokenizer(tokenizers.models.BPE(ids, merges))
        super().__init__(sorted(ids, key=ids.__getitem__), lower=lower)
        self._encoded: dict[str, list[int]] = {}

    @classmethod
    def train(
        cls, sentences: Iterable[Sequence[str]], size: int, *, min_freq: int = 1, lower: bool = False
    ) -> PieceVocab:
        """Learns the pieces from the words of ``sentences`` (word lists).

        Args:
            sentences: The words; merges stay within a word.
            size: The number of ids, including special symbols and 256 bytes; fewer if the corpus has no more
                pairs to merge.
            min_freq: The least frequency of a pair to merge. (default: :obj:`1`)
            lower: Encode words in lower case. (default: :obj:`False`)

        Raises:
            ValueError: If :obj:`size` or :obj:`min_freq` is too small, or the package is missing.
        """
        check_least("size", size, len(SPECIALS) + _BYTES)
        check_least("min_freq", min_freq, 1)
        tokenizers = _tokenizers()
        tokenizer = _byte_tokenizer(tokenizers.models.BPE())
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=size - len(SPECIALS),
            min_frequency=min_freq,
            initial_alphabet=sorted(tokenizer.pre_tokenizer.alphabet()),
            show_progress=False,
        )
        words = (word.lower() if lower else word for words in sentences for word in words)
        tokenizer.train_from_iterator(words, trainer)
        return cls(tokenizer.to_str(), lower=lower)

    def __getitem__(self, word: str) -> int:
        if word not in SPECIALS:
            raise ValueError(f"{word!r} is not a special symbol and may have several pieces: call encode()")
        return self._ids[word]

    def id_of(self, word: str) -> int:
        raise ValueError(f"{word!r} may have several pieces: call encode()")

    def __contains__(self, word: str) -> bool:
        return bool(word)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} pieces, lower={self.lower})"

    def encode(self, word: str) -> list[int]:
        """The piece ids of a word, at least one and at most the first ``MAX_PIECES`` = 50: a text of
        thousands of characters without a space is not a word.

        Raises:
            ValueError: If the word is empty.
        """
        if not word:
            raise ValueError("'word' is empty: it has no pieces")
        if word not in self._encoded:
            text = word.lower() if self.lower else word
            self._encoded[word] = [len(SPECIALS) + piece for piece in self._bpe.encode(text).ids[:MAX_PIECES]]
        return self._encoded[word]

    def words_of(self, ids: Iterable[int]) -> list[str]:
        """The words of a sequence of pieces, without special symbols."""
        return self.decode(ids).split()

    def decode(self, ids: Iterable[int]) -> str:
        """The text of a sequence of pieces, with spaces between words and without special symbols."""
        pieces = [piece - len(SPECIALS) for piece in ids if piece >= len(SPECIALS)]
        return self._bpe.decode(pieces).removeprefix(" ")

    def state_dict(self) -> dict:
        """Plain values, for JSON and for checkpoints."""
        return {"bpe": self._bpe.to_str(), "lower": self.lower}

    @classmethod
    def from_state_dict(cls, state: dict) -> PieceVocab:
        state = check_state(state, bpe=str, lower=bool)
        return cls(state["bpe"], lower=state["lower"])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PieceVocab:
        return load_vocab_file(path, cls.from_state_dict)


def vocab_from_state(state: dict) -> Vocab:
    """The vocabulary of words or pieces with this ``state_dict()``."""
    kind = PieceVocab if isinstance(state, dict) and "bpe" in state else Vocab
    return kind.from_state_dict(state)


def _read(bpe: str, alphabet: set[str]) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The pieces with their ids, and the merges.

    The package must not parse untrusted text: some texts abort the process or take very long.
    """
    match tokenizer := json.loads(bpe):
        case {"model": {"type": "BPE", "vocab": dict(ids), "merges": list(merges)} as model}:
            parts = ((tokenizer, _FOREIGN_PARTS), (model, _FOREIGN_BPE))
        case _:
            raise ValueError("no model of type 'BPE' with a dict 'vocab' and a list 'merges'")
    for fault in _faults(parts, ids, merges, alphabet):
        raise ValueError(fault)
    return ids, [(first, second) for first, second in merges]


def _faults(
    parts: Iterable[tuple[dict, Sequence[str]]], ids: dict[str, Any], merges: list, alphabet: set[str]
) -> Iterator[str]:
    """What is wrong with a tokenizer, first things first."""
    for part, names in parts:
        yield from (f"{name!r} must be empty (got {part[name]!r:.80})" for name in names if part.get(name))
    if any(type(number) is not int for number in ids.values()) or {*ids.values()} != {*range(len(ids))}:
        yield f"the numbers of the {len(ids)} pieces must be 0 to {len(ids) - 1}"
    for piece in ids:
        if not piece or not alphabet.issuperset(piece):
            yield f"a piece must be of characters that stand for bytes (got {piece[:80]!r})"
    if missing := alphabet - ids.keys():
        yield f"{len(missing)} bytes have no piece"
    for merge in merges:
        if not _is_merge(merge, ids):
            yield f"a merge must join two known pieces into a known one (got {merge!r:.80})"


def _is_merge(merge: Any, ids: dict[str, int]) -> bool:
    match merge:
        case [str(first), str(second)]:
            return first in ids and second in ids and first + second in ids
    return False


def _byte_tokenizer(model: Any) -> Any:
    """A tokenizer of words into bytes."""
    tokenizers = _tokenizers()
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return tokenizer


def _tokenizers() -> Any:
    check_extra("a vocabulary of pieces of words", "bpe")
    import tokenizers

    return tokenizers


class VocabTokens:
    """The ids of a :class:`~graphdep.Vocab` (one per word) or :class:`~graphdep.vocab.pieces.PieceVocab`.

    A text word such as ``[SEP]`` is an ordinary word and never gets the special id.

    Args:
        vocab: The vocabulary.

    Example:
        >>> from graphdep import Vocab
        >>> from graphdep.vocab import VocabTokens
        >>> tokens = VocabTokens(Vocab(["She", "sings"]))
        >>> tokens.encode(["She", "sings", "[SEP]"]), tokens.cls_id, tokens.sep_id, tokens.eou_id
        ([[5], [6], [0]], 2, 3, 4)
    """

    def __init__(self, vocab: Vocab) -> None:
        self.vocab = vocab
        self.cls_id, self.sep_id, self.eou_id = CLS_ID, SEP_ID, EOU_ID
        state = json.dumps(vocab.state_dict(), sort_keys=True)
        self.fingerprint = hashlib.sha256(state.encode()).hexdigest()[:16]

    def encode(self, words: Sequence[str]) -> list[list[int]]:
        """The piece ids of each word."""
        if isinstance(self.vocab, PieceVocab):
            return [self.vocab.encode(word) for word in words]
        return [[self.vocab.id_of(word)] for word in words]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.vocab!r})"


# The words of a large corpus would fill the memory of each worker of a loader.
MAX_CACHED = 1 << 18


class SubwordTokens:
    r"""The ids of a fast Hugging Face tokenizer, word by word, as with ``is_split_into_words=True``.

    - Every word has a piece: the unknown token if the tokenizer removes the whole word (a control or
      zero-width character).
    - Text cannot forge structure: a word such as ``[SEP]`` is split like other text, and if text still gives
      the id of a special token, it is replaced by the unknown token.
    - With byte-level BPE (RoBERTa) every word is encoded with a space before it, as with
      ``add_prefix_space=True``, whatever the tokenizer's setting.

    Works on a copy of the tokenizer's backend without truncation and padding: later changes of the tokenizer
    have no effect. The pieces of up to ``MAX_CACHED`` = 262,144 words are cached; then the cache is cleared.

    Args:
        tokenizer: A fast tokenizer with [CLS], [SEP] and an unknown token (or their equivalents).
        eou: The token after each utterance of a context; the tokenizer must have it. (default: ``"[EOU]"``)

    Raises:
        ValueError: If the tokenizer is not a fast one, or a token is missing.

    Example:
        >>> from transformers import AutoTokenizer
        >>> from graphdep.vocab import SubwordTokens
        >>> tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
        >>> tokens = SubwordTokens(tokenizer, eou="[SEP]")
        >>> [len(pieces) > 0 for pieces in tokens.encode(["She", "sings", "[SEP]"])]
        [True, True, True]
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, eou: str = "[EOU]") -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ValueError(f"'tokenizer' must be a fast tokenizer (got {type(tokenizer).__name__})")
        self.eou = eou
        self.cls_id = _special_id(tokenizer, "cls_token")
        self.sep_id = _special_id(tokenizer, "sep_token")
        self.unk_id = _special_id(tokenizer, "unk_token")
        self.eou_id = _eou_id(tokenizer, eou)
        serialised = tokenizer.backend_tokenizer.to_str()
        self.fingerprint = _fingerprint(serialised, self)
        self._backend = _word_backend(serialised)
        self._structure = {self.eou_id, *tokenizer.all_special_ids} - {self.unk_id}
        self._cache: dict[str, list[int]] = {}

    def encode(self, words: Sequence[str]) -> list[list[int]]:
        """The piece ids of each word, at least one per word. The lists are shared: do not modify them."""
        new = [word for word in dict.fromkeys(words) if word not in self._cache]
        if not new:
            return [self._cache[word] for word in words]
        if len(self._cache) + len(new) > MAX_CACHED:
            self._cache.clear()
            new = list(dict.fromkeys(words))
        self._cache |= zip(new, self._encode(new))
        return [self._cache[word] for word in words]

    def _encode(self, words: list[str]) -> list[list[int]]:
        encoding = self._backend.encode(words, is_pretokenized=True, add_special_tokens=False)
        pieces: list[list[int]] = [[] for _ in words]
        for piece, word in zip(encoding.ids, encoding.word_ids):
            pieces[word].append(self.unk_id if piece in self._structure else piece)
        return [ids or [self.unk_id] for ids in pieces]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fingerprint}, eou={self.eou!r})"


def _special_id(tokenizer: PreTrainedTokenizerBase, name: str) -> int:
    number = getattr(tokenizer, f"{name}_id", None)
    if number is None:
        raise ValueError(f"'tokenizer' has no {name!r} ({type(tokenizer).__name__})")
    return number


def _eou_id(tokenizer: PreTrainedTokenizerBase, eou: str) -> int:
    vocab = tokenizer.get_vocab()
    if eou not in vocab:
        advice = (
            "name one that it has, or add it with add_special_tokens and make the encoder's table as long"
        )
        raise ValueError(f"'tokenizer' has no token {eou!r} ('eou'): {advice}")
    return vocab[eou]


def _fingerprint(serialised: str, tokens: SubwordTokens) -> str:
    parts = [serialised, tokens.eou, tokens.cls_id, tokens.sep_id, tokens.unk_id]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _word_backend(serialised: str) -> Any:
    """A tokenizer of single words, from the JSON text of a tokenizer."""
    from tokenizers import Tokenizer

    settings = json.loads(serialised)
    settings["truncation"] = settings["padding"] = None
    _add_prefix_space(settings["pre_tokenizer"])
    backend = Tokenizer.from_str(json.dumps(settings))
    backend.encode_special_tokens = True  # special tokens in text are text
    return backend


def _add_prefix_space(pre_tokenizer: dict[str, Any] | None) -> None:
    """Lets byte-level BPE add a space before each word, even if it is one of several steps."""
    if pre_tokenizer is None:
        return
    if pre_tokenizer["type"] == "ByteLevel":
        pre_tokenizer["add_prefix_space"] = True
    for step in pre_tokenizer.get("pretokenizers", []):
        _add_prefix_space(step)
