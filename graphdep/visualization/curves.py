"""The course of a run as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from graphdep.visualization.picture import Picture
from graphdep.visualization.style import COLOURS, INK, PALE


def plot_curves(
    rows: Sequence[Mapping[str, Any]], *, metric: str, best_epoch: int | None = None, title: str = ""
) -> Figure:
    """The losses of a run by epoch, and beside them its metric on the validation split.

    Args:
        rows: Its epochs, as ``metrics.csv`` has them: ``"epoch"``, ``"train_loss"``, ``"val_loss"`` and
            ``"val_..."``; what is missing or :obj:`None` is left out.
        metric: Name of the metric, without ``val_``.
        best_epoch: The epoch that the model is of: a dotted line. (default: :obj:`None`)
        title: Title. (default: none)

    Raises:
        ValueError: If there is no epoch.

    Example:
        >>> from graphdep.visualization import plot_curves
        >>> rows = [{"epoch": 1, "train_loss": 0.7}, {"epoch": 2, "train_loss": 0.5, "val_f1": 0.6}]
        >>> len(plot_curves(rows, metric="f1", best_epoch=2).axes)
        2
    """
    if not rows:
        raise ValueError("'rows' has no epoch to show")
    shown = {"loss": ["train_loss", "val_loss"]}
    if metric != "loss":
        shown[metric] = [f"val_{metric}"]
    figure = Picture(figsize=(3.6 * len(shown), 2.7), layout="constrained")
    for axes, (name, columns) in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown.items()):
        _draw(axes, rows, columns, best_epoch)
        axes.set_ylabel(name.replace("_", " "))
    if title:
        figure.suptitle(title, fontsize=10)
    return figure


def _draw(axes: Axes, rows: Sequence[Mapping[str, Any]], columns: Sequence[str], best: int | None) -> None:
    for colour, column in zip(COLOURS, columns):
        points = [(row["epoch"], row[column]) for row in rows if row.get(column) is not None]
        if points:
            axes.plot(*zip(*points), marker="o", markersize=3, color=colour, label=column.replace("_", " "))
    if best is not None:
        axes.axvline(best, color=INK, linestyle=":", linewidth=1.2, label=f"best epoch ({best})")
    axes.set_xlabel("epoch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(color=PALE, linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=8)
