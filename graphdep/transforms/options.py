"""Checks and ``repr`` of the options of edge constructors."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphdep.io.limits import check_choice, check_some

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from graphdep.data import NodeType


def require_key(data: Data, key: str, advice: str) -> None:
    """Raises :class:`ValueError` with ``advice`` if the data has no ``key``."""
    if key not in data:
        raise ValueError(f"the data has no {key!r}: {advice}")


def node_type_names(value: Iterable[NodeType | str]) -> tuple[str, ...]:
    """Names of node types in the order of :class:`~graphdep.NodeType`, each once."""
    from graphdep.data import NodeType

    known = [kind.name for kind in NodeType]
    names = {str(getattr(kind, "name", kind)) for kind in ([value] if isinstance(value, str) else value)}
    check_some("node_types", names, "type")
    for name in names:
        check_choice("node_types", name, known)
    return tuple(name for name in known if name in names)


def constructor_repr(transform: object) -> str:
    """``Name(argument=value, ...)`` with every argument, so that different settings print differently."""
    names = inspect.signature(type(transform)).parameters
    arguments = ", ".join(f"{name}={getattr(transform, name)!r}" for name in names)
    return f"{type(transform).__name__}({arguments})"


def refuse_keys(data: Data, transform: object, keys: Iterable[str]) -> None:
    """Raises :class:`ValueError` if ``data`` has one of ``keys``, which would become stale."""
    name, stale = type(transform).__name__, ", ".join(repr(key) for key in keys if key in data)
    if stale:
        raise ValueError(f"{name} must come before the transform that makes {stale}, else it is stale")
