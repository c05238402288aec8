"""Sentences to one PyG ``Data``: the node table."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from enum import IntEnum
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data.encoded_utterance import constituents_of
from graphdep.io.limits import plural
from graphdep.sentence import Sentence, as_sentences
from graphdep.vocab import ROOT, PhraseVocab, RelationVocab, Vocab
from graphdep.vocab.vocab import tag_id

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

    Nodes are, utterance by utterance, the artificial ROOT (if :obj:`root`), the words, and with
    ``arcs="enhanced"`` the empty nodes. Edges are not written: :mod:`graphdep.transforms` does that.

    Args:
        sentences: The utterances of the example, in order: a :class:`~graphdep.Sentence`, a ``Doc`` or
            ``Span`` of spaCy, a ``Document`` or ``Sentence`` of stanza, a ``TokenList`` of conllu, what
            :meth:`Sentence.from_dict` takes, or a list of these. A text of several sentences gives as many
            utterances; :func:`~graphdep.sentence.join_sentences` makes them one.
        vocab: Gives :obj:`input_ids`; without it the key is absent. (default: :obj:`None`)
        relations: Ids of relations. (default: a fresh :class:`RelationVocab`, and a warning says which labels
            it does not know, so that they count as ``dep``)
        root: Put a ROOT node before the words of each utterance; without it a root word is its own
            governor. (default: :obj:`True`)
        arcs: ``"basic"`` takes :obj:`arc_index` from HEAD, ``"enhanced"`` from DEPS, where a sentence has it.
            (default: ``"basic"``)
        positions: Count :obj:`position` within the ``"utterance"`` or through the whole ``"example"``.
            (default: ``"utterance"``)
        segment: Segment of each utterance, e.g. ``[0, 1]`` for a pair. (default: all 0)
        y: Graph-level target, ``[1]`` or ``[1, classes]``. (default: :obj:`None`)
        phrases: Read :attr:`Sentence.constituents`. :obj:`True` puts a PHRASE node for each of them, in
            preorder, after all others: with the id of its label (:class:`~graphdep.vocab.PhraseVocab`) as
            :obj:`deprel` and :obj:`input_ids`, which a table of words is not for, and positions that go on
            from the largest one, as :class:`~graphdep.transforms.PhraseNodes` makes them; ``"spans"`` writes
            :obj:`phrase_index` and :obj:`phrase_type` alone, ``"tagged"`` besides :obj:`tag`, from
            :attr:`Sentence.upos`. (default: :obj:`False`)

    Shapes:
        - ``input_ids, node_type, governor_index, deprel, depth, utterance, word, position, segment``:
          :math:`(|\mathcal{V}|)`, long
        - ``arc_index``: :math:`(2, |\mathcal{A}|)`, governor -> dependent
        - ``arc_type``: :math:`(|\mathcal{A}|)`
        - ``phrase_index``: :math:`(2, |\mathcal{P}|)`, first and last word of each constituent
        - ``phrase_type``: :math:`(|\mathcal{P}|)`, its label; ``phrase_node_index``:
          :math:`(|\mathcal{P}|)`, its node
        - ``tag``: :math:`(|\mathcal{V}|)`, of words the universal tag (:mod:`graphdep.vocab.vocab`), that of
          ``X`` where there is none; 0 of other nodes

    Raises:
        TypeError: If there is anything but parses; the message lists what is taken.
        ValueError: If there is no sentence, one is no tree or has no constituents where :obj:`phrases` are
            asked for, or an option or the length of :obj:`segment` is wrong.

    Example:
        >>> from graphdep import to_data
        >>> to_data({"words": ["She", "sings"], "head": [2, 0], "deprel": ["nsubj", "root"]}).depth.tolist()
        [0, 2, 1]
    """
    sentences = as_sentences(sentences)
    if not sentences:
        raise ValueError("'sentences' is empty: an example has at least one sentence")
    if arcs not in ("basic", "enhanced"):
        raise ValueError(f"'arcs' must be 'basic' or 'enhanced' (got {arcs!r})")
    if positions not in ("utterance", "example"):
        raise ValueError(f"'positions' must be 'utterance' or 'example' (got {positions!r})")
    if segment is not None and len(segment) != len(sentences):
        raise ValueError(f"'segment' has {len(segment)} entries for {len(sentences)} sentences")
    if phrases not in (False, True, "spans", "tagged"):
        raise ValueError(f"'phrases' must be True, False, 'spans' or 'tagged' (got {phrases!r})")
    counted = relations if relations is not None else RelationVocab()
    table = _NodeTable(counted, vocab, root, arcs == "enhanced")
    for sentence, part in zip(sentences, segment or [0] * len(sentences)):
        table.add(sentence, part)
    if positions == "example":
        table.columns["position"] = list(range(table.num_nodes))
    if phrases:
        table.add_phrases(sentences, nodes=phrases is True)
    if phrases == "tagged":
        table.add_tags(sentences)
    if relations is None:  # else whoever has them sees the count
        _warn_of_unknown(counted)
    return table.data(y)


def _warn_of_unknown(relations: RelationVocab) -> None:
    unknown = {
        label: count
        for label, count in relations.fallbacks.items()
        if label.partition(":")[0] not in relations
    }
    if unknown:
        # A label of enhanced graphs alone, which a fresh vocabulary of the labels of trees does not have.
        why = "'ref' is of enhanced graphs: RelationVocab.learn has the labels of yours"
        if {*unknown} != {"ref"}:
            why = (
                "labels of spaCy's English models are converted by Sentence.from_spacy and "
                "graphdep.sentence.clear_to_ud"
            )
        logger.warning(
            "%s with unknown relations, which count as 'dep': %s (%s)",
            plural(sum(unknown.values()), "arc"),
            ", ".join(f"{label} ({count})" for label, count in sorted(unknown.items())[:10]),
            why,
        )


def join_utterances(utterances: Sequence[Data]) -> Data:
    """Examples of one utterance each as one example, as :func:`to_data` makes it of all the sentences with
    ``positions="example"``.

    An utterance that is in several examples is thus made once. Only the node table is joined: other keys,
    such as ``y`` or edges, are left out.

    Args:
        utterances: Node tables with the same keys.

    Raises:
        ValueError: If there is none.
    """
    if not utterances:
        raise ValueError("'utterances' is empty: an example has at least one utterance")
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
