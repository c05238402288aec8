"""One of the two sides of a comparison: a model, or a way to make edges, and an example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.explorer.answer import Answer
from graphdep.explorer.word_nodes import WordNodes
from graphdep.transforms import EdgeOrigins
from graphdep.vocab import RelationVocab

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
        answers: What the model says. (default: none)
        pieces: A text for each node, where words have several. (default: none)
        relations: The names of relations. (default: a fresh :class:`~graphdep.RelationVocab`)

    Raises:
        ValueError: If weights and pairs differ in number, or name nodes that are not there.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.explorer import Side
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

    def __post_init__(self) -> None:
        size = self.nodes.entry.numel()
        for name, pairs, alpha in (*self.layers, *self.masks):
            if alpha.dim() != 2 or alpha.size(0) != pairs.size(1):
                shapes = f"{[*alpha.shape]} and {[*pairs.shape]}"
                raise ValueError(f"{name!r}: weights must have a row a pair (got shapes {shapes})")
            if pairs.numel() and not 0 <= int(pairs.min()) <= int(pairs.max()) < size:
                raise ValueError(f"{name!r}: pairs name nodes outside 0..{size - 1}")
            if not bool((alpha >= 0).all()):
                raise ValueError(f"{name!r}: weights must be numbers from 0 on")

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
            layers, masks, answers, pieces, beside: As in the class. (default: none)

        Raises:
            ValueError: As the class, or if a transform writes no edges.
        """
        relations = RelationVocab() if relations is None else relations
        origins = {title: EdgeOrigins.of(transform, data) for title, transform in edges.items()}
        # Relation nodes stand behind all others, which keep their numbers.
        most = max([data, *(made.data for made in origins.values())], key=lambda made: made.num_nodes)
        nodes = WordNodes.of(most.cpu(), words, relations)
        return cls(name, nodes, origins, layers, masks, answers, pieces, relations, beside)

    def part_names(self, name: str) -> list[str]:
        """How the parts of a set of edges print."""
        return [repr(part) for part in self.edges[name].parts]
