"""One utterance as arrays: pieces of words, and the tree over the words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from graphdep.alignment.tokens import Tokens
from graphdep.sentence import Sentence
from graphdep.truncation import check_side, cut_tree
from graphdep.vocab import RelationVocab

ROOT_DEPREL = RelationVocab()["root"]  # of the fixed block, thus the same in every vocabulary


@dataclass(frozen=True, eq=False)
class EncodedUtterance:
    r"""The words of one utterance, each of one or more pieces, and their basic tree.

    The arrays are not copied and not checked.

    Args:
        input_ids: Ids of the pieces, word by word.
        counts: Pieces of each word, at least 1.
        head: Number of each word's governor in the utterance, from 0; a root word has its own number.
        deprel: :class:`~graphdep.RelationVocab` id of each word's relation.

    Shapes:
        - ``input_ids``: :math:`(\text{pieces})`, int64
        - ``counts, head, deprel, depth``: :math:`(\text{words})`, int64
    """

    input_ids: np.ndarray
    counts: np.ndarray
    head: np.ndarray
    deprel: np.ndarray

    @classmethod
    def of(cls, sentence: Sentence | None, tokens: Tokens, relations: RelationVocab) -> EncodedUtterance:
        """A parsed sentence; :obj:`None` is an utterance without words.

        Args:
            sentence: The words and their tree; enhanced arcs are not read.
            tokens: Ids of the words' pieces.
            relations: Ids of the relations.
        """
        if sentence is None or len(sentence) == 0:
            return cls(*(np.zeros(0, dtype=np.int64) for _ in range(4)))
        pieces = tokens.encode(sentence.form)
        head = np.array(sentence.head, dtype=np.int64) - 1
        return cls(
            input_ids=np.array([*chain.from_iterable(pieces)], dtype=np.int64),
            counts=np.array([len(ids) for ids in pieces], dtype=np.int64),
            head=np.where(head < 0, np.arange(len(head)), head),
            deprel=np.array([relations[label] for label in sentence.deprel], dtype=np.int64),
        )

    @property
    def num_words(self) -> int:
        return len(self.counts)

    @property
    def num_pieces(self) -> int:
        return len(self.input_ids)

    @cached_property
    def depth(self) -> np.ndarray:
        """Arcs between each word and the artificial root: 1 for a root word."""
        return depths(self.head)

    def cut(self, max_pieces: int, side: str = "right") -> EncodedUtterance:
        """The utterance without as many of its words as it takes to have at most ``max_pieces`` pieces.

        Words are cut whole, and the tree stays a tree: a word whose governor is cut moves to its nearest
        ancestor that is kept. Words without one are there only where the root is cut: the first of them
        becomes the root (relation ``root``), and the others depend on it. ``num_words`` before and after
        tell how many words were cut.

        Args:
            max_pieces: The number of pieces that there is room for; an utterance that is short enough is
                returned as it is.
            side: Cut the words at the ``"right"`` end, or at the ``"left"``. (default: ``"right"``)

        Raises:
            ValueError: If :obj:`max_pieces` is negative or :obj:`side` is unknown.
        """
        check_side(side)
        if max_pieces < 0:
            raise ValueError(f"'max_pieces' must be at least 0 (got {max_pieces})")
        if self.num_pieces <= max_pieces:
            return self
        ends = self.counts.cumsum()
        if side == "right":
            start, stop = 0, int(ends.searchsorted(max_pieces, side="right"))
            pieces = slice(0, int(self.counts[:stop].sum()))
        else:
            first = ends - self.counts
            start, stop = int(first.searchsorted(self.num_pieces - max_pieces)), self.num_words
            pieces = slice(self.num_pieces - int(self.counts[start:].sum()), None)
        head, root = cut_tree(self.head, start, stop)
        deprel = self.deprel[start:stop].copy()
        if root is not None:
            deprel[root] = ROOT_DEPREL
        return EncodedUtterance(self.input_ids[pieces], self.counts[start:stop], head, deprel)


def depths(head: np.ndarray) -> np.ndarray:
    """Arcs between each word and the artificial root.

    By pointer jumping, which takes as many rounds as the logarithm of the greatest depth.
    """
    up, depth = head, (head != np.arange(len(head))).astype(np.int64)
    for _ in range(len(head).bit_length()):
        further = up[up]
        depth = depth + depth[up]
        if np.array_equal(further, up):
            break
        up = further
    return depth + 1
