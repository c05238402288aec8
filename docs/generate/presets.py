"""The cheat sheet of presets."""

from __future__ import annotations

import inspect
from pathlib import Path

from graphdep.nn import attention, conv
from graphdep.transforms import PHRASE_PRESETS, PRESETS, resolve
from graphdep.transforms.carried import carried
from graphdep.transforms.edge_set import CLIQUES, CLS_ALL, DISTANCES, MARKS, NODES, ROOT, TYPES

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


CARRIED = {
    TYPES: "types",
    DISTANCES: "distances",
    MARKS: "marks",
    NODES: "added nodes",
    CLIQUES: "implicit pairs",
    ROOT: "words reach ROOT",
    CLS_ALL: "all words reach [CLS]",
}


def carried_and_read() -> list[tuple[str, ...]]:
    """What edges carry, as the models are trained with them, and what layers read of it, by their
    declarations.
    """
    rows = [
        (f"edges `{name}`", carried(resolve(name, implicit=True)), "carried")
        for name in (*PRESETS, *PHRASE_PRESETS)
    ]
    layers = [*vars(conv).values(), *vars(attention).values()]
    rows += [(f"`{layer.__name__}`", layer.reads, "read") for layer in layers if hasattr(layer, "reads")]
    return [(name, *(word if kind in kinds else "" for kind in CARRIED)) for name, kinds, word in rows]


def draw(folder: Path) -> None:
    """Draws each preset, as ``preset-NAME.svg``."""
    for name in PRESETS:
        figures.draw(name, resolve(name), folder / f"preset-{name}.svg")


def page() -> str:
    """Table and pictures, in Markdown."""
    parts = [table(HEADER, map(row, PRESETS))]
    parts.append("\n## What edges carry, and what reads it\n")
    parts.append(
        "Edges that carry types, marks or nodes which the model does not read would be the edges without: "
        "that is an error, and so are edges that lack what it reads. A type tells a distance, so that GATE "
        "reads the types of `gate` as distances. For the pairs alone take the edges without types: "
        "`transformer-utterance` for `dt`, `transformer` for `g2g` and `lisa-complete`, `tree` for `gate`, "
        "or `--edges graphdep.transforms:TreeDistanceEdges` with `max_distance`. ROOT and [CLS] count where "
        "the model is read from them; a pretrained encoder is given what [CLS] lacks where edges are a plain "
        "set. Edges of your own say what they carry (`carries`), or a small batch shows it.\n"
    )
    parts.append(table(("edges or layer", *CARRIED.values()), carried_and_read()))
    parts.append("\n## Published and measured\n")
    header = ("paper", "claim", "rows", "published or expected", "ours [95%]", "verdict")
    parts.append(table(header, published_and_ours()))
    parts.append("\n## Drawn\n")
    for name in PRESETS:
        parts.append(f"### Edges of {name}\n\n```text\n{resolve(name)!r}\n```\n")
        parts.append(f"![{name} on six words](/{figures.FOLDER}/preset-{name}.svg)\n")
    return "\n".join(parts)
