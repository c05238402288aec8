"""One utterance as arrays: pieces of words, and the tree over the words."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from graphdep.sentence import Constituent, Row, Sentence
from graphdep.sentence.sentence import check_side, cut_tree
from graphdep.vocab import PhraseVocab, RelationVocab
from graphdep.vocab.vocab import Tokens

ROOT_DEPREL = RelationVocab()["root"]  # of the fixed block, thus the same in every vocabulary


@dataclass(frozen=True, eq=False)
class EncodedUtterance:
    r"""The words of one utterance, each of one or more pieces, and their basic tree.

    With an enhanced graph there are its arcs, too, and its empty nodes as further nodes behind the words. The
    arrays are not copied and not checked.

    Args:
        input_ids: Ids of the pieces, node by node.
        counts: Pieces of each node, at least 1.
        head: Number of each node's governor in the basic tree of the utterance, from 0; a root word and an
            empty node have their own number.
        deprel: :class:`~graphdep.RelationVocab` id of each node's relation; of an empty node, SELF.
        arcs: The arcs of the enhanced graph: governor, dependent and id of the relation; :obj:`None` for
            those of the basic tree. (default: :obj:`None`)
        phrases: The constituents in preorder: first word, last word and label
            (:class:`~graphdep.vocab.PhraseVocab`); :obj:`None` if they were not asked for.
            (default: :obj:`None`)
        anchor: The word that each empty node goes with when words are cut: the one that it follows, else
            the first; :obj:`None` for no empty nodes. (default: :obj:`None`)

    Shapes:
        - ``input_ids``: :math:`(\text{pieces})`, int64
        - ``counts, head, deprel, depth``: :math:`(\text{words} + \text{empty nodes})`, int64
        - ``arcs``: :math:`(3, \text{arcs})`, int64
        - ``anchor``: :math:`(\text{empty nodes})`, int64
        - ``phrases``: :math:`(3, \text{constituents})`, int64

    Example:
        >>> from graphdep import RelationVocab, Sentence, Vocab
        >>> from graphdep.data import EncodedUtterance
        >>> from graphdep.vocab import VocabTokens
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])
        >>> utterance = EncodedUtterance.of(sentence, VocabTokens(Vocab(["She", "sings"])), RelationVocab())
        >>> utterance.head, utterance.depth, utterance.cut(1).num_words
        (array([1, 1]), array([2, 1]), 1)
    """

    input_ids: np.ndarray
    counts: np.ndarray
    head: np.ndarray
    deprel: np.ndarray
    arcs: np.ndarray | None = None
    anchor: np.ndarray | None = None
    phrases: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        sentence: Sentence | None,
        tokens: Tokens,
        relations: RelationVocab,
        arcs: str = "basic",
        *,
        copies: str = "word",
        phrases: bool = False,
    ) -> EncodedUtterance:
        """A parsed sentence; :obj:`None` is an utterance without words.

        Args:
            sentence: The words and their tree.
            tokens: Ids of the words' pieces.
            relations: Ids of the relations.
            arcs: ``"basic"`` takes the arcs of the tree, ``"enhanced"`` those of :attr:`Sentence.deps`, with
                all governors of a word and its cycles, and the empty nodes, where the sentence has them;
                arcs from the artificial root are left out. (default: ``"basic"``)
            copies: What becomes of copies of words, the empty nodes with ``CopyOf=N`` in column MISC: with
                ``"word"`` the arcs of a copy are those of word N, so that a copy adds no text; arcs between a
                word and its own copy are left out, and of several arcs that become one, one is kept. With
                ``"node"`` they are nodes as the other empty ones. (default: ``"word"``)
            phrases: Read :attr:`Sentence.constituents`. (default: :obj:`False`)

        Raises:
            ValueError: If :obj:`arcs` or :obj:`copies` is unknown, or the sentence has no constituents.
        """
        if arcs not in ("basic", "enhanced"):
            raise ValueError(f"'arcs' must be 'basic' or 'enhanced' (got {arcs!r})")
        check_copies(copies)
        if sentence is None or len(sentence) == 0:
            none = np.zeros((3, 0), dtype=np.int64) if phrases else None
            utterance = cls(*(np.zeros(0, dtype=np.int64) for _ in range(4)))
            return dataclasses.replace(utterance, phrases=none)
        enhanced = arcs == "enhanced" and sentence.deps is not None
        copied = _copied(sentence) if enhanced and copies == "word" else {}
        empty = [row for row in sentence.empty if row[0] not in copied] if enhanced else []
        pieces = tokens.encode([*sentence.form, *(row[1] for row in empty)])
        number = np.arange(len(pieces))
        head = number.copy()
        head[: len(sentence)] = np.array(sentence.head) - 1
        labels = [relations[label] for label in sentence.deprel] + [RelationVocab.SELF] * len(empty)
        return cls(
            input_ids=np.array([*chain.from_iterable(pieces)], dtype=np.int64),
            counts=np.array([len(ids) for ids in pieces], dtype=np.int64),
            head=np.where(head < 0, number, head),
            deprel=np.array(labels, dtype=np.int64),
            arcs=_enhanced_arcs(sentence, relations, empty, copied) if enhanced else None,
            anchor=np.array([_anchor(row) for row in empty], dtype=np.int64) if empty else None,
            phrases=_phrases(sentence) if phrases else None,
        )

    @property
    def num_nodes(self) -> int:
        """Words and empty nodes."""
        return len(self.counts)

    @property
    def num_words(self) -> int:
        """Words alone."""
        return len(self.counts) - (0 if self.anchor is None else len(self.anchor))

    @property
    def num_pieces(self) -> int:
        return len(self.input_ids)

    @cached_property
    def depth(self) -> np.ndarray:
        """Arcs between each word and the artificial root: 1 for a root word, -1 for an empty node."""
        depth = depths(self.head)
        depth[self.num_words :] = -1
        return depth

    def cut(self, max_pieces: int, side: str = "right") -> EncodedUtterance:
        """The utterance without as many of its words as it takes to have at most ``max_pieces`` pieces.

        Words are cut whole, and the tree stays a tree: a word whose governor is cut moves to its nearest
        ancestor that is kept. Words without one are there only where the root is cut: the first of them
        becomes the root (relation ``root``), and the others depend on it. ``num_words`` before and after
        tell how many words were cut. Empty nodes go with the word that they follow. Of enhanced arcs, those
        between two nodes that are kept are kept, and no others come to them.

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
        words, sizes = self.num_words, self.counts
        if self.anchor is not None:
            sizes = sizes[:words].copy()
            np.add.at(sizes, self.anchor, self.counts[words:])
        ends = sizes.cumsum()
        if side == "right":
            start, stop = 0, int(ends.searchsorted(max_pieces, side="right"))
        else:
            start, stop = int((ends - sizes).searchsorted(self.num_pieces - max_pieces)), words
        return self._part(start, stop)

    def _part(self, start: int, stop: int) -> EncodedUtterance:
        """The words ``start`` to ``stop - 1`` with the empty nodes and arcs that go with them."""
        word = np.arange(self.num_words)
        if self.anchor is not None:
            word = np.concatenate([word, self.anchor])
        kept = (start <= word) & (word < stop)
        head, root = cut_tree(self.head[: self.num_words], start, stop)
        deprel = self.deprel[kept]
        if root is not None:
            deprel[root] = ROOT_DEPREL
        further = np.arange(len(head), len(deprel))  # the empty nodes, each its own governor
        anchor = None if self.anchor is None else self.anchor[kept[self.num_words :]] - start
        return EncodedUtterance(
            self.input_ids[kept.repeat(self.counts)],
            self.counts[kept],
            np.concatenate([head, further]),
            deprel,
            arcs=None if self.arcs is None else _arcs_within(self.arcs, kept),
            anchor=anchor,
            phrases=None if self.phrases is None else cut_phrases(self.phrases, start, stop),
        )


def _phrases(sentence: Sentence) -> np.ndarray:
    labels = PhraseVocab()
    spans = [(start, end - 1, labels[label]) for label, start, end in constituents_of(sentence)]
    return np.array(spans, dtype=np.int64).reshape(-1, 3).T


def cut_phrases(phrases: np.ndarray, start: int, stop: int) -> np.ndarray:
    """The constituents of the words ``start`` to ``stop - 1``, counted from the first of them."""
    first, last, label = phrases
    kept = (first < stop) & (last >= start)
    ends = (np.maximum(first, start) - start, np.minimum(last, stop - 1) - start)
    return np.stack([*ends, label])[:, kept]


def constituents_of(sentence: Sentence) -> Sequence[Constituent]:
    """The constituents of a sentence.

    Raises:
        ValueError: If nobody knows them.
    """
    if sentence.constituents is None:
        raise ValueError(
            f"the sentence {sentence.text[:60]!r} has no constituents, which 'phrases' are made of: parse it "
            "with resolve_parser('bundled', constituents=True)"
        )
    return sentence.constituents


def _anchor(row: Row) -> int:
    return max(int(row[0].partition(".")[0]) - 1, 0)


def _copied(sentence: Sentence) -> dict[str, int]:
    """The word, from 0, that each copy among the empty nodes stands for."""
    copied = {}
    for row in sentence.empty:
        of = [part.removeprefix("CopyOf=") for part in row[9].split("|") if part.startswith("CopyOf=")]
        if of and of[0].isdecimal() and 1 <= int(of[0]) <= len(sentence):
            copied[row[0]] = int(of[0]) - 1
    return copied


def check_copies(copies: str) -> None:
    """Raises :class:`ValueError` unless these are ``"word"`` or ``"node"``."""
    if copies not in ("word", "node"):
        raise ValueError(f"'copies' must be 'word' or 'node' (got {copies!r})")


def _enhanced_arcs(
    sentence: Sentence, relations: RelationVocab, empty: Sequence[Row], copied: Mapping[str, int]
) -> np.ndarray:
    """The arcs of words and empty nodes, in the order of :func:`graphdep.to_data`."""
    words = [*map(str, range(1, len(sentence) + 1))]
    number = {name: node for node, name in enumerate([*words, *(row[0] for row in empty)])}
    number |= copied
    arcs = [
        (number[head], number[name], label)
        for head, name, label in sentence.enhanced_arcs
        if head in number and (head == name or number[head] != number[name])
    ]
    arcs = [*dict.fromkeys(arcs)] if copied else arcs
    ids = [(head, node, relations[label]) for head, node, label in arcs]
    return np.array(ids, dtype=np.int64).reshape(-1, 3).T


def _arcs_within(arcs: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """The arcs between nodes that are kept, with their new numbers."""
    number = kept.cumsum() - 1
    governor, dependent, relation = arcs[:, kept[arcs[:2]].all(axis=0)]
    return np.stack([number[governor], number[dependent], relation])


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
