"""The cheat sheet of edge constructors."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from graphdep import transforms
from graphdep.transforms import PRESETS, EdgeConstructor, resolve

from . import figures
from .markdown import code, linked, summary, table
from .papers import papers_of, rows, slug
from .probes import reads

HEADER = ("constructor", "a word attends to", "presets with it", "needs", "paper")
NEEDS = {
    "RelationEdges": "`RelationNodes` before it",
    "RelationLinks": "`RelationNodes` before it",
    **dict.fromkeys(figures.PHRASES, "phrase nodes (`phrases=True`)"),
    "SameConstituentEdges": 'constituents (`phrases="spans"`)',
    "SpanPathEdges": "marked spans (`mark_words`)",
    "RerootedTree": "a marked span (`mark_words`)",
    "PositionTypes": "edges before it",
    "TreePathTypes": "edges before it",
    **dict.fromkeys(("MergeTypes", "CompactTypes"), "typed edges before it"),
    "RewiredEdges": "a constructor",
    "MarkedEdges": "two constructors",
}


def names() -> list[str]:
    """The transforms that are shown: all that make edges, types, trees or nodes."""
    values = {name: getattr(transforms, name) for name in transforms.__all__}
    return [name for name, value in values.items() if _is_shown(value)]


def _is_shown(value: object) -> bool:
    return inspect.isclass(value) and hasattr(value, "forward") and value is not EdgeConstructor


def groups() -> dict[str, list[str]]:
    """The transforms by what they make."""
    from graphdep.transforms.controls import TreeTransform

    found: dict[str, list[str]] = {"edges": [], "trees": [], "rest": []}
    for name in names():
        cls = getattr(transforms, name)
        edges = issubclass(cls, EdgeConstructor) or name == "MarkedEdges"
        found["edges" if edges else "trees" if issubclass(cls, TreeTransform) else "rest"].append(name)
    return found


def presets_with(name: str) -> list[str]:
    """The presets that are made of a transform."""
    return [preset for preset in PRESETS if re.search(rf"\b{name}\(", repr(resolve(preset)))]


def row(name: str) -> tuple[str, ...]:
    cls = getattr(transforms, name)
    papers = [_paper(paper) for paper in papers_of(cls)[:1]]
    link = f"[`{name}`](#{name.lower()})"
    return link, summary(cls), code(*presets_with(name)), NEEDS.get(name, ""), *(papers or [""])


def _paper(paper: Any) -> str:
    """A link to a paper's page by its short name, or to itself."""
    if paper.title in rows():
        return f"[{slug(paper.title)}](/docs/papers/{slug(paper.title)}.md)"
    return f"[{paper.title}]({paper.url})"


def draw(folder: Path) -> None:
    """Draws each constructor, as ``NAME.svg``."""
    for kind, draw_one in (("edges", figures.draw), ("trees", figures.draw_tree)):
        for name in groups()[kind]:
            draw_one(name, figures.made(getattr(transforms, name)), folder / f"{name}.svg")


def page() -> str:
    """Tables and pictures, in Markdown."""
    found = groups()
    parts = ["## All of them\n", table(HEADER, [row(name) for some in found.values() for name in some])]
    parts.append("## Edges, drawn\n")
    parts += [_section(name) for name in found["edges"]]
    parts.append("## Trees, drawn\n")
    parts += [_section(name) for name in found["trees"]]
    parts.append("## Nodes and types\n")
    for name in found["rest"]:
        parts.append(f"### {name}\n\n{summary(getattr(transforms, name))}\n")
    return "\n".join(parts)


def _section(name: str) -> str:
    cls = getattr(transforms, name)
    said = [f"### {name}\n\n{summary(cls)}\n", f"```text\n{figures.made(cls)!r}\n```\n"]
    said.append(f"![{name} on six words](/{figures.FOLDER}/{name}.svg)\n")
    known = [f"`{preset}` reads {what}" for preset in presets_with(name) if (what := reads(preset))]
    if known:
        said.append(
            f"By [the probes](/examples/research/results/edges.md), with two layers: {'; '.join(known)}.\n"
        )
    said.append(f"Reference: {linked(name, cls)}.\n")
    return "\n".join(said)
