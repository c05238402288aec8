"""The commands and their options, as typer's help has them."""

from __future__ import annotations

import contextlib
import io
import re

from typer.cli import get_docs_for_click
from typer.main import get_command


def page() -> str:
    """Every command: usage, options, examples, in Markdown."""
    from graphdep.cli import app
    from graphdep.cli.options import TaskCommand

    command = get_command(app)
    context = command.make_context("graphdep", [], resilient_parsing=True)
    for one in command.commands.values():
        if isinstance(one, TaskCommand):
            with contextlib.redirect_stdout(io.StringIO()):
                one.get_help(context)  # which fills in the lists of tasks and models
    text = get_docs_for_click(obj=command, ctx=context, name="graphdep", title="Commands")
    text = re.sub(r"^# Commands\n", "", text)
    text = re.sub(r"\[(?:dim|bold|/)[^\]]*\]", "", text)
    return _without_markup(text)


def _without_markup(text: str) -> str:
    """Angle brackets outside code are no HTML here."""
    lines, fenced = [], False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        lines.append(line if fenced or line.startswith("```") else _escaped(line))
    return "\n".join(lines) + "\n"


def _escaped(line: str) -> str:
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(
        part if part.startswith("`") else re.sub(r"(?<!\\)<(?=\w)", r"\\<", part) for part in parts
    )
