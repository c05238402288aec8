"""The pieces of all words of a lexicon, as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice

import numpy as np

from graphdep.vocab import Tokens

_WORDS = 10_000


class WordPieces:
    r"""Encodes each word of a lexicon once; utterances are then looked up without a loop over their words.

    Args:
        words: The words by their numbers.
        tokens: Ids of their pieces.

    Shapes:
        - ``ids``: :math:`(\text{pieces})`, int32, the pieces of all words, one word after the other
        - ``counts``: :math:`(\text{words})`, int32, the pieces of each word
    """

    def __init__(self, words: Iterable[str], tokens: Tokens) -> None:
        ids, counts = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        rest = iter(words)
        while some := list(islice(rest, _WORDS)):
            pieces = tokens.encode(some)
            ids.append(np.fromiter(chain.from_iterable(pieces), np.int32))
            counts.append(np.fromiter(map(len, pieces), np.int32))
        self.ids, self.counts = np.concatenate(ids), np.concatenate(counts)
        self._first = self.counts.cumsum(dtype=np.int64) - self.counts

    def of(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pieces of words by their numbers, and how many each has, both int64."""
        counts = self.counts[words].astype(np.int64)
        ends = counts.cumsum()
        size = int(ends[-1]) if len(ends) else 0
        place = np.arange(size) + (self._first[words] - ends + counts).repeat(counts)
        return self.ids[place].astype(np.int64), counts

    def holds(self, piece: int) -> np.ndarray:
        """Whether each word has that piece."""
        found = np.zeros(len(self.counts), dtype=bool)
        word = np.arange(len(self.counts)).repeat(self.counts)
        found[word[self.ids == piece]] = True
        return found
