"""The result table as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from graphdep.visualization.picture import Picture
from graphdep.visualization.style import COLOURS, INK, PALE


def plot_ablation(
    values: Mapping[str, Sequence[float]],
    *,
    metric: str,
    floor: float | None = None,
    paper: Mapping[str, float] | None = None,
    title: str = "",
) -> Figure:
    """A row a model: every run a dot, their mean a bar, one standard deviation a whisker.

    Args:
        values: Per model the scores of its runs.
        metric: Name of the score.
        floor: What no skill gets: a dotted line. (default: :obj:`None`)
        paper: Published numbers: diamonds. (default: none)
        title: Title. (default: none)

    Raises:
        ValueError: If there is no run at all.
    """
    rows = {model: list(scores) for model, scores in values.items() if scores}
    if not rows:
        raise ValueError("'values' has no run to show")
    figure = Picture(figsize=(7.2, 1.7 + 0.5 * len(rows)), layout="constrained")
    axes = figure.subplots()
    for place, scores in enumerate(rows.values()):
        mean = sum(scores) / len(scores)
        axes.barh(place, mean, color=COLOURS[0], alpha=0.35, height=0.62)
        axes.errorbar(mean, place, xerr=_std(scores), color=INK, capsize=4, linewidth=1.3)
        axes.plot(
            scores,
            [place] * len(scores),
            "o",
            color=COLOURS[0],
            markersize=5,
            label=None if place else "a run",
        )
        axes.text(0.01, place, f"{mean:.3f}", transform=axes.get_yaxis_transform(), va="center", fontsize=9)
    shown = {model: number for model, number in (paper or {}).items() if model in rows}
    if shown:
        places = [list(rows).index(model) for model in shown]
        axes.plot(list(shown.values()), places, "D", color=COLOURS[1], markersize=6, label="the paper")
    if floor is not None:
        axes.axvline(floor, color=COLOURS[2], linestyle=":", linewidth=1.8, label=f"no skill ({floor:.3f})")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    axes.set_xlabel(metric)
    axes.set_xlim(*_limits([*(v for scores in rows.values() for v in scores), *shown.values()], floor))
    axes.grid(axis="x", color=PALE, linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_title(title, fontsize=12)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _std(scores: Sequence[float]) -> float:
    mean = sum(scores) / len(scores)
    return (sum((score - mean) ** 2 for score in scores) / max(1, len(scores) - 1)) ** 0.5


def _limits(values: Sequence[float], floor: float | None) -> tuple[float, float]:
    """From 0, so that bars keep their proportion; a little room to the right."""
    points = [*values, *([] if floor is None else [floor])]
    return min(0.0, *points), max(points) * 1.06 if max(points) > 0 else 1.0
