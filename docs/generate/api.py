"""The reference: for the site, one page per package, from its ``__all__``; and one list of all names."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import ModuleType

import graphdep
from graphdep.training.estimator import TaskEstimator

from .markdown import linked, summary, table

LEFT_OUT = ("graphdep.cli",)  # it has pages of its own


def packages() -> list[str]:
    """The packages with something public."""
    found = [m.name for m in pkgutil.walk_packages(graphdep.__path__, "graphdep.") if m.ispkg]
    named = ["graphdep", *found]
    return [
        name
        for name in named
        if not name.startswith(LEFT_OUT) and getattr(importlib.import_module(name), "__all__", ())
    ]


@cache
def homes() -> dict[int, tuple[str, str]]:
    """By object: the package that documents it, the one whose name is the longest beginning of its module's,
    and the name that it has there.
    """
    found: dict[int, tuple[str, str]] = {}
    for package in packages():
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            own = (getattr(value, "__module__", "") or "").startswith(package)
            if id(value) not in found or own:
                found[id(value)] = (package, name)
    return found


def names() -> str:
    """A table a package: its public names, each where it is at home, with a line."""
    parts = []
    for package in packages():
        module = importlib.import_module(package)
        rows = [_row(name, getattr(module, name)) for name in _own(package)]
        about = f"{summary(module)}\n\n"
        parts.append(f"## {package}\n\n{about}{table(('name', 'what it is'), rows) if rows else ''}")
    return "\n".join(parts)


def _row(name: str, value: object) -> tuple[str, str]:
    if inspect.isclass(value) or inspect.isfunction(value):
        return linked(name, value), summary(value)
    about = f"the module `{value.__name__}`" if inspect.ismodule(value) else _said(value).replace("``", "`")
    return f"`{name}`", about


def _own(package: str) -> list[str]:
    """The public names of a package that are at home there."""
    module, homed = importlib.import_module(package), homes()
    return [name for name in module.__all__ if homed[id(getattr(module, name))] == (package, name)]


def page(package: str) -> str:
    """The page of a package, in Markdown."""
    module = importlib.import_module(package)
    homed, own = homes(), _own(package)
    guests = [name for name in module.__all__ if name not in own]
    parts = [f"# {package}\n", f"```{{eval-rst}}\n.. automodule:: {package}\n   :no-members:\n```\n"]
    if guests:
        links = ", ".join(_link(module, name, homed) for name in guests)
        parts.append(f"Also here: {links}.\n")
    for name in own:
        parts.append(f"## {name}\n\n```{{eval-rst}}\n{_directive(module, name)}\n```\n")
    return "\n".join(parts)


def _link(module: ModuleType, name: str, homed: dict[int, tuple[str, str]]) -> str:
    package, there = homed[id(getattr(module, name))]
    return f"{{py:obj}}`~{package}.{there}`"


def _directive(module: ModuleType, name: str) -> str:
    value = getattr(module, name)
    path = f"{module.__name__}.{name}"
    if inspect.ismodule(value):
        return f"See ``{path}``."
    if inspect.isclass(value):
        # What estimators have in common is documented once, and theirs all the same.
        inherited = "\n   :inherited-members: HubModel" if issubclass(value, TaskEstimator) else ""
        return f".. autoclass:: {path}\n   :members:{inherited}\n   :show-inheritance:"
    if callable(value):
        return f".. autofunction:: {path}"
    return f".. py:data:: {path}\n\n   {_said(value)}"


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return f"By name: {', '.join(f'``{key}``' for key in value)}."
    if isinstance(value, (tuple, list, frozenset)):
        names = [str(getattr(one, "name", one)) for one in value]
        ordered = sorted(names) if isinstance(value, frozenset) else names
        return f"{', '.join(f'``{name}``' for name in ordered)}."
    return (
        f"``{value!r}``" if isinstance(value, (str, int, float)) else f"Of type ``{type(value).__name__}``."
    )
