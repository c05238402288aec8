"""A drawing: shapes on a ground of some size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from graphdep.drawing.colours import STYLES
from graphdep.drawing.shape import Shape

FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif"
# Of a text, what no XML may hold, even as a reference.
_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 65534, 65535], "�")


@dataclass(frozen=True)
class Scene:
    """Shapes on a ground of so many pixels.

    Args:
        width, height: The size of the ground.
        shapes: What is drawn, the last on top.
        label: What the drawing shows, for people who do not see it.
        rtl: Whether texts run from right to left. (default: :obj:`False`)

    Example:
        >>> from graphdep.drawing import Scene, Shape
        >>> scene = Scene(80, 20, (Shape("word", text="Hi & <bye>", at=(40, 15)),), "two words")
        >>> print(scene.svg()[-98:])
        class="gd-word" x="40" y="15" font-size="15" fill="currentColor">Hi &amp; &lt;bye&gt;</text></svg>
    """

    width: float
    height: float
    shapes: tuple[Shape, ...]
    label: str
    rtl: bool = False

    def svg(self) -> str:
        """The drawing as SVG, which holds no style sheet, script, link or ``id``: it may stand in a page.
        Each shape has the class ``gd-STYLE`` and its names as ``data-`` attributes.
        """
        size = f'width="{_number(self.width)}" height="{_number(self.height)}"'
        box = f'viewBox="0 0 {_number(self.width)} {_number(self.height)}"'
        about = f'role="img" aria-label={_attribute(self.label)} font-family="{escape(FONT)}"'
        direction = ' direction="rtl"' if self.rtl else ""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} {about}{direction} text-anchor="middle">'
        )
        return head + "".join(map(_element, self.shapes)) + "</svg>"


def stacked(scenes: Sequence[Scene], gap: float = 0.0, label: str = "") -> Scene:
    """Drawings one above the other, as one."""
    shapes: list[Shape] = []
    y = 0.0
    for scene in scenes:
        shapes += [shape.moved(0, y) for shape in scene.shapes]
        y += scene.height + gap
    width = max((scene.width for scene in scenes), default=0.0)
    height = max(0.0, y - gap)
    rtl = any(scene.rtl for scene in scenes)
    label = label or "; ".join(scene.label for scene in scenes)
    return Scene(width, height, tuple(shapes), label, rtl)


def _element(shape: Shape) -> str:
    names = "".join(f' data-{name}="{value}"' for name, value in shape.names)
    colour = STYLES[shape.style]
    start = f'class="gd-{shape.style}"{names}'
    if shape.text:
        x, y = map(_number, shape.at)
        anchor = "" if shape.anchor == "middle" else f' text-anchor="{shape.anchor}"'
        place = f'x="{x}" y="{y}" font-size="{_number(shape.size)}"{anchor}'
        return f'<text {start} {place} fill="{colour}">{escape(_clean(shape.text))}</text>'
    steps = "".join(command + " ".join(map(_number, points)) for command, points in shape.steps)
    paint = f'fill="{colour}"' if shape.filled else f'fill="none" stroke="{colour}" stroke-width="1.4"'
    return f'<path {start} d="{steps}" {paint}/>'


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    # Half a character of UTF-16 is none of UTF-8.
    return text.translate(_CONTROLS).encode("utf-8", "replace").decode("utf-8")
