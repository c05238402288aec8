"""Lazy imports for a package: a module is imported when one of its names is first used."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from graphdep.io.extras import missing_import


def lazy_imports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` (PEP 562) of a package whose ``__init__.py`` imports its names only
    under ``if TYPE_CHECKING:``.

    That block is the only list of names and modules, for type checkers, editors and this function. A name or
    submodule is imported at its first use, by ``package.Name`` or ``from package import Name``. If a package
    of an extra is missing, the :class:`ImportError` names the extra. A name must not equal that of a module
    in the same folder, which ``import`` would put in its place.

    Args:
        package: Name of the package, ``__name__``, whose ``__spec__`` must exist.
    """
    module = sys.modules[package]
    where = _imported_for_types(module)

    def get(name: str) -> Any:
        try:
            if name in where:
                value = getattr(importlib.import_module(where[name]), name)
            elif not name.startswith("__") and PathFinder.find_spec(f"{package}.{name}", module.__path__):
                value = importlib.import_module(f"{package}.{name}")
            else:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
        except ModuleNotFoundError as error:
            if said := missing_import(error, f"{package}.{name}"):
                raise ImportError(said) from error
            raise
        setattr(module, name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(module), *where})

    return get, names


def _imported_for_types(module: ModuleType) -> dict[str, str]:
    """The names that a module imports under ``if TYPE_CHECKING:``, each with its module."""
    loader: Any = getattr(module.__spec__, "loader", None)
    source = loader.get_source(module.__name__)
    if source is None:
        raise ImportError(f"{module.__name__} cannot be imported without its source, __init__.py")
    blocks = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}
