"""Writes the generated pages before Sphinx looks for its sources, puts the explorer's pages beside those that
show them, and shows notebooks' cells as code.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sphinx.directives.code import CodeBlock

DOCS = Path(__file__).parents[1]


class CodeCell(CodeBlock):
    """A cell of a notebook in MyST: its code, highlighted."""

    def run(self) -> list[Any]:
        self.arguments = ["python"]
        return super().run()


def write(app: Any) -> None:
    from generate import pages

    pages.write(DOCS / "_generated")


def copy_live(app: Any, error: Exception | None) -> None:
    """Pages that are whole already are no sources."""
    if error is None and app.builder.name == "html":
        shutil.copytree(DOCS / "_generated" / "live", Path(app.outdir) / "docs" / "live", dirs_exist_ok=True)


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("code-cell", CodeCell)
    app.connect("builder-inited", write)
    app.connect("build-finished", copy_live)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
