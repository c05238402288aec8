"""The cheat sheet of models: rows of tables by family, controls, and what the settings of each are."""

from __future__ import annotations

from graphdep.tasks import families
from graphdep.training.config import CONTROLS

from .markdown import code, table

HEADER = ("model", "what it is", "edges")


def row(name: str, preset: object) -> tuple[str, ...]:
    edges = f"`{preset.edges}`" if preset.edges else "none"
    return f"`{name}`", preset.summary, edges


def page() -> str:
    """Tables by family, in Markdown."""
    parts = []
    for family in families():
        models = family.config(next(iter(family.tasks))).models
        parts.append(f"## Models of {family.name}\n\nTasks: {code(*family.tasks)}.\n")
        parts.append(table(HEADER, [row(name, preset) for name, preset in models.items()]))
    parts.append(
        "## Controls\n\nBehind a model's name, such as `dt@random`; or several, one of trees among them, "
        "`dt@random@shuffled`.\n"
    )
    parts.append(
        table(("control", "the model"), [(f"`@{name}`", about) for name, (about, _) in CONTROLS.items()])
    )
    return "\n".join(parts)
