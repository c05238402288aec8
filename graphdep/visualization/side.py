"""One example on a page: its words, edges, attention and answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.data.node_table import NodeType
from graphdep.io.limits import check_choice, check_shape
from graphdep.transforms.types import EdgeOrigins
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import PhraseVocab


@dataclass(frozen=True)
class Answer:
    """The output of a model for an example, in readable form.

    Args:
        kind: ``"classes"`` with probabilities, ``"words"`` with the label and its probability for each word,
            ``"texts"`` of responses, ``"ranking"`` with scores, or ``"number"``.
        title: Title.
        rows: Texts, each with a number or :obj:`None`.

    Raises:
        ValueError: If :obj:`kind` is unknown.

    Example:
        >>> from graphdep.visualization import Answer
        >>> Answer("classes", "sentiment", (("positive", 0.9), ("negative", 0.1))).best
        'positive'
    """

    kind: str
    title: str
    rows: tuple[tuple[str, float | None], ...]

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, ("classes", "words", "texts", "ranking", "number"))

    @property
    def best(self) -> str:
        """The text with the largest number, else the first text."""
        return max(self.rows, key=lambda row: row[1] if row[1] is not None else 0.0)[0]


Key = tuple[str, int, int, int, str, int]
SPANS = {1: "e1", 2: "e2"}
"""The bracket of each marked span, by its bit in ``data.mark``."""


@dataclass(frozen=True, eq=False)
class WordNodes:
    """The words and special nodes of an example, called entries.

    The pieces of a word are one entry. Names of special nodes are in brackets: ``[ROOT]``, ``[CLS]``,
    ``[SEP]``, ``[EOU]``; for relation nodes and phrases the label, such as ``[nsubj]`` and ``[NP]``; and
    ``[EMPTY]`` for an empty node of an enhanced graph.

    Args:
        names: Words and names of special nodes.
        kinds: Name of the :class:`~graphdep.NodeType` of each entry.
        keys: Identity of each entry across the sides of a comparison: kind, utterance, first and last word,
            label of a phrase, and number.
        governor: The governor of each entry, -1 if there is none.
        relation: The relation of each entry to its governor.
        depth: Number of arcs from the top of the tree, -1 outside the trees.
        arcs: Governor, dependent and relation of each arc.
        arc_nodes: The entry of each arc, if relations are nodes.
        entry: The entry of each node ``[num_nodes]``.
        brackets: First word, last word and label of each phrase, and of each marked span. (default: none)
        bracket_nodes: The entry of each phrase, if phrases are nodes, and -1 for spans. (default: none)

    Example:
        >>> from graphdep import RelationVocab, Sentence, to_data
        >>> from graphdep.visualization import WordNodes
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])])
        >>> WordNodes.of(data, [["She", "sings"]], RelationVocab()).names
        ['[ROOT]', 'She', 'sings']
    """

    names: list[str]
    kinds: list[str]
    keys: list[Key]
    governor: list[int]
    relation: list[str]
    depth: list[int]
    arcs: list[tuple[int, int, str]]
    arc_nodes: list[int]
    entry: Tensor
    brackets: list[tuple[int, int, str]] = field(default_factory=list)
    bracket_nodes: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, data: Data, words: Sequence[Sequence[str]], relations: RelationVocab) -> WordNodes:
        """Reads the node table of one example.

        Args:
            data: The example, with relation nodes if its edges use them.
            words: The words of each utterance.
            relations: The names of relations.
        """
        first, entry = _entries(data)
        kinds = [NodeType(kind).name for kind in data.node_type[first].tolist()]
        word, utterance = data.word[first].tolist(), data.utterance[first].tolist()
        labels = _labels(kinds, data.deprel[first].tolist(), relations)
        names = [
            _name(kind, words, place, number, label)
            for kind, place, number, label in zip(kinds, utterance, word, labels)
        ]
        governor = entry[data.governor_index[first]].tolist()
        governor = [-1 if above == own else above for own, above in enumerate(governor)]
        arcs, arc_nodes = _arcs(data, entry, relations)
        brackets, bracket_nodes = _brackets(data, entry)
        return cls(
            names,
            kinds,
            _keys(kinds, utterance, word, dict(zip(arc_nodes, arcs)), dict(zip(bracket_nodes, brackets))),
            [above if kind == "WORD" else -1 for above, kind in zip(governor, kinds)],
            labels,
            data.depth[first].tolist(),
            arcs,
            arc_nodes,
            entry,
            brackets,
            bracket_nodes,
        )

    def with_spans(self, data: Data) -> WordNodes:
        """The table with a bracket for each marked span of the example: ``e1`` and ``e2``."""
        mark = dict(zip(self.entry.tolist(), data.mark.tolist()))
        found = []
        for bit, label in SPANS.items():
            inside = [entry for entry in range(self.size) if mark.get(entry, 0) & bit]
            starts = [entry for entry in inside if entry - 1 not in inside]
            ends = [entry for entry in inside if entry + 1 not in inside]
            found += [(start, end, label) for start, end in zip(starts, ends)]
        nodes = [*self.bracket_nodes, *[-1] * len(found)] if self.bracket_nodes else []
        return replace(self, brackets=[*self.brackets, *found], bracket_nodes=nodes)

    @property
    def size(self) -> int:
        return len(self.names)

    @property
    def special(self) -> list[bool]:
        """Which entries are special nodes."""
        return [kind != "WORD" or key[2] < 0 for kind, key in zip(self.kinds, self.keys)]

    @property
    def utterance(self) -> list[int]:
        return [key[1] for key in self.keys]

    @property
    def has_pieces(self) -> bool:
        """Whether a word has several nodes."""
        return self.entry.numel() > self.size


def _entries(data: Data) -> tuple[Tensor, Tensor]:
    """The first node of each entry, and the entry of each node."""
    first: list[int] = []
    entry: list[int] = []
    previous: tuple[int, ...] | None = None
    columns = (data.node_type, data.utterance, data.word, data.governor_index)
    for node, (kind, utterance, word, governor) in enumerate(zip(*(column.tolist() for column in columns))):
        # The governor of pieces of an empty node is its first piece.
        own = (utterance, word, governor if word < 0 else -1) if kind == NodeType.WORD else None
        if own is None or own != previous:
            first.append(node)
        entry.append(len(first) - 1)
        previous = own
    return torch.tensor(first), torch.tensor(entry)


def _labels(kinds: list[str], numbers: list[int], relations: RelationVocab) -> list[str]:
    """The relation of each entry, or the label of a phrase."""
    phrases = PhraseVocab()
    return [(phrases if kind == "PHRASE" else relations).label(n) for kind, n in zip(kinds, numbers)]


def _name(kind: str, words: Sequence[Sequence[str]], utterance: int, word: int, label: str) -> str:
    if kind in ("RELATION", "PHRASE"):
        return f"[{label}]"
    if kind != "WORD":
        return f"[{kind}]"
    if word < 0:
        return "[EMPTY]"
    known = words[utterance] if utterance < len(words) else ()
    return known[word] if word < len(known) else f"word {word + 1}"


def _arcs(
    data: Data, entry: Tensor, relations: RelationVocab
) -> tuple[list[tuple[int, int, str]], list[int]]:
    if "arc_index" not in data:
        return [], []
    ends, kinds = entry[data.arc_index].t().tolist(), data.arc_type.tolist()
    arcs = [(governor, dependent, relations.label(kind)) for (governor, dependent), kind in zip(ends, kinds)]
    return arcs, entry[data.arc_node_index].tolist() if "arc_node_index" in data else []


def _brackets(data: Data, entry: Tensor) -> tuple[list[tuple[int, int, str]], list[int]]:
    if "phrase_index" not in data:
        return [], []
    phrases = PhraseVocab()
    ends, kinds = entry[data.phrase_index].t().tolist(), data.phrase_type.tolist()
    brackets = [(first, last, phrases.label(kind)) for (first, last), kind in zip(ends, kinds)]
    return brackets, entry[data.phrase_node_index].tolist() if "phrase_node_index" in data else []


def _keys(
    kinds: list[str],
    utterance: list[int],
    word: list[int],
    arc_of: dict[int, tuple[int, int, str]],
    bracket_of: dict[int, tuple[int, int, str]],
) -> list[Key]:
    """The key is the position of words, the dependent of relation nodes, words and label of phrases."""
    keys: list[Key] = []
    seen: dict[tuple[str, int, int, int, str], int] = {}
    for number, (kind, place, own) in enumerate(zip(kinds, utterance, word)):
        first = arc_of[number][1] if number in arc_of else own
        stem = (kind, place, *bracket_of.get(number, (first, first, "")))
        seen[stem] = seen.get(stem, -1) + 1
        keys.append((*stem, seen[stem]))
    return keys


Weights = tuple[str, Tensor, Tensor]


@dataclass(frozen=True, eq=False)
class Side:
    """An example with its edges, and the attention and answers of a model.

    Args:
        name: Name of the side.
        nodes: Words and special nodes.
        edges: Sets of edges, by name. (default: none)
        layers: Name, pairs and weights ``[num_pairs, heads]`` of each layer. (default: none)
        beside: Names of layers that are not on the path from the first to the last layer, such as SIA's; they
            are left out of rollout. (default: none)
        masks: Weights of edges from elsewhere, such as an explainer, in the same form. (default: none)
        gates: Gates, relation scores and self-attention scores of layers with gated relation scores, in the
            same form; may be negative. (default: none)
        answers: Answers of the model. (default: none)
        pieces: A text for each node, if words have several pieces. (default: none)
        relations: The names of relations. (default: a fresh :class:`~graphdep.RelationVocab`)

    Raises:
        ValueError: If weights and pairs differ in number, weights are negative, or a node does not exist.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.visualization import Side
        >>> from graphdep.transforms import resolve
        >>> data = to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])])
        >>> side = Side.of("dra", data, [["She", "sings"]], {"dra": resolve("dra")})
        >>> side.edges["dra"].edge_index.size(1)
        6
    """

    name: str
    nodes: WordNodes
    edges: Mapping[str, EdgeOrigins] = field(default_factory=dict)
    layers: Sequence[Weights] = ()
    masks: Sequence[Weights] = ()
    answers: Sequence[Answer] = ()
    pieces: Sequence[str] = ()
    relations: RelationVocab = field(default_factory=RelationVocab)
    beside: Sequence[str] = ()
    gates: Sequence[Weights] = ()

    def __post_init__(self) -> None:
        size = self.nodes.entry.numel()
        for name, pairs, alpha in (*self.layers, *self.masks, *self.gates):
            check_shape(name, alpha, pairs.size(1), "heads")
            inside = not pairs.numel() or 0 <= int(pairs.min()) <= int(pairs.max()) < size
            signed = any(name == gate for gate, *_ in self.gates)
            if not inside or not (signed or bool((alpha >= 0).all())):
                wanted = f"pairs of nodes within 0..{size - 1}, and weights of at least 0"
                raise ValueError(f"{name!r} must have {wanted}")

    @classmethod
    def of(
        cls,
        name: str,
        data: Data,
        words: Sequence[Sequence[str]],
        edges: Mapping[str, BaseTransform],
        *,
        relations: RelationVocab | None = None,
        layers: Sequence[Weights] = (),
        masks: Sequence[Weights] = (),
        gates: Sequence[Weights] = (),
        answers: Sequence[Answer] = (),
        pieces: Sequence[str] = (),
        beside: Sequence[str] = (),
    ) -> Side:
        """Makes the edges of an example, and reads its words.

        Args:
            name: Name of the side.
            data: One example without edges.
            words: The words of each utterance.
            edges: Transforms by name.
            relations: The names of relations. (default: a fresh :class:`~graphdep.RelationVocab`)
            layers, masks, gates, answers, pieces, beside: See the class. (default: none)

        Raises:
            ValueError: As for the class, or if a transform writes no edges.
        """
        relations = RelationVocab() if relations is None else relations
        origins = {title: EdgeOrigins.of(transform, data) for title, transform in edges.items()}
        # Relation nodes come after all other nodes, which keep their indices.
        most = max([data, *(made.data for made in origins.values())], key=lambda made: made.num_nodes)
        nodes = WordNodes.of(most.cpu(), words, relations)
        return cls(name, nodes, origins, layers, masks, answers, pieces, relations, beside, gates)
