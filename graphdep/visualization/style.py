"""Colours and helpers that all pictures share."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from graphdep.drawing.colours import COLOURS as COLOURS
from graphdep.drawing.colours import INK as INK
from graphdep.drawing.colours import PALE as PALE


def label_matrix(axes: Axes, labels: Sequence[str], title: str) -> None:
    """Words at both sides of a matrix: rows are targets, columns sources."""
    places = range(len(labels))
    axes.set_xticks(places, labels, rotation=60, ha="left", rotation_mode="anchor", fontsize=9)
    axes.set_yticks(places, labels, fontsize=9)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xticks([place - 0.5 for place in places], minor=True)
    axes.set_yticks([place - 0.5 for place in places], minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="minor", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel(title, fontsize=10)


def check_labels(labels: Sequence[str], size: int) -> None:
    """Raises :class:`ValueError` unless there is one label a node."""
    if len(labels) != size:
        raise ValueError(f"'labels' has {len(labels)} entries for {size} nodes")
