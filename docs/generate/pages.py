"""Writes all generated parts into a folder, which the pages of the site include."""

from __future__ import annotations

from pathlib import Path

from . import api, command_line, edges, explorer, models, papers, presets, tasks


def write(folder: Path) -> None:
    """Writes parts (``parts/*.md``), the reference (``api/*.md``), pictures (``figures/*.svg``) and the pages
    of the explorer (``live/*.html``).
    """
    figures = folder / "figures"
    _write(folder / "parts" / "edges.md", edges.page(figures))
    _write(folder / "parts" / "presets.md", presets.page(figures))
    _write(folder / "parts" / "tasks.md", tasks.page())
    _write(folder / "parts" / "models.md", models.page())
    _write(folder / "parts" / "command-line.md", command_line.page())
    for title in papers.rows():
        _write(folder / "parts" / "papers" / f"{papers.slug(title)}.md", papers.part(title))
    for package in api.packages():
        _write(folder / "api" / f"{package}.md", api.page(package))
    explorer.write(folder / "live", folder / "runs")


def _write(path: Path, text: str) -> None:
    """Leaves a file as it is that says the same, so that Sphinx need not read it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
