"""The papers' edges by name.

Every preset takes ``implicit``: a complete graph is then not written out, see :class:`CompleteEdges`, as the
models of this library are trained. Where a preset has no complete graph it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphdep import transforms as T
from graphdep.transforms._options import choice

if TYPE_CHECKING:
    from torch_geometric.transforms import BaseTransform


def transformer(*, scope: str = "example", implicit: bool = False) -> BaseTransform:
    """Complete graph over the example.

    From `"Attention Is All You Need" <https://arxiv.org/abs/1706.03762>`_.
    """
    return T.CompleteEdges(scope, implicit=implicit)


def transformer_utterance(*, implicit: bool = False) -> BaseTransform:
    """Complete graph over each utterance: the control with DRA's scope."""
    return T.CompleteEdges("utterance", implicit=implicit)


def dra(*, root_scope: str = "utterance", pieces: str = "all", implicit: bool = False) -> BaseTransform:
    """Governors attend to dependents, ROOT to its utterance (``root_scope="example"``: to the example).

    From `"Modeling Compositionality with Dependency Graph for Dialogue Generation"
    <https://aclanthology.org/2022.suki-1.2/>`_ (Eq. 2).

    Without position embedding neither the order of words nor that of turns is known: words with the same
    tree around them are alike, and so are turns of equal content.
    """
    return T.DependencyEdges("governor", pieces=pieces) | T.RootEdges(root_scope) | T.SelfLoops(pieces=pieces)


def tree(*, direction: str = "both", pieces: str = "all", implicit: bool = False) -> BaseTransform:
    """Governors and dependents of an utterance see one another, and each word itself: a graph network, as in
    `"Graph Convolution over Pruned Dependency Trees Improves Relation Extraction"
    <https://aclanthology.org/D18-1244/>`_, whose edges have neither directions nor labels.

    ``direction="governor"`` lets governors see their dependents alone, ``"dependent"`` the other way round.
    """
    towards = choice("direction", direction, ("governor", "dependent", "both"))
    return T.DependencyEdges(towards, pieces=pieces) | T.SelfLoops(pieces=pieces)


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
    edges = _ancestors(direction, pieces) | T.DepthEdges(max_sum, pieces=pieces) | T.SelfLoops(pieces=pieces)
    return _with_special(edges, special)


def sia_intra(
    *, pieces: str = "all", direction: str = "ancestors", special: str = "example", implicit: bool = False
) -> BaseTransform:
    """SIA without the pairs of small depth: ancestors in the utterance, special nodes with the example.

    From `"Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
    <https://arxiv.org/abs/2303.06605>`_ (Eq. 3).
    """
    return _with_special(_ancestors(direction, pieces) | T.SelfLoops(pieces=pieces), special)


def sia_inter(
    *, max_sum: int = 4, pieces: str = "all", special: str = "example", implicit: bool = False
) -> BaseTransform:
    """SIA without ancestors: small depths in the example, special nodes with the example.

    From `"Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
    <https://arxiv.org/abs/2303.06605>`_ (Eq. 4).
    """
    return _with_special(T.DepthEdges(max_sum, pieces=pieces) | T.SelfLoops(pieces=pieces), special)


def _ancestors(direction: str, pieces: str) -> T.EdgeConstructor:
    towards = {"ancestors": "descendant", "descendants": "ancestor", "both": "both"}
    return T.AncestorEdges(towards[choice("direction", direction, tuple(towards))], pieces=pieces)


def _with_special(edges: T.EdgeConstructor, special: str) -> T.EdgeConstructor:
    choice("special", special, ("example", "cls", "none"))
    if special == "none":
        return edges
    return edges | (T.SpecialEdges() if special == "example" else T.SpecialEdges("CLS"))


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
    edges = T.CompleteEdges(node_types=words, implicit=implicit) | T.RelationEdges(direction, pieces=pieces)
    if overview:
        edges = edges | T.SpecialEdges(overview, others=("RELATION",))
    if relation_links:
        edges = edges | T.RelationLinks()
    return _in_turn([*([] if labels else [T.Unlabelled()]), T.RelationNodes(position), edges])


def constituents(
    *,
    direction: str = "both",
    inside: str = "words",
    siblings: bool = False,
    overview: tuple[str, ...] = ("CLS",),
    labels: bool = True,
    position: str = "sequence",
    pieces: str = "all",
    implicit: bool = False,
) -> BaseTransform:
    """A node per constituent; words and special nodes of the example complete, words with their phrase nodes.

    What ``dam`` does with arcs, with phrases (:attr:`Sentence.constituents`); no paper's. ``direction`` is
    that of :class:`PhraseWordEdges`. A phrase node sees, and is seen by, all words of its constituent
    (``inside="words"``), what is directly in it, phrases among them (``"parts"``, see
    :class:`ConstituentEdges`), or both. ``siblings`` lets the parts of a constituent see each other,
    ``overview`` and ``position`` are as of ``dam``, and ``labels=False`` makes all labels one. Controls stand
    before it: :class:`RandomBrackets` and :class:`RightBrackets`.
    """
    words = ("ROOT", "WORD", "CLS", "SEP", "EOU")
    choice("inside", inside, ("words", "parts", "both"))
    edges: T.EdgeConstructor = T.CompleteEdges(node_types=words, implicit=implicit)
    edges = edges | T.PhraseWordEdges("none" if inside == "parts" else direction, pieces=pieces)
    if inside != "words" and direction != "none":
        edges = edges | T.ConstituentEdges(_UP_AND_DOWN[direction], pieces=pieces)
    if siblings:
        edges = edges | T.SiblingEdges(pieces=pieces)
    if overview:
        edges = edges | T.SpecialEdges(overview, others=("PHRASE",))
    return _in_turn([T.PhraseNodes(position, labels=labels), edges])


_UP_AND_DOWN = {"both": "both", "to_phrase": "up", "to_word": "down"}


def same_constituent(
    *, max_height: int | None = 2, pieces: str = "all", implicit: bool = False
) -> BaseTransform:
    """Words of a constituent of at most this height, ROOT and its utterance, and each node itself.

    Without phrase nodes, for any encoder that reads edges; no paper's. See :class:`SameConstituentEdges`.
    """
    same = T.SameConstituentEdges(max_height, pieces=pieces, implicit=implicit)
    return same | T.RootEdges() | T.SelfLoops()


def lisa(*, pieces: str = "all", implicit: bool = False) -> T.EdgeConstructor:
    """Each word attends to its governor in the utterance, a node without one to itself; for one head.

    From `"Linguistically-Informed Self-Attention for Semantic Role Labeling"
    <https://aclanthology.org/D18-1548/>`_.
    """
    return T.DependencyEdges("dependent", pieces=pieces) | T.SelfLoops("tops", pieces=pieces)


def gate(*, max_distance: int = 1, pieces: str = "all", implicit: bool = False) -> BaseTransform:
    """Words of the utterance at most ``max_distance`` arcs apart, with types that tell how many.

    From `"GATE: Graph Attention Transformer Encoder for Cross-lingual Relation and Event Extraction"
    <https://arxiv.org/abs/2010.03009>`_.
    """
    edges = T.TreeDistanceEdges(max_distance, pieces=pieces)
    return _in_turn([edges, T.TreePathTypes(max_distance, pieces=pieces)])


def lisa_complete(*, scope: str = "example", pieces: str = "all", implicit: bool = False) -> T.MarkedEdges:
    """The edges of ``lisa`` for some heads, among all pairs of the example (or utterance) for the others.

    From `"Linguistically-Informed Self-Attention for Semantic Role Labeling"
    <https://aclanthology.org/D18-1548/>`_.
    """
    return T.MarkedEdges(lisa(pieces=pieces), T.CompleteEdges(scope, implicit=implicit))


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
    types = T.TreePathTypes(max_distance, self_type=self_type, pieces=pieces)
    return _in_turn([T.CompleteEdges(scope, implicit=implicit), types, *_merged(labels, directions)])


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
    types = T.TreePathTypes(max_distance, pieces=pieces)
    return _in_turn([T.TreeDistanceEdges(max_distance, pieces=pieces), types, *_merged(labels, directions)])


def _in_turn(parts: list[BaseTransform]) -> BaseTransform:
    from torch_geometric.transforms import Compose

    return Compose(parts)


def _merged(labels: bool, directions: bool) -> list[BaseTransform]:
    return [] if labels and directions else [T.MergeTypes(labels=labels, directions=directions)]


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

PHRASE_PRESETS: dict[str, Callable[..., BaseTransform]] = {
    "constituents": constituents,
    "same-constituent": same_constituent,
}
"""Edges that read constituents (``to_data(..., phrases=...)``), which are no paper's."""
