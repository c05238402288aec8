"""A dependency tree as arcs over its words, with edge sets under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, PathPatch
from matplotlib.path import Path
from torch import Tensor

from graphdep.sentence import Sentence
from graphdep.visualization.picture import Picture
from graphdep.visualization.style import COLOURS, INK

_STEP = 0.75  # height of one level of arcs
_Arc = tuple[int, int]


def plot_tree(
    sentence: Sentence, edges: Mapping[str, Tensor] | None = None, *, root: bool = True, title: str = ""
) -> Figure:
    """Arcs from governor to dependent above the words; below them edges from source to target, a colour a
    set.

    Args:
        sentence: The tree.
        edges: Names of edge sets and their ``edge_index`` ``[2, num_edges]`` over the nodes of
            ``to_data([sentence], root=root)``; self loops are small circles. (default: none)
        root: Show the artificial ROOT as the first node. (default: :obj:`True`)
        title: Title. (default: none)

    Raises:
        ValueError: If an edge names a node that is not there.
    """
    words = [*(["[ROOT]"] if root else []), *sentence.form]
    arcs = [(head - 1 + root, i + root) for i, head in enumerate(sentence.head) if head or root]
    labels = [label for head, label in zip(sentence.head, sentence.deprel) if head or root]
    sets = {name: _pairs(name, edge_index, len(words)) for name, edge_index in (edges or {}).items()}
    x = _places(words, arcs, labels)
    above = _levels(arcs)
    top = _STEP * max(above.values(), default=1) + 0.8
    bottom = max((_sag(pair) for pairs in sets.values() for pair in pairs), default=0.0)
    height = 0.55 * (top + bottom) + (1.0 if title or sets else 0.6)
    figure = Picture(figsize=(max(4.0, 0.105 * x[-1] + 1.2), height), layout="constrained")
    axes = figure.subplots()
    for word, place in zip(words, x):
        axes.text(place, 0, word, ha="center", va="center", fontsize=12, color=INK)
    for arc, label in zip(arcs, labels):
        _draw_arc(axes, x, arc, _STEP * above[arc], 0.34, INK, label)
    for pairs, colour in zip(sets.values(), COLOURS * len(sets)):
        for pair in pairs:
            _draw_edge(axes, x, pair, colour)
    _finish(figure, axes, x, (-bottom - 0.7, top), sets, title)
    return figure


def _pairs(name: str, edge_index: Tensor, num_nodes: int) -> list[_Arc]:
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < num_nodes:
        raise ValueError(f"edges {name!r} name nodes outside 0..{num_nodes - 1}")
    return [(int(source), int(target)) for source, target in edge_index.t()]


def _places(words: Sequence[str], arcs: Sequence[_Arc], labels: Sequence[str]) -> list[float]:
    """Centres of the words, as far apart as words, and labels of arcs between neighbours, need."""
    room = dict.fromkeys(range(len(words)), 0.0)
    for (governor, dependent), label in zip(arcs, labels):
        if abs(governor - dependent) == 1:
            room[max(governor, dependent)] = max(room[max(governor, dependent)], len(label) + 3.0)
    places = [len(words[0]) / 2]
    for i in range(1, len(words)):
        apart = (len(words[i - 1]) + len(words[i])) * 0.62 + 2.0
        places.append(places[-1] + max(apart, room[i]))
    return places


def _levels(arcs: Sequence[_Arc]) -> dict[_Arc, int]:
    """A height for each arc, above all arcs that lie within its span."""
    levels: dict[_Arc, int] = {}
    spans = sorted(dict.fromkeys(arcs), key=lambda arc: (abs(arc[0] - arc[1]), min(arc), arc))
    for arc in spans:
        low, high = sorted(arc)
        inside = [level for other, level in levels.items() if low <= min(other) and max(other) <= high]
        levels[arc] = 1 + max(inside, default=0)
    return levels


def _draw_arc(
    axes: Axes, x: Sequence[float], arc: _Arc, height: float, base: float, colour: str, label: str = ""
) -> None:
    start, end = x[arc[0]], x[arc[1]]
    shift = 0.7 if end > start else -0.7  # arcs that leave a word do not start where others arrive
    start += shift
    bend = min(1.6, abs(end - start) / 2) * (1 if end > start else -1)
    points = [
        (start, base),
        (start, height),
        (start + bend, height),
        (end - bend, height),
        (end, height),
        (end, base),
    ]
    codes = [Path.MOVETO, Path.CURVE3, Path.CURVE3, Path.LINETO, Path.CURVE3, Path.CURVE3]
    axes.add_patch(PathPatch(Path(points, codes), fill=False, edgecolor=colour, linewidth=1.1))
    tip = FancyArrowPatch(
        (end, base + (0.12 if height > 0 else -0.12)),
        (end, base),
        arrowstyle="-|>",
        mutation_scale=9,
        color=colour,
        shrinkA=0,
        shrinkB=0,
    )
    axes.add_patch(tip)
    if label:
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        axes.text(
            (start + end) / 2, height, label, ha="center", va="center", fontsize=9, color=COLOURS[0], bbox=box
        )


def _sag(pair: _Arc) -> float:
    """How far an edge hangs below the words: more for longer ones, but ever less so."""
    return 0.75 * abs(pair[0] - pair[1]) ** 0.6


def _draw_edge(axes: Axes, x: Sequence[float], pair: _Arc, colour: str) -> None:
    (source, target), base = pair, -0.52
    if source == target:
        axes.plot(x[source], base + 0.1, "o", mfc="none", mec=colour, ms=5)
        return
    # A cubic curve reaches three quarters of the way to its control points.
    low = base - _sag(pair) * 4 / 3
    points = [(x[source], base), (x[source], low), (x[target], low), (x[target], base)]
    path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    arrow = FancyArrowPatch(
        path=path, arrowstyle="-|>", mutation_scale=9, color=colour, alpha=0.75, linewidth=1.0
    )
    axes.add_patch(arrow)


def _finish(
    figure: Figure,
    axes: Axes,
    x: Sequence[float],
    limits: tuple[float, float],
    sets: Mapping[str, list],
    title: str,
) -> None:
    axes.set_xlim(min(x) - 4, max(x) + 4)
    axes.set_ylim(*limits)
    axes.axis("off")
    if sets:
        lines = [Line2D([], [], color=colour) for _, colour in zip(sets, COLOURS * len(sets))]
        names = [
            f"{name}: {len(pairs)} edges, the word at the arrow attends to the other"
            for name, pairs in sets.items()
        ]
        figure.legend(lines, names, loc="outside lower center", frameon=False, fontsize=9)
    if title:
        axes.set_title(title, fontsize=12)
