"""The list of all pages of the site, from the lists in docs/index.md that make its sidebar."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
SIDEBAR = re.compile(r"^```\{toctree\}\n:hidden:\n:caption: (.*)\n\n((?:[^`\n]+\n)+)```", re.M)


def page() -> str:
    """A list for each caption, with the title of each page, in Markdown."""
    parts = []
    for caption, names in SIDEBAR.findall((DOCS / "index.md").read_text(encoding="utf-8")):
        links = [f"- [{_title(DOCS / f'{name}.md')}](/docs/{name}.md)\n" for name in names.split()]
        parts.append(f"**{caption}**\n\n{''.join(links)}")
    return "\n".join(parts)


def _title(path: Path) -> str:
    return re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.M)[1]
