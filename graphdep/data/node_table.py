"""The node table: words, pieces, special nodes and the tree over them, as PyG ``Data``."""

from __future__ import annotations

import copy
import dataclasses
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import accumulate, chain
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.io.limits import check_choice, check_least, check_length, check_some, plural
from graphdep.sentence.clear import is_clear
from graphdep.sentence.intake import as_sentences
from graphdep.sentence.sentence import SIDES, Sentence, cut_tree
from graphdep.sentence.tree import Constituent, Row, known_constituents
from graphdep.vocab.pieces import PieceVocab
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import ROOT, ROOT_ID, PhraseVocab, Tokens, Vocab, tag_id

ROOT_DEPREL = RelationVocab()["root"]  # in the fixed block, so the same in every vocabulary


COPIES = ("word", "node")
_ARCS = ("basic", "enhanced", "own")


@dataclass(frozen=True, eq=False)
class EncodedUtterance:
    r"""The words of one utterance, each with one or more pieces, and their basic tree.

    An enhanced graph adds its arcs, and its empty nodes as further nodes after the words. The arrays are
    neither copied nor checked.

    Args:
        input_ids: Ids of the pieces, node by node.
        counts: Number of pieces of each node, at least 1.
        head: Number of each node's governor in the basic tree of the utterance, from 0; root words and empty
            nodes are their own governors.
        deprel: :class:`~graphdep.RelationVocab` id of each node's relation; SELF for an empty node.
        arcs: The arcs of the enhanced graph: governor, dependent and relation id; :obj:`None` for those of
            the basic tree. (default: :obj:`None`)
        phrases: The constituents in preorder: first word, last word and label
            (:class:`~graphdep.vocab.PhraseVocab`); :obj:`None` if they were not read. (default: :obj:`None`)
        anchor: The word with which each empty node is cut: the word before it, or else the first; :obj:`None`
            without empty nodes. (default: :obj:`None`)

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
        """Encodes a parsed sentence; :obj:`None` is an utterance without words.

        Args:
            sentence: The words and their tree.
            tokens: Ids of the word pieces.
            relations: Ids of the relations.
            arcs: ``"basic"`` reads the arcs of the tree; ``"enhanced"`` those of :attr:`Sentence.deps`, if
                the sentence has it: with all governors of a word, cycles, and empty nodes, but without arcs
                from the artificial root. (default: ``"basic"``)
            copies: Copies of words, the empty nodes with ``CopyOf=N`` in column MISC: ``"word"`` moves the
                arcs of a copy to word N, so that a copy adds no text, and drops arcs between a word and its
                copy and repeated arcs; ``"node"`` makes copies nodes like other empty nodes. (default:
                ``"word"``)
            phrases: Read :attr:`Sentence.constituents`. (default: :obj:`False`)

        Raises:
            ValueError: If :obj:`arcs` or :obj:`copies` is unknown, or the sentence has no constituents.
        """
        check_choice("arcs", arcs, _ARCS)
        check_choice("copies", copies, COPIES)
        if sentence is None or len(sentence) == 0:
            none = np.zeros((3, 0), dtype=np.int64) if phrases else None
            utterance = cls(*(np.zeros(0, dtype=np.int64) for _ in range(4)))
            return dataclasses.replace(utterance, phrases=none)
        enhanced = arcs != "basic" and sentence.deps is not None
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
        """Number of words and empty nodes."""
        return len(self.counts)

    @property
    def num_words(self) -> int:
        """Number of words."""
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
        """Removes words until the utterance has at most ``max_pieces`` pieces.

        Words are removed whole, and the tree stays a tree: a word whose governor is removed moves to its
        nearest remaining ancestor. Only if the root is removed, some words have none: the first of them
        becomes the root (relation ``root``), and the others depend on it. The difference in ``num_words`` is
        the number of removed words. An empty node is removed with the word before it. Enhanced arcs remain if
        both of their nodes remain; none are added.

        Args:
            max_pieces: The largest number of pieces; an utterance that is short enough is returned unchanged.
            side: Remove words at the ``"right"`` or the ``"left"`` end. (default: ``"right"``)

        Raises:
            ValueError: If :obj:`max_pieces` is negative or :obj:`side` is unknown.
        """
        check_choice("side", side, SIDES)
        check_least("max_pieces", max_pieces, 0)
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
        """The words ``start`` to ``stop - 1`` with their empty nodes and arcs."""
        word = np.arange(self.num_words)
        if self.anchor is not None:
            word = np.concatenate([word, self.anchor])
        kept = (start <= word) & (word < stop)
        head, roots = cut_tree(self.head[: self.num_words], start, stop)
        deprel = self.deprel[kept]
        deprel[roots] = ROOT_DEPREL
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
    """The constituents of the words ``start`` to ``stop - 1``, with word numbers from ``start``."""
    first, last, label = phrases
    kept = (first < stop) & (last >= start)
    ends = (np.maximum(first, start) - start, np.minimum(last, stop - 1) - start)
    return np.stack([*ends, label])[:, kept]


def constituents_of(sentence: Sentence) -> Sequence[Constituent]:
    """The constituents of a sentence, from which phrases are made."""
    advice = ", which 'phrases' are made of: parse it with resolve_parser('bundled', constituents=True)"
    return known_constituents(sentence, advice)


def _anchor(row: Row) -> int:
    return max(int(row[0].partition(".")[0]) - 1, 0)


def _copied(sentence: Sentence) -> dict[str, int]:
    """The word, from 0, that each copy among the empty nodes copies."""
    copied = {}
    for row in sentence.empty:
        of = [part.removeprefix("CopyOf=") for part in row[9].split("|") if part.startswith("CopyOf=")]
        if of and of[0].isdecimal() and 1 <= int(of[0]) <= len(sentence):
            copied[row[0]] = int(of[0]) - 1
    return copied


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
    """The arcs between kept nodes, renumbered."""
    number = kept.cumsum() - 1
    governor, dependent, relation = arcs[:, kept[arcs[:2]].all(axis=0)]
    return np.stack([number[governor], number[dependent], relation])


def depths(head: np.ndarray) -> np.ndarray:
    """Number of arcs between each word and the artificial root.

    By pointer jumping, with a number of rounds logarithmic in the greatest depth.
    """
    up, depth = head, (head != np.arange(len(head))).astype(np.int64)
    for _ in range(len(head).bit_length()):
        further = up[up]
        depth = depth + depth[up]
        if np.array_equal(further, up):
            break
        up = further
    return depth + 1


logger = logging.getLogger("graphdep.data")


class NodeType(IntEnum):
    """What a node stands for; the pieces of a word are all WORD.

    Example:
        >>> from graphdep import NodeType, Sentence, to_data
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])])
        >>> [NodeType(node).name for node in data.node_type.tolist()]
        ['ROOT', 'WORD', 'WORD']
    """

    ROOT = 0
    WORD = 1
    RELATION = 2
    CLS = 3
    SEP = 4
    EOU = 5
    PHRASE = 6


def to_data(
    sentences: Sequence[Sentence] | Any,
    *,
    vocab: Vocab | None = None,
    relations: RelationVocab | None = None,
    root: bool = True,
    arcs: str = "basic",
    positions: str = "utterance",
    segment: Sequence[int] | None = None,
    y: Tensor | None = None,
    phrases: bool | str = False,
) -> Data:
    r"""One example (a sentence, a pair, a dialogue) as a PyG :class:`~torch_geometric.data.Data`.

    The nodes are, utterance by utterance, the artificial ROOT (if :obj:`root`), the words, and with
    ``arcs="enhanced"`` the empty nodes. :mod:`graphdep.transforms` adds edges.

    Args:
        sentences: The utterances of the example, in order: a :class:`~graphdep.Sentence`, a ``Doc`` or
            ``Span`` of spaCy, a ``Document`` or ``Sentence`` of stanza, a ``TokenList`` of conllu, input of
            :meth:`Sentence.from_dict`, or a list of these. A text of several sentences gives several
            utterances; :func:`~graphdep.sentence.join_sentences` joins them.
        vocab: Ids of words for :obj:`input_ids`; without it there is no such key. (default: :obj:`None`)
        relations: Ids of relations. (default: a new :class:`RelationVocab`, with a warning about unknown
            labels, which count as ``dep``)
        root: Put a ROOT node before the words of each utterance; without it a root word is its own
            governor. (default: :obj:`True`)
        arcs: ``"basic"`` reads :obj:`arc_index` from HEAD; ``"enhanced"`` and ``"own"`` from DEPS, if the
            sentence has it. (default: ``"basic"``)
        positions: Count :obj:`position` within the ``"utterance"`` or through the whole ``"example"``.
            (default: ``"utterance"``)
        segment: Segment of each utterance, e.g. ``[0, 1]`` for a pair. (default: all 0)
        y: Graph-level target, ``[1]`` or ``[1, classes]``. (default: :obj:`None`)
        phrases: Read :attr:`Sentence.constituents`. :obj:`True` adds a PHRASE node for each, in preorder,
            after all other nodes, as :class:`~graphdep.transforms.PhraseNodes` does: with the id of its label
            (:class:`~graphdep.vocab.PhraseVocab`) as :obj:`deprel` and :obj:`input_ids` (which is not a word
            id), and positions after the largest one. ``"spans"`` writes only :obj:`phrase_index` and
            :obj:`phrase_type`; ``"tagged"`` also :obj:`tag`, from :attr:`Sentence.upos`. (default:
            :obj:`False`)

    Shapes:
        - ``input_ids, node_type, governor_index, deprel, depth, utterance, word, position, segment``:
          :math:`(|\mathcal{V}|)`, long
        - ``arc_index``: :math:`(2, |\mathcal{A}|)`, governor -> dependent
        - ``arc_type``: :math:`(|\mathcal{A}|)`
        - ``phrase_index``: :math:`(2, |\mathcal{P}|)`, first and last word of each constituent
        - ``phrase_type``: :math:`(|\mathcal{P}|)`, its label; ``phrase_node_index``:
          :math:`(|\mathcal{P}|)`, its node
        - ``tag``: :math:`(|\mathcal{V}|)`, the universal tag of each word (:mod:`graphdep.vocab.vocab`),
          ``X`` if it has none; 0 for other nodes

    Raises:
        TypeError: If an item is not a parse; the message lists the supported parses.
        ValueError: If there is no sentence, a sentence is not a tree or lacks the constituents for
            :obj:`phrases`, or an option or the length of :obj:`segment` is invalid.

    Example:
        >>> from graphdep import to_data
        >>> to_data({"words": ["She", "sings"], "head": [2, 0], "deprel": ["nsubj", "root"]}).depth.tolist()
        [0, 2, 1]
    """
    sentences = as_sentences(sentences)
    check_some("sentences", sentences, "sentence")
    check_choice("arcs", arcs, _ARCS)
    check_choice("positions", positions, ("utterance", "example"))
    check_choice("phrases", phrases, (False, True, "spans", "tagged"))
    if segment is not None:
        check_length("segment", segment, len(sentences), "sentences")
    counted = relations if relations is not None else RelationVocab()
    table = _NodeTable(counted, vocab, root, arcs != "basic")
    for sentence, part in zip(sentences, segment or [0] * len(sentences)):
        table.add(sentence, part)
    if positions == "example":
        table.columns["position"] = list(range(table.num_nodes))
    if phrases:
        table.add_phrases(sentences, nodes=phrases is True)
    if phrases == "tagged":
        table.add_tags(sentences)
    if relations is None:  # else their owner sees the count
        warn_of_unknown(counted, [label for sentence in sentences for label in sentence.deprel])
    return table.data(y)


def warn_of_unknown(relations: RelationVocab, labels: Sequence[str]) -> None:
    """One warning about the labels that new relations read as ``dep``."""
    if unknown := relations.unknown(relations.fallbacks):
        why = "RelationVocab.learn makes relations of your labels: docs/how-to/arc-labels.md"
        if is_clear(labels):
            why = (
                "labels of spaCy's English models are converted by Sentence.from_dict(..., scheme='clear'), "
                "those of a Sentence by graphdep.sentence.clear_to_ud"
            )
        logger.warning(
            "%s with unknown labels, read as 'dep': %s (%s)",
            plural(unknown.total(), "arc"),
            ", ".join(f"{label} ({count})" for label, count in sorted(unknown.items())[:10]),
            why,
        )


def tree_nodes(data: Data) -> Tensor:
    """Whether each node belongs to the tree: ROOT and words, without copies of words in enhanced++ graphs,
    bool ``[num_nodes]``.
    """
    return (data.node_type == NodeType.ROOT) | ((data.node_type == NodeType.WORD) & (data.word >= 0))


def join_utterances(utterances: Sequence[Data]) -> Data:
    """Joins examples of one utterance each, with the same result as :func:`to_data` of all the sentences with
    ``positions="example"``.

    An utterance of several examples is thus encoded once. Only the node table is joined: other keys, such as
    ``y`` or edges, are left out.

    Args:
        utterances: Node tables with the same keys.

    Raises:
        ValueError: If there is no utterance.
    """
    check_some("utterances", utterances, "utterance")
    sizes = [data.node_type.numel() for data in utterances]
    starts = [0, *accumulate(sizes)]
    further = ("input_ids", "arc_index", "arc_type", "phrase_index", "phrase_type")
    keys = [key for key in (*_NodeTable.KEYS, *further) if key in utterances[0]]
    columns = {key: [data[key] for data in utterances] for key in keys}
    for key in ("governor_index", "arc_index", "phrase_index"):
        if key not in columns:
            continue
        columns[key] = [column + start for column, start in zip(columns[key], starts)]
    joined = Data(num_nodes=starts[-1], **{key: torch.cat(parts, dim=-1) for key, parts in columns.items()})
    device = joined.node_type.device
    number = torch.arange(len(sizes), device=device)
    joined.utterance = number.repeat_interleave(torch.tensor(sizes, device=device))
    joined.position = torch.arange(starts[-1], device=device)
    return joined


class _NodeTable:
    """The columns of the node table, filled utterance by utterance."""

    KEYS = ("node_type", "governor_index", "deprel", "depth", "utterance", "word", "position", "segment")

    def __init__(self, relations: RelationVocab, vocab: Vocab | None, root: bool, enhanced: bool) -> None:
        self.relations, self.vocab, self.root, self.enhanced = relations, vocab, root, enhanced
        self.columns: dict[str, list[int]] = {key: [] for key in self.KEYS}
        if vocab is not None:
            self.columns["input_ids"] = []
        self.arcs: list[tuple[int, int, int]] = []
        self.phrases: list[tuple[int, int, int]] | None = None
        self.phrase_nodes: list[int] | None = None
        self.firsts: list[int] = []  # the node of the first word of each utterance
        self.num_utterances = 0

    @property
    def num_nodes(self) -> int:
        return len(self.columns["node_type"])

    def add(self, sentence: Sentence, segment: int) -> None:
        start = self.num_nodes
        first = start + self.root  # node of the sentence's first word
        empty = sentence.empty if self.enhanced and sentence.deps is not None else []
        size = self.root + len(sentence) + len(empty)
        self.firsts.append(first)
        if self.root:
            self._add_node(NodeType.ROOT, start, RelationVocab.SELF, 0, -1, ROOT)
        depth = sentence.depth
        for word, (form, head, deprel) in enumerate(zip(sentence.form, sentence.head, sentence.deprel)):
            governor = first + head - 1 if head else (start if self.root else first + word)
            self._add_node(NodeType.WORD, governor, self.relations[deprel], depth[word], word, form)
        for row in empty:
            self._add_node(NodeType.WORD, self.num_nodes, RelationVocab.SELF, -1, -1, row[1])
        self.columns["utterance"] += [self.num_utterances] * size
        self.columns["position"] += range(size)
        self.columns["segment"] += [segment] * size
        self.num_utterances += 1
        self._add_arcs(sentence, start, first, empty)

    def add_phrases(self, sentences: Sequence[Sentence], *, nodes: bool) -> None:
        labels = PhraseVocab()
        self.phrases, self.phrase_nodes = [], [] if nodes else None
        position = max(self.columns["position"])
        for utterance, (sentence, start) in enumerate(zip(sentences, self.firsts)):
            for label, first, end in constituents_of(sentence):
                self.phrases.append((start + first, start + end - 1, labels[label]))
                if self.phrase_nodes is not None:
                    position += 1
                    self._add_phrase_node(labels[label], utterance, position, start)

    def add_tags(self, sentences: Sequence[Sentence]) -> None:
        tags = [0] * self.num_nodes
        for sentence, start in zip(sentences, self.firsts):
            words = sentence.upos or ["X"] * len(sentence)
            tags[start : start + len(sentence)] = map(tag_id, words)
        self.columns["tag"] = tags

    def _add_phrase_node(self, label: int, utterance: int, position: int, word: int) -> None:
        assert self.phrase_nodes is not None
        self.phrase_nodes.append(self.num_nodes)
        row = {"node_type": int(NodeType.PHRASE), "governor_index": self.num_nodes, "deprel": label}
        row |= {"depth": -1, "word": -1, "utterance": utterance, "position": position, "input_ids": label}
        row["segment"] = self.columns["segment"][word]
        for key, column in self.columns.items():
            column.append(row[key])

    def _add_node(self, kind: NodeType, governor: int, deprel: int, depth: int, word: int, form: str) -> None:
        row = {
            "node_type": int(kind),
            "governor_index": governor,
            "deprel": deprel,
            "depth": depth,
            "word": word,
        }
        for key, value in row.items():
            self.columns[key].append(value)
        if self.vocab is not None:
            ids = self.vocab.__getitem__ if kind is NodeType.ROOT else self.vocab.id_of
            self.columns["input_ids"].append(ids(form))

    def _add_arcs(self, sentence: Sentence, start: int, first: int, empty: Sequence[tuple[str, ...]]) -> None:
        if not self.enhanced or sentence.deps is None:
            for node in range(first, first + len(sentence)):
                governor = self.columns["governor_index"][node]
                if governor != node:
                    self.arcs.append((governor, node, self.columns["deprel"][node]))
            return
        node_of = {str(word + 1): first + word for word in range(len(sentence))}
        node_of |= {row[0]: first + len(sentence) + i for i, row in enumerate(empty)}
        if self.root:
            node_of["0"] = start
        for head, dependent, label in sentence.enhanced_arcs:
            if head in node_of:
                self.arcs.append((node_of[head], node_of[dependent], self.relations[label]))

    def data(self, y: Tensor | None) -> Data:
        data = Data(num_nodes=self.num_nodes)
        for key, column in self.columns.items():
            data[key] = torch.tensor(column, dtype=torch.long)
        arcs = torch.tensor(self.arcs, dtype=torch.long).view(-1, 3)
        data.arc_index, data.arc_type = arcs[:, :2].t().contiguous(), arcs[:, 2].contiguous()
        if self.phrases is not None:
            spans = torch.tensor(self.phrases, dtype=torch.long).view(-1, 3)
            data.phrase_index, data.phrase_type = spans[:, :2].t().contiguous(), spans[:, 2].contiguous()
        if self.phrase_nodes is not None:
            data.phrase_node_index = torch.tensor(self.phrase_nodes, dtype=torch.long)
        if y is not None:
            data.y = y
        return data


# Columns that a piece copies from its word.
_WORD_COLUMNS = ("node_type", "deprel", "depth", "utterance", "word", "segment")


def utterance_data(
    tree: Sentence,
    vocab: Vocab,
    relations: RelationVocab,
    *,
    root: bool = True,
    arcs: str = "basic",
    phrases: bool | str = False,
) -> Data:
    """One utterance by :func:`graphdep.to_data`, with a node for each piece of a word if the vocabulary has
    pieces.

    Args:
        tree: The words and their tree.
        vocab: Ids of words or of pieces.
        relations: Ids of relations.
        root: Put a ROOT node before the words. (default: :obj:`True`)
        arcs: ``"basic"`` reads the arcs of the tree, other values those of :attr:`Sentence.deps`, if the
            sentence has it. (default: ``"basic"``)
        phrases: Read :attr:`Sentence.constituents`, without nodes for them. (default: :obj:`False`)
    """
    options: dict[str, Any] = {"relations": relations, "root": root}
    options |= {"arcs": "basic" if arcs == "basic" else "enhanced", "phrases": "spans" if phrases else False}
    if not isinstance(vocab, PieceVocab):
        return to_data([tree], vocab=vocab, **options)
    empty = tree.empty if arcs != "basic" and tree.deps is not None else []
    words = [vocab.encode(word) for word in (*tree.form, *(row[1] for row in empty))]
    return expand_pieces(to_data([tree], **options), [*([[ROOT_ID]] * root), *words])


def expand_pieces(data: Data, pieces: Sequence[Sequence[int]]) -> Data:
    r"""One example with a node for each piece of a word.

    All pieces of a word share its place in the tree: its utterance, number, relation and depth; their
    governor is the first piece of its governor. Arcs join first pieces. Transforms compute relations between
    words and expand a pair of words to the pairs of their pieces; see
    :class:`graphdep.transforms.EdgeConstructor`.

    Args:
        data: One example with the node table of :func:`graphdep.to_data`, without edges.
        pieces: The piece ids of each node, which become :obj:`input_ids`; one for a node that is not a word.

    Returns:
        A new example, whose positions count pieces instead of words, from each position 0 on.

    Raises:
        ValueError: If the data is a batch or has edges, the numbers of lists and nodes differ, a word has no
            piece, or a node that is not a word has several.
    """
    counts = _check(data, pieces)
    first = counts.cumsum(0) - counts
    node = torch.arange(counts.numel(), device=counts.device).repeat_interleave(counts)
    out = copy.copy(data)
    for key in _WORD_COLUMNS:
        out[key] = data[key][node]
    out.input_ids = torch.tensor([piece for ids in pieces for piece in ids], device=counts.device)
    out.governor_index = first[data.governor_index][node]
    for key in ("arc_index", "phrase_index", "phrase_node_index"):
        if key in data:
            out[key] = first[data[key]]
    out.position = _positions(data.position, first)[node]
    out.position += torch.arange(node.numel(), device=counts.device) - first[node]
    out.num_nodes = node.numel()
    return out


def _positions(position: Tensor, first: Tensor) -> Tensor:
    """The position of each node's first piece: the number of pieces since the last node at position 0."""
    start = torch.where(position == 0, first, -1).cummax(0).values
    return first - start


def _check(data: Data, pieces: Sequence[Sequence[int]]) -> Tensor:
    """The number of pieces of each node."""
    if "batch" in data or "edge_index" in data or "clique" in data:
        raise ValueError(
            "'data' must be one example without edges (expand it before batching and transforms)"
        )
    check_length("pieces", pieces, data.node_type.numel(), "nodes")
    for node, (ids, kind) in enumerate(zip(pieces, data.node_type.tolist())):
        if not ids or (len(ids) > 1 and kind != NodeType.WORD):
            raise ValueError(
                f"'pieces[{node}]' has {len(ids)} pieces for a node of type {NodeType(kind).name}"
            )
    return torch.tensor([len(ids) for ids in pieces], device=data.node_type.device)


def mark_words(data: Data, marks: Sequence[int]) -> Data:
    r"""Writes a number for each word to all of its pieces, e.g. 1 for the predicate whose roles are
    predicted; other nodes get 0. ``data`` is modified and returned.

    Args:
        data: One example with one text, not a batch. Its last words may have been cut.
        marks: A number >= 0 for each word of the text; 0 for no mark.

    Shapes:
        - ``mark``: :math:`(|\mathcal{V}|)`, long

    Raises:
        ValueError: If the data is a batch or has several texts, whose word numbers repeat; a mark is not a
            whole number >= 0; or the data has no words, or more words than marks.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.data import mark_words
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])
        >>> mark_words(to_data([sentence]), [0, 1]).mark
        tensor([0, 0, 1])
    """
    word = data.word
    if "batch" in data or bool((data.utterance != 0).any()):
        raise ValueError("'data' must be one example of one text: mark its words before batching")
    number = int(word.max()) + 1 if word.numel() else 0
    if number > len(marks):
        raise ValueError(f"'marks' must have a number for each of {number} words (got {len(marks)})")
    table = _table(marks).to(word.device)
    data.mark = table[torch.where(word < 0, len(marks), word)]
    return data


def _table(marks: Sequence[int]) -> Tensor:
    """The marks, followed by 0 for nodes that are not words."""
    try:
        table = torch.tensor([*marks, 0])
    except (TypeError, ValueError, RuntimeError):  # for text, None or too large a number
        table = torch.tensor(torch.nan)
    if table.is_floating_point() or bool((table < 0).any()):
        raise ValueError(f"'marks' must be whole numbers from 0 on (got {[*marks]})")
    return table
