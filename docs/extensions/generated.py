"""Writes what only the site has before Sphinx looks for its sources, puts the explorer's pages beside those
that show them, shows notebooks' cells as code, and reads what pages have for the site alone.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.directives.code import CodeBlock

DOCS = Path(__file__).parents[1]
SOURCE = re.compile(r"\[`(?P<name>\w+)`\]\((?:\.\./)+(?P<path>graphdep/[\w/]+)\.py\)")


class CodeCell(CodeBlock):
    """A cell of a notebook in MyST: its code, highlighted."""

    def run(self) -> list[Any]:
        self.arguments = ["python"]
        return super().run()


def write(app: Any) -> None:
    from generate import pages

    pages.write_site(DOCS / "_generated")


def read(app: Any, name: str, text: list[str]) -> None:
    """A page as the site has it, where a code host shows something else.

    ``<!-- site: ... -->`` hides a directive from a code host. A class that leads to its source there leads to
    the reference here. A formula is $`...`$ there, so that Markdown leaves it alone, and $...$ for MyST.
    """
    text[0] = re.sub(r"^<!-- site:\n(.*?)^-->\n", r"\1", text[0], flags=re.M | re.S)
    text[0] = re.sub(r"\$`([^`\n]+)`\$", r"$\1$", text[0])
    text[0] = SOURCE.sub(_reference, text[0])


def _reference(link: re.Match[str]) -> str:
    module = link["path"].removesuffix("/__init__").replace("/", ".")
    return f"{{py:obj}}`~{module}.{link['name']}`"


def copy_live(app: Any, error: Exception | None) -> None:
    """Pages that are whole already are no sources."""
    if error is None and app.builder.name == "html":
        shutil.copytree(DOCS / "_generated" / "live", Path(app.outdir) / "docs" / "live", dirs_exist_ok=True)


def setup(app: Any) -> dict[str, Any]:
    app.add_directive("code-cell", CodeCell)
    app.connect("builder-inited", write)
    app.connect("source-read", read)
    app.connect("build-finished", copy_live)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
