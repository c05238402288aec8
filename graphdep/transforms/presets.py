"""The papers' edges by name.

Every preset takes ``implicit``: a complete graph is then not written out, see :class:`CompleteEdges`, as the
models of this library are trained. Where a preset has no complete graph it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from torch_geometric.transforms import BaseTransform, Compose

from graphdep.transforms._options import choice
from graphdep.transforms.ancestor_edges import AncestorEdges
from graphdep.transforms.complete_edges import CompleteEdges
from graphdep.transforms.dependency_edges import DependencyEdges
from graphdep.transforms.depth_edges import DepthEdges
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.marked_edges import MarkedEdges
from graphdep.transforms.merge_types import MergeTypes
from graphdep.transforms.relation_edges import RelationEdges
from graphdep.transforms.relation_links import RelationLinks
from graphdep.transforms.relation_nodes import RelationNodes
from graphdep.transforms.root_edges import RootEdges
from graphdep.transforms.self_loops import SelfLoops
from graphdep.transforms.special_edges import SpecialEdges
from graphdep.transforms.tree_distance_edges import TreeDistanceEdges
from graphdep.transforms.tree_path_types import TreePathTypes
from graphdep.transforms.unlabelled import Unlabelled


def transformer(*, scope: str = "example", implicit: bool = False) -> BaseTransform:
    """Complete graph over the example.

    From `"Attention Is All You Need" <https://arxiv.org/abs/1706.03762>`_.
    """
    return CompleteEdges(scope, implicit=implicit)


def transformer_utterance(*, implicit: bool = False) -> BaseTransform:
    """Complete graph over each utterance: the control with DRA's scope."""
    return CompleteEdges("utterance", implicit=implicit)


def dra(*, root_scope: str = "utterance", pieces: str = "all", implicit: bool = False) -> BaseTransform:
    """Governors attend to dependents, ROOT to its utterance (``root_scope="example"``: to the example).

    From `"Modeling Compositionality with Dependency Graph for Dialogue Generation"
    <https://aclanthology.org/2022.suki-1.2/>`_ (Eq. 2).

    Without position embedding neither the order of words nor that of turns is known: words with the same
    tree around them are alike, and so are turns of equal content.
    """
    return DependencyEdges("governor", pieces=pieces) | RootEdges(root_scope) | SelfLoops(pieces=pieces)


def tree(*, direction: str = "both", pieces: str = "all", implicit: bool = False) -> BaseTransform:
    """Governors and dependents of an utterance see one another, and each word itself: a graph network, as in
    `"Graph Convolution over Pruned Dependency Trees Improves Relation Extraction"
    <https://aclanthology.org/D18-1244/>`_, whose edges have neither directions nor labels.

    ``direction="governor"`` lets governors see their dependents alone, ``"dependent"`` the other way round.
    """
    towards = choice("direction", direction, ("governor", "dependent", "both"))
    return DependencyEdges(towards, pieces=pieces) | SelfLoops(pieces=pieces)


def sia(
    *,
    max_sum: int = 4,
    pieces: str = "all",
    direction: str = "ancestors",
    special: str = "example",
    implicit: bool = False,
) -> BaseTransform:
    """Ancestors in the utterance or small depths in the example, self, special nodes with the example.

    From `"Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
    <https://arxiv.org/abs/2303.06605>`_ (Eq. 3-4).

    The paper does not say which ``max_sum`` it takes. Its Eq. 3 lets a word see its ancestors, its abstract
    speaks of dependents: ``direction="descendants"``, or ``"both"``. Of [CLS], [SEP] and [EOU] it says
    nothing: with ``special="example"`` they see and are seen by all nodes; with ``"cls"`` only [CLS] does and
    is, and the others see it and themselves; with ``"none"`` each sees itself alone, so that the words do not
    reach [CLS], which is what the paper scores.
    """
    edges = _ancestors(direction, pieces) | DepthEdges(max_sum, pieces=pieces) | SelfLoops(pieces=pieces)
    return _with_special(edges, special)


def sia_intra(
    *, pieces: str = "all", direction: str = "ancestors", special: str = "example", implicit: bool = False
) -> BaseTransform:
    """SIA without the pairs of small depth: ancestors in the utterance, special nodes with the example.

    From `"Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
    <https://arxiv.org/abs/2303.06605>`_ (Eq. 3).
    """
    return _with_special(_ancestors(direction, pieces) | SelfLoops(pieces=pieces), special)


def sia_inter(
    *, max_sum: int = 4, pieces: str = "all", special: str = "example", implicit: bool = False
) -> BaseTransform:
    """SIA without ancestors: small depths in the example, special nodes with the example.

    From `"Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
    <https://arxiv.org/abs/2303.06605>`_ (Eq. 4).
    """
    return _with_special(DepthEdges(max_sum, pieces=pieces) | SelfLoops(pieces=pieces), special)


def _ancestors(direction: str, pieces: str) -> EdgeConstructor:
    towards = {"ancestors": "descendant", "descendants": "ancestor", "both": "both"}
    return AncestorEdges(towards[choice("direction", direction, tuple(towards))], pieces=pieces)


def _with_special(edges: EdgeConstructor, special: str) -> EdgeConstructor:
    choice("special", special, ("example", "cls", "none"))
    if special == "none":
        return edges
    return edges | (SpecialEdges() if special == "example" else SpecialEdges("CLS"))


def dam(
    *,
    direction: str = "both",
    pieces: str = "first",
    overview: tuple[str, ...] = ("CLS",),
    relation_links: bool = False,
    labels: bool = True,
    position: str = "sequence",
    implicit: bool = False,
) -> BaseTransform:
    """A node per arc; words and special nodes of the example complete, words with their relation nodes.

    From "Augmenting Transformers with Enhanced Dependency Structures by Treating Relations as New Words" by
    Chen, Li and Huang (Eq. 1).

    Nodes of the types ``overview`` see and are seen by all relation nodes of the example; ``overview=()`` is
    for none. Where ROOT stands for the sentence, ``overview=("CLS", "ROOT")`` gives it the view that the
    paper gives [CLS]. ``direction`` and ``position`` are those of :class:`RelationEdges` and
    :class:`RelationNodes`; relation nodes that ``"sequence"`` puts beyond the positions of a pretrained
    encoder share its last one, and with ``"none"`` they have neither position nor segment. Not in the paper:
    ``relation_links`` lets relations of arcs that share a word see each other, and ``labels=False`` makes all
    of them one, see :class:`Unlabelled`.
    """
    words = ("ROOT", "WORD", "CLS", "SEP", "EOU")
    edges = CompleteEdges(node_types=words, implicit=implicit) | RelationEdges(direction, pieces=pieces)
    if overview:
        edges = edges | SpecialEdges(overview, others=("RELATION",))
    if relation_links:
        edges = edges | RelationLinks()
    return Compose([*([] if labels else [Unlabelled()]), RelationNodes(position), edges])


def lisa(*, pieces: str = "all", implicit: bool = False) -> EdgeConstructor:
    """Each word attends to its governor in the utterance, a node without one to itself; for one head.

    From `"Linguistically-Informed Self-Attention for Semantic Role Labeling"
    <https://aclanthology.org/D18-1548/>`_.
    """
    return DependencyEdges("dependent", pieces=pieces) | SelfLoops("tops", pieces=pieces)


def gate(*, max_distance: int = 1, pieces: str = "all", implicit: bool = False) -> BaseTransform:
    """Words of the utterance at most ``max_distance`` arcs apart, with types that tell how many.

    From `"GATE: Graph Attention Transformer Encoder for Cross-lingual Relation and Event Extraction"
    <https://arxiv.org/abs/2010.03009>`_.
    """
    edges = TreeDistanceEdges(max_distance, pieces=pieces)
    return Compose([edges, TreePathTypes(max_distance, pieces=pieces)])


def lisa_complete(*, scope: str = "example", pieces: str = "all", implicit: bool = False) -> MarkedEdges:
    """The edges of ``lisa`` for some heads, among all pairs of the example (or utterance) for the others.

    From `"Linguistically-Informed Self-Attention for Semantic Role Labeling"
    <https://aclanthology.org/D18-1548/>`_.
    """
    return MarkedEdges(lisa(pieces=pieces), CompleteEdges(scope, implicit=implicit))


def g2g(
    *,
    scope: str = "example",
    self_type: bool = False,
    labels: bool = True,
    directions: bool = True,
    pieces: str = "all",
    implicit: bool = False,
) -> BaseTransform:
    """Complete graph over the example, arcs typed by their label in both directions.

    From `"Graph-to-Graph Transformer for Transition-based Dependency Parsing"
    <https://aclanthology.org/2020.findings-emnlp.294/>`_.

    ``labels=False`` and ``directions=False`` tell fewer types apart, see :class:`MergeTypes`.
    """
    return dt(
        max_distance=1,
        scope=scope,
        self_type=self_type,
        labels=labels,
        directions=directions,
        pieces=pieces,
        implicit=implicit,
    )


def dt(
    *,
    max_distance: int = 2,
    scope: str = "utterance",
    self_type: bool = True,
    labels: bool = True,
    directions: bool = True,
    pieces: str = "all",
    implicit: bool = False,
) -> BaseTransform:
    """Complete graph over each utterance (or example), pairs typed by arc labels and short paths.

    From `"Integrating Dependency Tree into Self-attention for Sentence Representation"
    <https://arxiv.org/abs/2203.05918>`_.

    ``labels=False`` and ``directions=False`` tell fewer types apart, see :class:`MergeTypes`.
    """
    types = TreePathTypes(max_distance, self_type=self_type, pieces=pieces)
    return Compose([CompleteEdges(scope, implicit=implicit), types, *_merged(labels, directions)])


def dt_related(
    *,
    max_distance: int = 2,
    labels: bool = True,
    directions: bool = True,
    pieces: str = "all",
    implicit: bool = False,
) -> BaseTransform:
    """DT without untyped pairs: words of the utterance at most ``max_distance`` arcs apart, typed.

    A variant of `"Integrating Dependency Tree into Self-attention for Sentence Representation"
    <https://arxiv.org/abs/2203.05918>`_.
    """
    types = TreePathTypes(max_distance, pieces=pieces)
    return Compose([TreeDistanceEdges(max_distance, pieces=pieces), types, *_merged(labels, directions)])


def _merged(labels: bool, directions: bool) -> list[BaseTransform]:
    return [] if labels and directions else [MergeTypes(labels=labels, directions=directions)]


PRESETS: dict[str, Callable[..., BaseTransform]] = {
    "transformer": transformer,
    "transformer-utterance": transformer_utterance,
    "tree": tree,
    "dra": dra,
    "sia": sia,
    "sia-intra": sia_intra,
    "sia-inter": sia_inter,
    "dam": dam,
    "dt": dt,
    "dt-related": dt_related,
    "lisa": lisa,
    "gate": gate,
    "g2g": g2g,
    "lisa-complete": lisa_complete,
}
