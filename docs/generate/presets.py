"""The cheat sheet of presets."""

from __future__ import annotations

import inspect
from pathlib import Path

from graphdep.transforms import PRESETS, resolve

from . import figures
from .markdown import code, summary, table
from .papers import page_of, published_and_ours
from .probes import reads

HEADER = ("preset", "a word attends to", "two layers read", "options", "page of the paper")


def row(name: str) -> tuple[str, ...]:
    options = [option for option in inspect.signature(PRESETS[name]).parameters if option != "implicit"]
    return (
        f"`{name}`",
        summary(PRESETS[name]),
        reads(name) or "not tried",
        code(*options),
        page_of("preset", name),
    )


def page(figures_folder: Path) -> str:
    """Table and pictures, in Markdown."""
    parts = [table(HEADER, map(row, PRESETS))]
    parts.append("\n## Published and measured\n")
    header = ("paper", "claim", "rows", "published or expected", "ours [95%]", "verdict")
    parts.append(table(header, published_and_ours()))
    parts.append("\n## Drawn\n")
    for name in PRESETS:
        path = figures_folder / f"preset-{name}.svg"
        if not path.is_file():
            figures.draw(name, resolve(name), path)
        parts.append(f"### Edges of {name}\n\n```python\n{resolve(name)!r}\n```\n")
        parts.append(f"![{name} on six words](/docs/_generated/figures/preset-{name}.svg)\n")
    return "\n".join(parts)
