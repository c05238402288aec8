"""One example on a page: its words, edges, attention and answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
    """What a model says of an example, for people.

    Args:
        kind: ``"classes"`` with their probabilities, ``"words"`` with the label and the probability of each
            word, ``"texts"`` that it responds with, a ``"ranking"`` with scores, or a ``"number"``.
        title: What it is.
        rows: Texts, each with a number, or :obj:`None` where there is none.

    Raises:
        ValueError: If :obj:`kind` is none of those.

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
        """The text with the largest number, or else the first one."""
        return max(self.rows, key=lambda row: row[1] if row[1] is not None else 0.0)[0]


Key = tuple[str, int, int, int, str, int]


@dataclass(frozen=True, eq=False)
class WordNodes:
    """The words of an example, and special nodes between them, each an entry.

    The pieces of a word are one entry. Special nodes have names in brackets: ``[ROOT]``, ``[CLS]``,
    ``[SEP]``, ``[EOU]``, a relation node or a phrase that of its label, such as ``[nsubj]`` and ``[NP]``,
    and ``[EMPTY]`` is a node of an enhanced graph that is no word.

    Args:
        names: The words and names.
        kinds: The :class:`~graphdep.NodeType` of each, by name.
        keys: What each is called on every side of a comparison: kind, utterance, first and last word, label
            of a phrase, and number.
        governor: The entry that governs each, -1 where there is none.
        relation: Its relation to that.
        depth: Its arcs from the top, -1 outside the trees.
        arcs: Entries of governor and dependent of each arc, and its relation.
        arc_nodes: The entry that stands for each arc, where relations are nodes.
        entry: The entry of each node ``[num_nodes]``.
        brackets: Entries of the first and the last word of each phrase, and its label. (default: none)
        bracket_nodes: The entry that is each phrase, where phrases are nodes. (default: none)

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
            data: The example; with relation nodes if its edges have some.
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

    @property
    def size(self) -> int:
        return len(self.names)

    @property
    def special(self) -> list[bool]:
        """Which entries are no words."""
        return [kind != "WORD" or key[2] < 0 for kind, key in zip(self.kinds, self.keys)]

    @property
    def utterance(self) -> list[int]:
        return [key[1] for key in self.keys]

    @property
    def has_pieces(self) -> bool:
        """Whether some word has several nodes."""
        return self.entry.numel() > self.size


def _entries(data: Data) -> tuple[Tensor, Tensor]:
    """The first node of each entry, and the entry of each node."""
    first: list[int] = []
    entry: list[int] = []
    previous: tuple[int, ...] | None = None
    columns = (data.node_type, data.utterance, data.word, data.governor_index)
    for node, (kind, utterance, word, governor) in enumerate(zip(*(column.tolist() for column in columns))):
        # The pieces of an empty node have its first one for a governor.
        own = (utterance, word, governor if word < 0 else -1) if kind == NodeType.WORD else None
        if own is None or own != previous:
            first.append(node)
        entry.append(len(first) - 1)
        previous = own
    return torch.tensor(first), torch.tensor(entry)


def _labels(kinds: list[str], numbers: list[int], relations: RelationVocab) -> list[str]:
    """The relation of each entry; of a phrase, its label."""
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
    """Words are known by their place, relation nodes by their dependent, phrases by their words and label,
    the others by their order.
    """
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
    """An example with its edges, and what a model attends to in it.

    Args:
        name: What the side is called.
        nodes: Its words.
        edges: Its sets of edges, by name. (default: none)
        layers: Name, pairs and weights ``[num_pairs, heads]`` of each layer. (default: none)
        beside: Names of layers that read an earlier one and do not stand in the chain from the first to the
            last, as SIA's: nothing flows through them. (default: none)
        masks: Weights of edges that come from elsewhere, such as an explainer, in the same form.
            (default: none)
        gates: Of layers with gated relation scores the gate, the relations' scores and those of
            self-attention, in the same form; numbers below 0, too. (default: none)
        answers: What the model says. (default: none)
        pieces: A text for each node, where words have several. (default: none)
        relations: The names of relations. (default: a fresh :class:`~graphdep.RelationVocab`)

    Raises:
        ValueError: If weights and pairs differ in number, or name nodes that are not there.

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
                wanted = f"of nodes within 0..{size - 1}, and weights from 0 on"
                raise ValueError(f"{name!r} must have pairs {wanted}")

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
            name: What the side is called.
            data: One example without edges.
            words: The words of each utterance.
            edges: Transforms by name.
            relations: The names of relations. (default: a fresh :class:`~graphdep.RelationVocab`)
            layers, masks, gates, answers, pieces, beside: As in the class. (default: none)

        Raises:
            ValueError: As the class, or if a transform writes no edges.
        """
        relations = RelationVocab() if relations is None else relations
        origins = {title: EdgeOrigins.of(transform, data) for title, transform in edges.items()}
        # Relation nodes stand behind all others, which keep their numbers.
        most = max([data, *(made.data for made in origins.values())], key=lambda made: made.num_nodes)
        nodes = WordNodes.of(most.cpu(), words, relations)
        return cls(name, nodes, origins, layers, masks, answers, pieces, relations, beside, gates)
