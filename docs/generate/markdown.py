"""Docstrings and tables as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any

DASH = "\N{EN DASH}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; an empty cell is a dash."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|") or DASH


def code(*names: str) -> str:
    """Names as code, with commas."""
    return ", ".join(f"`{name}`" for name in names)


def from_rest(text: str) -> str:
    """A line of reStructuredText as Markdown: links, roles, code, formulas."""
    text = re.sub(r"`([^`<>]+) <([^<>\s]+)>`_+", r"[\1](\2)", " ".join(text.split()))
    text = re.sub(r":math:`([^`]*)`", r"$\1$", text)
    text = re.sub(r":\w+:`~?([\w.]*\.)?([^`]*)`", r"`\2`", text)
    return re.sub(r"``([^`]*)``", r"`\1`", text)


def summary(of: Any) -> str:
    """The first sentence of a docstring, in Markdown."""
    first = (inspect.getdoc(of) or "").split("\n\n")[0]
    text = from_rest(first)
    end = re.search(r"(?<![A-Z])\.(?= [A-Z])(?!\S*\))", text)
    return text[: end.end()] if end else text
