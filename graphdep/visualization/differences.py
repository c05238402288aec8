"""Differences to a row, with their intervals, as a picture."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from graphdep.visualization.picture import Picture
from graphdep.visualization.style import COLOURS, INK, PALE


def plot_differences(
    differences: Mapping[str, tuple[float, float, float]],
    *,
    metric: str,
    reference: str,
    bound: float | None = None,
    title: str = "",
) -> Figure:
    """A row a model: its difference to the reference as a dot, the 95% interval as a line.

    Args:
        differences: Per model the difference and the ends of its interval.
        metric: Name of the score.
        reference: What they are differences to.
        bound: The smallest effect of interest: a band around 0. (default: :obj:`None`)
        title: Title. (default: none)

    Raises:
        ValueError: If there is no row.
    """
    if not differences:
        raise ValueError("'differences' has no row to show")
    figure = Picture(figsize=(7.2, 1.5 + 0.45 * len(differences)), layout="constrained")
    axes = figure.subplots()
    if bound is not None:
        axes.axvspan(-bound, bound, color=PALE, alpha=0.6, label=f"no effect larger than {bound:g}")
        figure.legend(loc="outside lower center", frameon=False, fontsize=9)
    axes.axvline(0, color=INK, linewidth=1.0)
    for place, (middle, low, high) in enumerate(differences.values()):
        axes.plot([low, high], [place, place], color=COLOURS[0], linewidth=2.2)
        axes.plot(middle, place, "o", color=COLOURS[0], markersize=6)
    axes.set_yticks(range(len(differences)), list(differences))
    axes.invert_yaxis()
    axes.set_xlabel(f"{metric}, difference to {reference}")
    axes.grid(axis="x", color=PALE, linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_title(title, fontsize=12)
    return figure
