"""Fixed ids for words and for relations, saved as JSON."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from graphdep.io.text import has_half_character
from graphdep.vocab.files import load_vocab_file, save_vocab_file

T = TypeVar("T")

UNK, ROOT, CLS, SEP, EOU = "[UNK]", "[ROOT]", "[CLS]", "[SEP]", "[EOU]"
SPECIALS = (UNK, ROOT, CLS, SEP, EOU)
UNK_ID, ROOT_ID, CLS_ID, SEP_ID, EOU_ID = range(len(SPECIALS))


class Vocab:
    r"""Words with fixed ids: ``[UNK]`` 0, ``[ROOT]`` 1, ``[CLS]`` 2, ``[SEP]`` 3, ``[EOU]`` 4, then words.

    Args:
        words: The words, most important first, without the special ones.
        lower: Look words up in lower case. (default: :obj:`False`)

    Raises:
        ValueError: If a word occurs twice or is a special one.

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
        if len(self._ids) != len(self.words):
            word, count = Counter(self.words).most_common(1)[0]
            raise ValueError(f"'words' holds {word!r} {count} times")

    @classmethod
    def build(cls, sentences: Iterable[Sequence[str]], *, min_freq: int = 1, lower: bool = False) -> Vocab:
        """Counts the words of ``sentences`` (word lists) and keeps those seen ``min_freq`` times or more.

        Order: by count, then alphabetically, so that the same corpus always gives the same ids.
        """
        if min_freq < 1:
            raise ValueError(f"'min_freq' must be at least 1 (got {min_freq})")
        counts = Counter(word.lower() if lower else word for words in sentences for word in words)
        kept = [w for w, n in counts.items() if n >= min_freq and w not in SPECIALS]
        return cls(sorted(kept, key=lambda w: (-counts[w], w)), lower=lower)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, word: str) -> int:
        return self._ids.get(word, self._ids.get(word.lower(), UNK_ID) if self.lower else UNK_ID)

    def id_of(self, word: str) -> int:
        """The id of a word of a text, where ``[EOU]`` and the like are words as any other and end nothing."""
        known = word.lower() if self.lower and word in SPECIALS else word
        return UNK_ID if known in SPECIALS else self[known]

    def words_of(self, ids: Iterable[int]) -> list[str]:
        """The words of ids."""
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
        words, lower = state["words"], state["lower"]
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("'words' must be a list of strings")
        if not isinstance(lower, bool):
            raise ValueError(f"'lower' must be True or False (got {str(lower)[:80]!r})")
        for word in words:
            if has_half_character(word):
                raise ValueError(f"'words' has half a character, which no file can hold (got {word[:80]!r})")
        return cls(words, lower=lower)

    def save(self, path: str | os.PathLike[str]) -> None:
        save_vocab_file(self.state_dict(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocab:
        return load_vocab_file(path, {"words": list, "lower": bool}, cls.from_state_dict)
