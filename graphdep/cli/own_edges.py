"""Edges of your own on the command line: ``--edges package.module:Name``.

This is the one place that imports a module by its name in a text, and the text is what somebody has typed:
a name in a checkpoint or a result is never imported.
"""

from __future__ import annotations

import difflib
import os
import sys
from functools import reduce
from importlib import import_module


def import_edges(name: str) -> str:
    """Makes edges known by the name ``package.module:Name``; any other name is left as it is.

    The current folder can be imported from, as with ``python -m``.

    Returns:
        The name.

    Raises:
        ValueError: If there is no such module or object, or it makes no transform.
    """
    if ":" not in name:
        return name
    from graphdep.transforms.presets import OBJECT, is_known, register_edges

    if is_known(name):
        return name
    if not OBJECT.fullmatch(name):
        raise ValueError(f"'edges' of your own are named package.module:Name (got {name!r})")
    module, _, path = name.partition(":")
    try:
        register_edges(name, _object(module, path))
    except (TypeError, ValueError) as error:
        raise ValueError(f"'edges' {name!r}: {error}") from None
    return name


def _object(module: str, path: str) -> object:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # something that the module needs
        hint = " (a module is named without .py)" if module.endswith(".py") else ""
        raise ValueError(f"no module {module!r} in {here} or among the installed ones{hint}") from None
    try:
        return reduce(getattr, path.split("."), found)
    except AttributeError:
        near = difflib.get_close_matches(path, dir(found), n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(f"module {module!r} has no {path!r}{hint}") from None
