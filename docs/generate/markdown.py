"""Docstrings and tables as Markdown, which a code host shows as well as the site."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

DASH = "\N{EN DASH}"
ROOT = Path(__file__).parents[2]
SECTION = re.compile(r"(Args|Attributes|Shapes|Raises|Example):")
TITLES = {"Args": "Arguments", "Raises": "Errors"}


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; an empty cell is a dash."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|") or DASH


def code(*names: str) -> str:
    """Names as code, with commas."""
    return ", ".join(f"`{name}`" for name in names)


def linked(name: str, of: Any) -> str:
    """A name that leads to the file with its code; on the site, to its entry in the reference."""
    path = Path(inspect.getsourcefile(inspect.unwrap(of)) or "").relative_to(ROOT)
    return f"[`{name}`](/{path.as_posix()})"


def from_rest(text: str) -> str:
    """A line of reStructuredText as Markdown: links, roles, code, formulas."""
    text = re.sub(r"`([^`<>]+) <([^<>\s]+)>`_+", r"[\1](\2)", " ".join(text.split()))
    text = re.sub(r":math:`([^`]*)`", r"$`\1`$", text)
    text = re.sub(r":\w+:`~?([\w.]*\.)?([^`]*)`", r"`\2`", text)
    return re.sub(r"``([^`]*)``", r"`\1`", text)


def summary(of: Any) -> str:
    """The first sentence of a docstring, in Markdown."""
    first = (inspect.getdoc(of) or "").split("\n\n")[0]
    text = from_rest(first)
    end = re.search(r"(?<![A-Z])\.(?= [A-Z])(?!\S*\))", text)
    return text[: end.end()] if end else text


def docstring(of: Any) -> str:
    """A whole docstring: paragraphs, formulas, and a list for each section; the example is code."""
    parts = []
    for first, rest in _blocks((inspect.getdoc(of) or "").splitlines()):
        section = SECTION.fullmatch(first)
        if first == ".. math::":
            parts.append(f"```math\n{_aligned(rest)}\n```\n")
        elif section and section[1] == "Example":
            parts.append(f"```pycon\n{rest}\n```\n")
        elif section:
            lines = "".join(f"- {_item(section[1], ' '.join(item))}\n" for item in _items(rest))
            parts.append(f"**{TITLES.get(section[1], section[1])}**\n\n{lines}")
        elif first.startswith("==="):
            spans = [match.span() for match in re.finditer(r"=+", first)]
            rows = [
                [from_rest(line[start : None if end == len(first) else end]) for start, end in spans]
                for line in rest.splitlines()
                if not line.startswith("===")
            ]
            parts.append(table(rows[0], rows[1:]))
        else:
            parts.append(f"{from_rest(f'{first} {rest}')}\n")
    return "\n".join(parts)


def _aligned(latex: str) -> str:
    """A formula of several lines in the environment that Sphinx puts around it."""
    outside = re.sub(r"\\begin\{(\w+)\}.*?\\end\{\1\}", "", latex, flags=re.S)
    return f"\\begin{{aligned}}\n{latex}\n\\end{{aligned}}" if r"\\" in outside or "&" in outside else latex


def _blocks(lines: list[str]) -> Iterator[tuple[str, str]]:
    """First line and the rest: a paragraph, or what is indented below a title, without the indentation."""
    while lines:
        titled = lines[0] == ".. math::" or SECTION.fullmatch(lines[0])
        ends = (i for i, line in enumerate(lines) if i and (line[:1].strip() if titled else not line))
        end = next(ends, len(lines))
        if lines[0]:
            rest = "\n".join(lines[1:end])
            yield lines[0], textwrap.dedent(rest).strip("\n") if titled else rest
        lines = lines[end:] if lines[0] else lines[1:]


def _items(text: str) -> list[list[str]]:
    """The lines of each entry of a section; a further line is indented."""
    found: list[list[str]] = []
    for line in filter(str.strip, text.splitlines()):
        if line.startswith(" "):
            found[-1].append(line.strip())
        else:
            found.append([line.removeprefix("- ")])
    return found


def _item(section: str, text: str) -> str:
    name, colon, rest = text.partition(": ")
    if section == "Shapes" or not colon:
        return from_rest(text)
    return f"{code(*name.split(', '))}: {from_rest(rest)}"
