"""The figure of scaling.py: time above memory, over sentence length and over batch size.

Hollow marks were measured on fewer sentences and are scaled up to the full batch.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from graphdep.visualization.scene import COLOURS, PALE


def figure(rows: list[dict[str, Any]], title: str, *, words: int, batch: int) -> Figure:
    """Four panels over the rows of scaling.py.

    Args:
        rows: The rows.
        title: Title.
        words: The length while the batch grows.
        batch: The batch while the length grows.
    """
    models = list(dict.fromkeys(row["model"] for row in rows))
    fig = Figure(figsize=(9, 7), layout="constrained")
    axes = fig.subplots(2, 2, sharey="row")
    panels = (("words", "batch", batch, "words a sentence"), ("batch", "words", words, "sentences a batch"))
    units = (("seconds", "seconds a step"), ("mib", "peak memory, MiB"))
    for (x, fixed, value, label), (upper, lower) in zip(panels, axes.T):
        points = sorted((row for row in rows if row[fixed] == value), key=lambda row: row[x])
        for (unit, name), ax in zip(units, (upper, lower)):
            for colour, model in zip(COLOURS, models):
                draw(ax, [row for row in points if row["model"] == model], x, unit, colour)
            ax.set(xscale="log", yscale="log", xlabel=f"{label} ({fixed}: {value})", ylabel=name)
            ax.set_xticks(sorted({row[x] for row in points}))
            ax.xaxis.set_major_formatter("{x:g}")
            ax.minorticks_off()
            ax.grid(color=PALE, linewidth=0.7)
            ax.label_outer()
    handles, labels = max((ax.get_legend_handles_labels() for ax in axes[0]), key=lambda both: len(both[1]))
    fig.legend(handles, labels, loc="outside lower center", ncols=len(models), frameon=False)
    fewer = any(row["sentences"] != row["batch"] for row in rows)
    fig.suptitle(title + ("\nhollow: scaled up from fewer sentences" if fewer else ""), fontsize=10)
    return fig


def draw(ax: Axes, rows: list[dict[str, Any]], x: str, unit: str, colour: str) -> None:
    """A model in one panel: a line for each phase."""
    rows = [row for row in rows if f"training_{unit}" in row]
    for phase, dash in (("training", "-"), ("inference", "--")):
        xs = [row[x] for row in rows]
        ys = [row[f"{phase}_{unit}"] * row["batch"] / row["sentences"] for row in rows]
        if rows:
            ax.plot(xs, ys, dash, color=colour, label=f"{rows[0]['model']}, {phase}", linewidth=1.6)
        for at, height, row in zip(xs, ys, rows):
            full = row["sentences"] == row["batch"]
            ax.plot(at, height, "o", color=colour, markersize=5, mfc=colour if full else "white")
