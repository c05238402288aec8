#!/usr/bin/env python
"""All that a user can name, sorted, a line each: compare the outputs of two checkouts to see what is lost.

Public names and, with --members, their parameters, methods and attributes; commands and their options; tasks
with the settings and defaults of each; models and the settings that they change; controls, parsers, edges.

Run: PYTHONPATH=CHECKOUT python .ci/names.py [--members] > names.txt
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import os
import pkgutil
import re
import sys
from collections.abc import Iterator
from typing import Any


def public() -> Iterator[tuple[str, str, Any]]:
    """Module, name and value of what ``graphdep``, ``graphdep.x`` and ``graphdep.x.y`` export."""
    import graphdep

    names = [module.name for module in pkgutil.walk_packages(graphdep.__path__, "graphdep.")]
    for module in (
        "graphdep",
        *(name for name in names if name.count(".") <= 2 and name != "graphdep.__main__"),
    ):
        try:
            face = importlib.import_module(module)
        except ImportError as error:  # of an extra that is not installed
            print(f"{module}: not imported: {error}", file=sys.stderr)
            continue
        for name in getattr(face, "__all__", ()):
            yield module, name, getattr(face, name)


def members(value: Any) -> Iterator[str]:
    """Parameters, and of a class the public attributes that it has of this package."""
    with contextlib.suppress(TypeError, ValueError):
        yield f"({', '.join(inspect.signature(value).parameters)})"
    if inspect.isclass(value):
        own = (base for base in value.__mro__ if base.__module__.startswith("graphdep"))
        found = {name for base in own for name in (*vars(base), *vars(base).get("__annotations__", ()))}
        yield from (f".{name}" for name in found if not name.startswith("_"))


def asked(*arguments: str) -> Any:
    """What a command answers with ``--json``."""
    from graphdep.cli import app

    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        app([*arguments, "--json"], prog_name="graphdep")
    return json.loads(out.getvalue())


def commands() -> Iterator[str]:
    """Commands, their options and arguments."""
    import typer.main

    from graphdep.cli import app

    def below(command: Any, path: str) -> Iterator[str]:
        yield f"command {path}"
        for option in command.params:
            names = [*option.opts, *option.secondary_opts]
            shown = ",".join(names) if option.param_type_name == "option" else option.name.upper()
            yield f"command {path} {shown}"
        for name, part in getattr(command, "commands", {}).items():
            yield from below(part, f"{path} {name}")

    yield from below(typer.main.get_command(app), "graphdep")


def settings() -> Iterator[str]:
    """Tasks and their settings with defaults, models and what each changes, controls."""
    known = asked("models")
    for control in known["controls"]:
        yield f"control {control}"
    for family, about in known["families"].items():
        for task in about["tasks"]:
            usual = _defaults("--task", task)
            yield f"task {task}"
            yield from (f"setting {task} {name} = {value!r}" for name, value in usual.items())
        for model in about["models"]:
            own = _defaults("--task", task, "--model", model)
            changed = [
                f"{name}={value!r}"
                for name, value in own.items()
                if name != "model" and value != usual.get(name)
            ]
            yield f"model {family} {model}: {' '.join(sorted(changed))}"


def _defaults(*arguments: str) -> dict[str, Any]:
    return {row["name"]: row["default"] for row in asked("settings", *arguments)["settings"]}


def choices() -> Iterator[str]:
    """Parsers, which the error about an unknown one lists, and edges."""
    from graphdep.parsing import resolve_parser
    from graphdep.transforms import PHRASE_PRESETS, PRESETS

    try:
        resolve_parser("no such name")
    except ValueError as error:
        yield from (f"parser {name}" for name in re.findall("'([^']+)'", str(error).partition(";")[2]))
    yield from (f"edges {name}" for name in {**PRESETS, **PHRASE_PRESETS})


if __name__ == "__main__":
    os.environ["COLUMNS"] = "200"
    lines = {*commands(), *settings(), *choices()}
    for module, name, value in public():
        lines.add(f"name {module}.{name}")
        lines.update(
            f"member {module}.{name}{part}" for part in (members(value) if "--members" in sys.argv else ())
        )
    print("\n".join(sorted(lines)))
