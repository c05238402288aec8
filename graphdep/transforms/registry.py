"""Edges by name: the papers' presets, your own, and those of other packages."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, TypeAlias

from graphdep.transforms.presets import PHRASE_PRESETS, PRESETS

if TYPE_CHECKING:
    from torch_geometric.transforms import BaseTransform

GROUP = "graphdep.edges"
"""Entry points that are factories of edges in other packages."""
# PyTorch Geometric is left to the functions that make edges: they are known by name without it.
Factory: TypeAlias = "Callable[..., BaseTransform]"
_MODULE = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"
OBJECT = re.compile(rf"{_MODULE}:{_MODULE}")
"""A name that says where an object is: ``package.module:Name``."""
_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*")
_NO_VALUE = ("none", "null")  # which a setting reads as no edges
_own: dict[str, Factory] = {}


class UnknownEdgesError(ValueError):
    """Edges that a file names are not known in this process, which imports nothing that a file names."""


def register_edges(name: str, factory: Factory | BaseTransform, *, replace: bool = False) -> None:
    """Gives edges of your own a name, which is then one for :func:`resolve`, the setting :obj:`edges` and
    ``--edges``, as the papers' are.

    A checkpoint holds the name and no code: whoever loads it registers the same edges under the same name
    first. Other packages offer theirs by an entry point of the group ``graphdep.edges``.

    Args:
        name: Letters, digits, ``_``, ``-`` and ``.``, or ``"package.module:Name"``.
        factory: Class or function that makes the transform, which needs no argument; what it takes are its
            options, and :obj:`max_distance`, :obj:`max_sum`, :obj:`labels`, :obj:`directions`, :obj:`scope`
            and :obj:`pieces` are those of the settings. Or a transform.
        replace: Replace edges that were registered under this name. (default: :obj:`False`)

    Raises:
        ValueError: If the name is a wrong one or known already, or the factory needs arguments.
        TypeError: If :obj:`factory` gives no transform.

    Example:
        >>> from graphdep.transforms import DependencyEdges, SelfLoops, register_edges, resolve
        >>> register_edges("both-directions", DependencyEdges("both") | SelfLoops())
        >>> resolve("both-directions")
        (DependencyEdges(towards='both', arcs='basic', pieces='all') | SelfLoops(only='all', pieces='all'))
    """
    if not isinstance(name, str) or not (_NAME.fullmatch(name) or OBJECT.fullmatch(name)):
        raise ValueError(
            f"'name' must be letters, digits, '_', '-' and '.', or package.module:Name (got {name!r})"
        )
    if name.lower() in _NO_VALUE:
        raise ValueError(f"'name' {name!r} stands for no edges")
    if name in edge_names() and not (replace and name in _own):
        whose = "edges that are registered" if is_own(name) else "the papers' presets"
        whose = whose if not is_own(name) or name in _own else f"an entry point of {GROUP!r}"
        raise ValueError(f"'name' {name!r} is taken by {whose}; choose another one")
    _own[name] = _factory(factory)


def edge_names() -> tuple[str, ...]:
    """All names that :func:`resolve` takes: the papers' presets, those that are registered, and entry points,
    which are not loaded for it.
    """
    listed = [entry.name for entry in entry_points(group=GROUP)]
    own = [name for name in _own if _is_typed(name)]
    return tuple(dict.fromkeys([*PRESETS, *PHRASE_PRESETS, *own, *listed]))


def is_known(name: str) -> bool:
    """Whether edges can be made without importing anything."""
    return not is_own(name) or name in _own


def is_own(name: str) -> bool:
    """Whether edges are none of the presets."""
    return name not in PRESETS and name not in PHRASE_PRESETS


def name_of(edges: str | BaseTransform) -> str:
    """The name of edges, for a setting. A transform is known by its identity from now on."""
    if isinstance(edges, str):
        return edges
    from torch_geometric.transforms import BaseTransform

    from graphdep.transforms._identity import identity

    if not isinstance(edges, BaseTransform):
        raise TypeError(f"'edges' must be a name or a transform (got {type(edges).__name__})")
    name = identity(edges)
    _own[name] = lambda: edges
    return name


def as_given(name: str | None) -> str | BaseTransform | None:
    """What :func:`name_of` was asked for: a transform, where the name is the identity of one."""
    return name if name is None or _is_typed(name) else resolve(name)


def check_known(name: str) -> None:
    """Raises :class:`UnknownEdgesError`, which says what to do, where a file's edges are not known here."""
    if is_known(name):
        return
    offered = [entry for entry in entry_points(group=GROUP) if entry.name == name]
    if offered:
        advice = f"name those of {_described(offered[0])} yourself: --edges {name}, or edges= in Python"
    elif OBJECT.fullmatch(name):
        module = name.partition(":")[0]
        advice = f"if you trust the module {module!r}, name them yourself: --edges {name}; in Python, import "
        advice += "it and give what it has to register_edges, or as edges="
    elif _is_typed(name):
        advice = "import the module that registers them (graphdep.transforms.register_edges), or name them "
        advice += "by --edges PACKAGE.MODULE:NAME"
    else:
        advice = "give the same transform again (edges= in Python, --edges PACKAGE.MODULE:NAME)"
    raise UnknownEdgesError(f"edges {name[:200]!r} are not known here: {advice}")


def preset_options(name: str) -> tuple[str, ...]:
    """The names of the options of edges.

    Raises:
        ValueError: If there are none of that name.
    """
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(_find(name)).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind in named)


def resolve(name_or_instance: str | BaseTransform, **kwargs: object) -> BaseTransform:
    r"""Returns edges by name, or a transform as it is.

    Args:
        name_or_instance: A name in ``PRESETS``, one that was given to :func:`register_edges` or that an entry
            point has, or any transform.
        **kwargs: Options of the edges. All presets take ``implicit``, edges of your own need not.

    Raises:
        ValueError: If there is no such name or option (the message lists those there are), if options are
            given for an instance, or an entry point cannot be loaded.
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
            raise ValueError(
                f"no preset {name!r}; choose one of {', '.join(edge_names())}; your own are known after "
                "register_edges, or by --edges PACKAGE.MODULE:NAME"
            )
        _own[name] = _load([*entries])
    return _own[name]


def _load(entries: list[EntryPoint]) -> Factory:
    entry = entries[0]
    if len(entries) > 1:
        raise ValueError(
            f"{' and '.join(map(_described, entries))} have the same name: uninstall one of them"
        )
    try:
        return _factory(entry.load())
    except Exception as error:  # whatever the module of another package dies of
        raise ValueError(f"{_described(entry)} cannot be used: {type(error).__name__}: {error}") from error


def _described(entry: EntryPoint) -> str:
    package = "" if entry.dist is None else f" of the package {entry.dist.name!r}"
    return f"entry point {entry.name!r} ({GROUP!r}, {entry.value}){package}"


def _factory(factory: object) -> Factory:
    """A factory that was seen to make a transform."""
    from torch_geometric.transforms import BaseTransform

    from graphdep.transforms._identity import printed

    if isinstance(factory, BaseTransform):
        edges = factory
        printed(edges)
        return lambda: edges
    if not callable(factory):
        raise TypeError(f"'factory' must make a transform, or be one (got {factory!r})")
    try:
        inspect.signature(factory).bind()
    except (TypeError, ValueError) as error:  # the latter of types without a signature
        raise ValueError(f"'factory' must need no argument (got {factory!r}: {error})") from None
    try:
        made = factory()
    except SystemExit as error:
        raise ValueError(f"'factory' ends the program ({factory!r}: {error!r})") from None
    if not isinstance(made, BaseTransform):
        raise TypeError(f"'factory' must make a transform (got {factory!r}, which makes {made!r})")
    printed(made)
    return factory


def _is_typed(name: str) -> bool:
    """Whether somebody has chosen the name, other than the identity of a transform."""
    return not name.endswith("]")
