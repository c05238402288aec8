"""Options of constructors: their checks, and how a constructor prints."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from graphdep.data import NodeType


def choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Returns ``value`` if it is one of ``choices``, else raises :class:`ValueError`."""
    if value not in choices:
        raise ValueError(f"{name!r} must be one of {', '.join(map(repr, choices))} (got {value!r})")
    return value


def count(name: str, value: int, at_least: int = 0) -> int:
    """Returns ``value`` if it is a whole number from ``at_least`` on, else raises :class:`ValueError`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise ValueError(f"{name!r} must be a whole number of at least {at_least} (got {value!r})")
    return value


def node_type_names(value: Iterable[NodeType | str]) -> tuple[str, ...]:
    """Names of node types in the order of :class:`~graphdep.NodeType`, each once."""
    from graphdep.data import NodeType

    names = {str(getattr(kind, "name", kind)) for kind in ([value] if isinstance(value, str) else value)}
    unknown = names - {kind.name for kind in NodeType}
    if unknown or not names:
        known = ", ".join(kind.name for kind in NodeType)
        raise ValueError(f"'node_types' takes some of {known} (got {sorted(unknown)})")
    return tuple(kind.name for kind in NodeType if kind.name in names)


def constructor_repr(transform: object) -> str:
    """``Name(argument=value, ...)`` with every argument, so that no two settings print alike."""
    names = inspect.signature(type(transform)).parameters
    arguments = ", ".join(f"{name}={getattr(transform, name)!r}" for name in names)
    return f"{type(transform).__name__}({arguments})"


def refuse_keys(data: Data, transform: object, keys: Iterable[str]) -> None:
    """Raises :class:`ValueError` where ``data`` has one of ``keys``, which would go stale."""
    stale = [key for key in keys if key in data]
    if stale:
        name = type(transform).__name__
        raise ValueError(
            f"{name} would leave {', '.join(map(repr, stale))} stale: put it before what wrote that"
        )
