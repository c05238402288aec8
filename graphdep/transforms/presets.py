"""The edges of the papers by name, and edges that users register."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from graphdep import transforms as T
from graphdep.io.files import brief
from graphdep.io.limits import check_choice, did_you_mean, no_choice

if TYPE_CHECKING:
    from torch_geometric.transforms import BaseTransform


def transformer(*, scope: str = "example", implicit: bool = False) -> BaseTransform:
    """Complete graph over the example.

    From `"Attention Is All You Need" <https://arxiv.org/abs/1706.03762>`_.
    """
    return T.CompleteEdges(scope, implicit=implicit)


def transformer_utterance(*, implicit: bool = False) -> BaseTransform:
    """Complete graph over each utterance: the control with the scope of DRA."""
    return T.CompleteEdges("utterance", implicit=implicit)


def dra(*, root_scope: str = "utterance", pieces: str = "all", implicit: bool = False) -> BaseTransform:
    """Governors attend to dependents, ROOT to its utterance (``root_scope="example"``: to the example).

    From `"Modeling Compositionality with Dependency Graph for Dialogue Generation"
    <https://aclanthology.org/2022.suki-1.2/>`_ (Eq. 2).

    Without position embeddings neither word order nor turn order is visible: equal subtrees have equal states
    wherever they hang, and so have turns of equal content.
    """
    return T.DependencyEdges("governor", pieces=pieces) | T.RootEdges(root_scope) | T.SelfLoops(pieces=pieces)


def tree(*, direction: str = "both", pieces: str = "all", implicit: bool = False) -> BaseTransform:
    """Governors and dependents of an utterance attend to each other, and each word to itself: a graph network
    as in `"Graph Convolution over Pruned Dependency Trees Improves Relation Extraction"
    <https://aclanthology.org/D18-1244/>`_, whose edges have neither direction nor label.

    With ``direction="governor"`` only governors attend to their dependents, with ``"dependent"`` the reverse.
    """
    towards = check_choice("direction", direction, ("governor", "dependent", "both"))
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

    The paper does not give ``max_sum``. In its Eq. 3 a word attends to its ancestors, but its abstract speaks
    of dependents: ``direction="descendants"``, or ``"both"``. It says nothing about [CLS], [SEP] and [EOU]:
    with ``special="example"`` they attend to all nodes, and all nodes to them; with ``"cls"`` only [CLS] does
    so, and the others attend to it and to themselves; with ``"none"`` each attends to itself alone, so no
    word reaches [CLS], which the paper scores. Nor does it say whether all pieces of a word have its edges.
    """
    edges = _ancestors(direction, pieces) | T.DepthEdges(max_sum, pieces=pieces) | T.SelfLoops(pieces=pieces)
    return _with_special(edges, special)


def sia_intra(
    *, pieces: str = "all", direction: str = "ancestors", special: str = "example", implicit: bool = False
) -> BaseTransform:
    """SIA without the pairs of small depth: ancestors in the utterance, self, special nodes with the example.

    From `"Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
    <https://arxiv.org/abs/2303.06605>`_ (Eq. 3).
    """
    return _with_special(_ancestors(direction, pieces) | T.SelfLoops(pieces=pieces), special)


def sia_inter(
    *, max_sum: int = 4, pieces: str = "all", special: str = "example", implicit: bool = False
) -> BaseTransform:
    """SIA without ancestors: small depths in the example, self, special nodes with the example.

    From `"Improving Retrieval-based Dialogue System via Syntax-Informed Attention"
    <https://arxiv.org/abs/2303.06605>`_ (Eq. 4).
    """
    return _with_special(T.DepthEdges(max_sum, pieces=pieces) | T.SelfLoops(pieces=pieces), special)


def _ancestors(direction: str, pieces: str) -> T.EdgeConstructor:
    towards = {"ancestors": "descendant", "descendants": "ancestor", "both": "both"}
    return T.AncestorEdges(towards[check_choice("direction", direction, tuple(towards))], pieces=pieces)


def _with_special(edges: T.EdgeConstructor, special: str) -> T.EdgeConstructor:
    check_choice("special", special, ("example", "cls", "none"))
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

    Nodes of the types ``overview`` attend to all relation nodes of the example, and these to them;
    ``overview=()`` turns this off. If ROOT stands for the sentence, ``overview=("CLS", "ROOT")`` gives it the
    view that [CLS] has in the paper. ``direction`` and ``position`` are those of :class:`RelationEdges` and
    :class:`RelationNodes`. With ``"sequence"``, relation nodes beyond the positions of a pretrained encoder
    share its last one; with ``"none"`` they have neither position nor segment. Not in the paper:
    ``relation_links`` lets relations of arcs that share a word see each other, and ``labels=False`` merges
    all relations (:class:`Unlabelled`).
    """
    words = ("ROOT", "WORD", "CLS", "SEP", "EOU")
    edges = T.CompleteEdges(node_types=words, implicit=implicit) | T.RelationEdges(direction, pieces=pieces)
    if overview:
        edges = edges | T.SpecialEdges(overview, others=("RELATION",))
    if relation_links:
        edges = edges | T.RelationLinks()
    return _compose([*([] if labels else [T.Unlabelled()]), T.RelationNodes(position), edges])


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

    Like ``dam``, but with phrases (:attr:`Sentence.constituents`) instead of arcs; from no paper.
    ``direction`` is that of :class:`PhraseWordEdges`. A phrase node and all words of its constituent attend
    to each other (``inside="words"``), or the node and its children, words and phrases (``"parts"``, see
    :class:`ConstituentEdges`), or both. ``siblings`` lets the children of a constituent see each other,
    ``overview`` and ``position`` are as in ``dam``, and ``labels=False`` merges all labels. Put controls
    before it: :class:`RandomBrackets` and :class:`RightBrackets`.
    """
    words = ("ROOT", "WORD", "CLS", "SEP", "EOU")
    check_choice("inside", inside, ("words", "parts", "both"))
    edges: T.EdgeConstructor = T.CompleteEdges(node_types=words, implicit=implicit)
    edges = edges | T.PhraseWordEdges("none" if inside == "parts" else direction, pieces=pieces)
    if inside != "words" and direction != "none":
        edges = edges | T.ConstituentEdges(_UP_AND_DOWN[direction], pieces=pieces)
    if siblings:
        edges = edges | T.SiblingEdges(pieces=pieces)
    if overview:
        edges = edges | T.SpecialEdges(overview, others=("PHRASE",))
    return _compose([T.PhraseNodes(position, labels=labels), edges])


_UP_AND_DOWN = {"both": "both", "to_phrase": "up", "to_word": "down"}


def same_constituent(
    *, max_height: int | None = 2, pieces: str = "all", implicit: bool = False
) -> BaseTransform:
    """Words of a constituent of at most this height, ROOT and its utterance, and each node itself.

    Without phrase nodes, for any encoder that reads edges; from no paper. See :class:`SameConstituentEdges`.
    """
    same = T.SameConstituentEdges(max_height, pieces=pieces, implicit=implicit)
    return same | T.RootEdges() | T.SelfLoops()


def lisa(*, pieces: str = "all", implicit: bool = False) -> T.EdgeConstructor:
    """Each word attends to its governor, a node without a governor to itself; for one head.

    From `"Linguistically-Informed Self-Attention for Semantic Role Labeling"
    <https://aclanthology.org/D18-1548/>`_.
    """
    return T.DependencyEdges("dependent", pieces=pieces) | T.SelfLoops("tops", pieces=pieces)


def gate(*, max_distance: int = 1, pieces: str = "all", implicit: bool = False) -> BaseTransform:
    """Words of the utterance at most ``max_distance`` arcs apart, typed by their distance.

    From `"GATE: Graph Attention Transformer Encoder for Cross-lingual Relation and Event Extraction"
    <https://arxiv.org/abs/2010.03009>`_.
    """
    edges = T.TreeDistanceEdges(max_distance, pieces=pieces)
    return _compose([edges, T.TreePathTypes(max_distance, pieces=pieces)])


def lisa_complete(*, scope: str = "example", pieces: str = "all", implicit: bool = False) -> T.MarkedEdges:
    """The edges of ``lisa`` for some heads, all pairs of the example (or utterance) for the others.

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

    ``labels=False`` and ``directions=False`` merge types, see :class:`MergeTypes`.
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

    ``labels=False`` and ``directions=False`` merge types, see :class:`MergeTypes`.
    """
    types = T.TreePathTypes(max_distance, self_type=self_type, pieces=pieces)
    return _compose([T.CompleteEdges(scope, implicit=implicit), types, *_merged(labels, directions)])


def relative(*, clip: int = 8, scope: str = "utterance", implicit: bool = False) -> BaseTransform:
    """Complete graph over each utterance (or example), typed by the distance in the text, without trees.

    From `"Self-Attention with Relative Position Representations" <https://arxiv.org/abs/1803.02155>`_.
    """
    return _compose([T.CompleteEdges(scope, implicit=implicit), T.PositionTypes(clip)])


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
    return _compose([T.TreeDistanceEdges(max_distance, pieces=pieces), types, *_merged(labels, directions)])


def _compose(parts: list[BaseTransform]) -> BaseTransform:
    from graphdep.transforms.edge_set import Compose

    return Compose(parts)


def _merged(labels: bool, directions: bool) -> list[BaseTransform]:
    return [] if labels and directions else [T.MergeTypes(labels=labels, directions=directions)]


def own_arcs(*, direction: str = "both", pieces: str = "all", implicit: bool = False) -> BaseTransform:
    """Both ends of an arc of a custom graph attend to each other, typed by its label; each word to itself.

    From no paper. The arcs are the ``edges`` of rows, with ``arcs="own"``, or those of an enhanced graph.
    With ``direction="governor"`` only sources of arcs attend to their targets, with ``"dependent"`` the
    reverse.
    """
    towards = check_choice("direction", direction, ("governor", "dependent", "both"))
    edges = T.OwnEdges(towards, pieces=pieces) | T.SelfLoops(pieces=pieces)
    return _compose([edges, T.ArcTypes()])


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
    "relative": relative,
    "own-arcs": own_arcs,
}

PHRASE_PRESETS: dict[str, Callable[..., BaseTransform]] = {
    "constituents": constituents,
    "same-constituent": same_constituent,
}
"""Presets that read constituents (``to_data(..., phrases=...)``); from no paper."""


GROUP = "graphdep.edges"
"""Group of entry points by which other packages offer edges."""
# Only the factories import PyTorch Geometric, so that names are known without it.
Factory: TypeAlias = "Callable[..., BaseTransform]"
_MODULE = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"
OBJECT = re.compile(rf"{_MODULE}:{_MODULE}")
"""A name that is an import path: ``package.module:Name``."""
_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*")
_RESERVED = ("none", "null")  # a setting reads them as no edges
_own: dict[str, Factory | BaseTransform] = {}


class UnknownEdgesError(ValueError):
    """A file names edges that are unknown in this process; nothing is imported because a file names it."""


def register_edges(name: str, factory: Factory | BaseTransform, *, replace: bool = False) -> None:
    """Registers custom edges under a name for :func:`resolve`, the setting :obj:`edges` and ``--edges``, as
    for the presets. The same object may be registered again, also beside an entry point that names it.

    A checkpoint holds the name but no code: register the same edges under the same name before loading it.
    Other packages offer edges by an entry point of the group ``graphdep.edges``.

    Args:
        name: Letters, digits, ``_``, ``-`` and ``.``, or ``"package.module:Name"``.
        factory: A transform, or a class or function that makes one and needs no argument. Its parameters are
            its options; :obj:`max_distance`, :obj:`max_sum`, :obj:`labels`, :obj:`directions`, :obj:`scope`
            and :obj:`pieces` take the values of the settings.
        replace: Replace edges registered under this name. (default: :obj:`False`)

    Raises:
        ValueError: If the name is invalid or taken by other edges, or the factory needs arguments.
        TypeError: If :obj:`factory` makes no transform.

    Example:
        >>> from graphdep.transforms import DependencyEdges, SelfLoops, register_edges, resolve
        >>> register_edges("both-directions", DependencyEdges("both") | SelfLoops())
        >>> resolve("both-directions")
        (DependencyEdges(towards='both', pieces='all') | SelfLoops(only='all', pieces='all'))
    """
    fits = isinstance(name, str) and (_NAME.fullmatch(name) or OBJECT.fullmatch(name))
    if not fits or name.lower() in _RESERVED:
        raise ValueError(
            "'name' must be letters, digits, '_', '-' and '.', or package.module:Name, and none of "
            f"{', '.join(_RESERVED)} (got {name!r})"
        )
    if name in edge_names() and not (replace and name in _own) and not _is_same(name, factory):
        entries = " and ".join(map(_described, entry_points(group=GROUP, name=name)))
        whose = "the papers' presets" if not is_own(name) else _place(_own[name]) if name in _own else entries
        other = " or pass replace=True" if name in _own else ""
        raise ValueError(
            f"'name' {name!r} is taken by {whose}: choose another name for {_place(factory)}{other}"
        )
    _own[name] = _checked(factory)


def _is_same(name: str, factory: Factory | BaseTransform) -> bool:
    """Whether a name stands for this object already."""
    if name in _own:
        return _own[name] is factory
    for entry in entry_points(group=GROUP, name=name) if is_own(name) else ():
        if _place(factory) == f"{entry.module}:{entry.attr}":
            return True
        with suppress(KeyError, AttributeError):  # nothing is imported
            if attrgetter(entry.attr)(sys.modules[entry.module]) is factory:
                return True
    return False


def _place(factory: Factory | BaseTransform) -> str:
    """``module:name`` of a class or function, else how it prints."""
    name = getattr(factory, "__qualname__", None)
    return brief(factory) if name is None else f"{factory.__module__}:{name}"


def edge_names() -> tuple[str, ...]:
    """All names for :func:`resolve`: presets, registered edges, and entry points, without loading these."""
    listed = [entry.name for entry in entry_points(group=GROUP)]
    own = [name for name in _own if _is_typed(name)]
    return tuple(dict.fromkeys([*PRESETS, *PHRASE_PRESETS, *own, *listed]))


def is_known(name: str) -> bool:
    """Whether edges can be made without importing a module."""
    return not is_own(name) or name in _own


def check_edges(setting: str, name: str | None) -> None:
    """Raises :class:`ValueError`, with the name of the setting, if there are no edges of a name."""
    if name is None or is_known(name) or name in edge_names():
        return
    raise ValueError(_unknown(setting, name, [*edge_names(), "none"]))


def _unknown(what: str, name: str, known: Sequence[str]) -> str:
    """The message for unknown edges; if no known name is near, with the way to one's own."""
    own = "; your own are known by graphdep.transforms.register_edges or --edges PACKAGE.MODULE:NAME"
    return no_choice(what, name, known) + ("" if ":" not in str(name) and did_you_mean(name, known) else own)


def is_own(name: str) -> bool:
    """Whether a name is not that of a preset."""
    return name not in PRESETS and name not in PHRASE_PRESETS


def name_of(edges: str | BaseTransform) -> str:
    """The name of edges, for a setting. A transform is known by its identity from then on."""
    if isinstance(edges, str):
        return edges
    from torch_geometric.transforms import BaseTransform

    from graphdep.transforms.fingerprint import identity

    if not isinstance(edges, BaseTransform):
        raise TypeError(f"'edges' must be a name or a transform (got {type(edges).__name__})")
    name = identity(edges)
    _own[name] = edges
    return name


def edges_of_name(name: str | None) -> str | BaseTransform | None:
    """The edges that were given to :func:`name_of`: a transform if the name is an identity."""
    return name if name is None or _is_typed(name) else resolve(name)


def check_known(name: str) -> None:
    """Raises :class:`UnknownEdgesError`, with advice, if the edges named by a file are unknown here."""
    if is_known(name):
        return
    offered = [entry for entry in entry_points(group=GROUP) if entry.name == name]
    if offered:
        advice = f"name the edges of {_described(offered[0])} yourself: --edges {name}, or edges= in Python"
    elif OBJECT.fullmatch(name):
        module = name.partition(":")[0]
        advice = f"if you trust {module!r}, name the edges yourself: --edges {name}; in Python, import "
        advice += "it and pass its edges to register_edges, or as edges="
    elif _is_typed(name):
        advice = "import the module that registers them (graphdep.transforms.register_edges), or name them "
        advice += "by --edges PACKAGE.MODULE:NAME"
    else:
        advice = "give the same transform again (edges= in Python, --edges PACKAGE.MODULE:NAME)"
    raise UnknownEdgesError(f"edges {name[:200]!r} are not known here: {advice}")


def preset_options(name: str) -> tuple[str, ...]:
    """The names of the options of edges.

    Raises:
        ValueError: If the name is unknown.
    """
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(_find(name)).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind in named)


def resolve(name_or_instance: str | BaseTransform, **kwargs: object) -> BaseTransform:
    r"""Returns the edges of a name, or a given transform unchanged.

    Args:
        name_or_instance: A name in ``PRESETS``, of :func:`register_edges` or of an entry point, or any
            transform.
        **kwargs: Options of the edges. All presets take ``implicit``; custom edges need not.

    Raises:
        ValueError: If the name or an option is unknown (the message lists the known ones), if options are
            given with an instance, or if an entry point cannot be loaded.
    """
    from torch_geometric.transforms import BaseTransform

    if isinstance(name_or_instance, BaseTransform):
        if kwargs:
            raise ValueError(
                f"options {sorted(kwargs)} cannot be given with an instance ({name_or_instance})"
            )
        return name_or_instance
    preset, options = _find(name_or_instance), preset_options(name_or_instance)
    if "implicit" not in options:
        kwargs.pop("implicit", None)
    unknown = sorted(kwargs.keys() - set(options))
    if unknown:
        names = ", ".join(map(repr, unknown))
        takes = f"it takes {', '.join(options)}" if options else "it takes none"
        raise ValueError(f"preset {name_or_instance!r} has no option {names}; {takes}")
    return preset(**kwargs)


def _find(name: str) -> Factory:
    if not is_own(name):
        return PRESETS[name] if name in PRESETS else PHRASE_PRESETS[name]
    if name not in _own:
        entries = entry_points(group=GROUP, name=name)
        if not entries:
            raise ValueError(_unknown("edges", name, edge_names()))
        _own[name] = _load([*entries])
    from torch_geometric.transforms import BaseTransform

    own = _own[name]
    return (lambda: own) if isinstance(own, BaseTransform) else own


def _load(entries: list[EntryPoint]) -> Factory | BaseTransform:
    entry = entries[0]
    if len(entries) > 1:
        raise ValueError(
            f"{' and '.join(map(_described, entries))} have the same name: uninstall one of them"
        )
    try:
        return _checked(entry.load())
    except Exception as error:  # the module of another package may raise anything
        raise ValueError(f"{_described(entry)} cannot be used: {type(error).__name__}: {error}") from error


def _described(entry: EntryPoint) -> str:
    package = "" if entry.dist is None else f" of the package {entry.dist.name!r}"
    return f"entry point {entry.name!r} ({GROUP!r}, {entry.value}){package}"


def _checked(factory: Any) -> Factory | BaseTransform:
    """The transform, or the factory after making one transform as a check."""
    from torch_geometric.transforms import BaseTransform

    from graphdep.transforms.fingerprint import printed

    if isinstance(factory, BaseTransform):
        printed(factory)
        return factory
    if not callable(factory):
        raise TypeError(f"'factory' must make a transform, or be one (got {factory!r})")
    try:
        inspect.signature(factory).bind()
    except (TypeError, ValueError) as error:  # ValueError: a type without a signature
        raise ValueError(f"'factory' must need no argument (got {factory!r}: {error})") from None
    try:
        made = factory()
    except SystemExit as error:
        raise ValueError(f"'factory' ends the program ({factory!r}: {error!r})") from None
    if not isinstance(made, BaseTransform):
        raise TypeError(
            f"'factory' must make a transform (it makes an object of class {type(made).__name__!r})"
        )
    printed(made)
    return factory


def _is_typed(name: str) -> bool:
    """Whether a person chose the name, so that it is not the identity of a transform."""
    return not name.endswith("]")
