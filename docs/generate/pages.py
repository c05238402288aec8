"""Writes what the docs say of the code, and draws it.

    make pages

A page has it between ``<!-- generated: NAME -->`` and ``<!-- generated:end -->``, so that it can be read
where no site is built. The reference with all docstrings and the explorer's pages are made with the site.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from . import (
    api,
    command_line,
    contents,
    edges,
    explorer,
    figures,
    models,
    paper_table,
    papers,
    presets,
    tasks,
)

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FIGURES = ROOT / figures.FOLDER
BLOCK = re.compile(
    r"^<!-- generated: (?P<name>[\w/-]+) -->\n(?P<text>.*?)^<!-- generated:end -->\n", re.M | re.S
)
PARTS: dict[str, Callable[[], str]] = {
    "api": api.names,
    "command-line": command_line.page,
    "contents": contents.page,
    "edges": edges.page,
    "models": models.page,
    "papers": paper_table.table,
    "presets": presets.page,
    "tasks": tasks.page,
}


def pages() -> list[Path]:
    """The pages with a generated part."""
    return [path for path in sorted(DOCS.rglob("*.md")) if BLOCK.search(path.read_text(encoding="utf-8"))]


def rewritten(page: Path) -> str:
    """A page with its generated parts as they are today."""
    return BLOCK.sub(lambda block: _block(block["name"], page), page.read_text(encoding="utf-8"))


def _block(name: str, page: Path) -> str:
    if name in PARTS:
        text = PARTS[name]()
    else:
        text = papers.part(next(title for title in papers.rows() if f"papers/{papers.slug(title)}" == name))
    text = re.sub(r"\n{3,}", "\n\n", text).strip("\n")
    text = re.sub(r"\]\(/([^)#\s]+)", lambda link: f"]({_relative(link[1], page)}", text)
    return f"<!-- generated: {name} -->\n\n{text}\n\n<!-- generated:end -->\n"


def _relative(path: str, page: Path) -> str:
    return os.path.relpath(ROOT / path, page.parent)


def draw(folder: Path) -> None:
    """Draws all pictures of the pages, in two seconds or three."""
    edges.draw(folder)
    presets.draw(folder)


def write_site(folder: Path) -> None:
    """Writes what only the site has: the reference (``api/*.md``), the explorer's pages (``live/*.html``)."""
    for package in api.packages():
        _write(folder / "api" / f"{package}.md", api.page(package))
    explorer.write(folder / "live", folder / "runs")


def _write(path: Path, text: str) -> None:
    """Leaves a file as it is that says the same, so that Sphinx need not read it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    draw(FIGURES)
    for path in pages():
        _write(path, rewritten(path))
