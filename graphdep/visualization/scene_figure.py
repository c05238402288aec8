"""A drawing as a figure of Matplotlib's."""

from __future__ import annotations

from matplotlib.patches import PathPatch
from matplotlib.path import Path

from graphdep.drawing import Scene, Shape
from graphdep.drawing.colours import INK, STYLES
from graphdep.visualization.picture import Picture

_CODES = {"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3, "C": Path.CURVE4, "Z": Path.CLOSEPOLY}
_ALIGNED = {"start": "left", "middle": "center", "end": "right"}
_ALIGNED_RTL = {"start": "right", "middle": "center", "end": "left"}
_PIXELS = 100.0  # an inch


def scene_figure(scene: Scene) -> Picture:
    """The drawing in its size, for ``.png`` and ``.pdf``, and where a figure of Matplotlib's is needed.

    Args:
        scene: The drawing.

    Example:
        >>> from graphdep.drawing import Row, row_scene
        >>> from graphdep.visualization import scene_figure
        >>> scene_figure(row_scene(Row(("It", "rains"), arcs=((1, 0, "expl"),))))._repr_png_()[1:4]
        b'PNG'
    """
    figure = Picture(figsize=(scene.width / _PIXELS, scene.height / _PIXELS))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, scene.width)
    axes.set_ylim(scene.height, 0)
    axes.axis("off")
    for layer, shape in enumerate(scene.shapes):
        colour = INK if STYLES[shape.style] == "currentColor" else STYLES[shape.style]
        if shape.text:
            align = (_ALIGNED_RTL if scene.rtl else _ALIGNED)[shape.anchor]
            points = shape.size * 72 / _PIXELS * 0.94  # Matplotlib's own font is a wide one
            text = _plain(shape.text)
            axes.text(*shape.at, text, ha=align, va="baseline", fontsize=points, color=colour, zorder=layer)
        else:
            axes.add_patch(_patch(shape, colour, layer))
    return figure


def _patch(shape: Shape, colour: str, layer: int) -> PathPatch:
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    for command, numbers in shape.steps:
        pairs = list(zip(numbers[::2], numbers[1::2])) or [points[0]]
        points += pairs
        codes += [int(_CODES[command])] * len(pairs)
    fill = {"facecolor": colour, "linewidth": 0.0} if shape.filled else {"fill": False, "linewidth": 1.0}
    return PathPatch(Path(points, codes), edgecolor=colour, zorder=layer, **fill)


def _plain(text: str) -> str:
    """The text as it stands: between two dollar signs would be a formula."""
    return text.replace("$", r"\$")
