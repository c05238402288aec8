"""Colours, shapes and texts: the parts of a picture."""

from __future__ import annotations

import logging
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape, quoteattr

# The palette of Okabe and Ito.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK, PALE, QUIET = "#2b2b2b", "#d9d9d9", "#6b7280"
READABLE = 5.0  # points, the smallest height of labels

STYLES: dict[str, str] = {
    "word": "currentColor",
    "special": QUIET,
    "again": QUIET,
    "arc": QUIET,
    "ground": "#ffffff",
    "label": COLOURS[0],
    "node": COLOURS[3],
    "title": "currentColor",
    "about": QUIET,
    **{f"edge-{number}": colour for number, colour in enumerate(COLOURS)},
}
"""The colour of each style on white."""


# Widths of characters in sans-serif fonts as shares of the height, rather too large than too small.
_NARROW = dict.fromkeys("iljtfrI.,;:'|!()[]`- ", 0.36)
_WIDE = dict.fromkeys("mwMW@%&", 0.92)
_MEAN, _CAPITAL = 0.6, 0.74


def text_width(text: str, size: float) -> float:
    """The approximate width in pixels of a text that is ``size`` pixels high."""
    return size * sum(map(_share, text))


def _share(char: str) -> float:
    known = _NARROW.get(char) or _WIDE.get(char)
    if known:
        return known
    if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Mn", "Me"):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.05
    return _CAPITAL if char.isupper() else _MEAN


def runs_right_to_left(texts: object) -> bool:
    """Whether most letters of the texts belong to right-to-left scripts."""
    kinds = [unicodedata.bidirectional(char) for text in list(texts)[:400] for char in str(text)]  # type: ignore[call-overload]
    right = sum(kind in ("R", "AL") for kind in kinds)
    return right > sum(kind == "L" for kind in kinds)


def warn_small(name: str, points: float, inches: Iterable[float], more: str = "") -> None:
    """Logs labels of less than 5 points, with the width and height in inches that make them 5."""
    if points < READABLE:
        size = "x".join(f"{math.ceil(10 * side) / 10:g}" for side in inches)
        text = "%s: labels are %.1f points high; %s inches would make them %g%s"
        logging.getLogger("graphdep.visualization").warning(text, name, points, size, READABLE, more)


Step = tuple[str, tuple[float, ...]]


@dataclass(frozen=True)
class Shape:
    """A line, a filled outline or a text, in pixels from the upper left corner.

    Args:
        style: One of :data:`graphdep.visualization.scene.STYLES`.
        steps: SVG commands ``M``, ``L``, ``Q``, ``C`` and ``Z`` of a line, each with its points. (default:
            none)
        text: The text. (default: none)
        at: Position of the text, on its base line. (default: :obj:`(0, 0)`)
        size: Height of the text in pixels. (default: :obj:`15`)
        anchor: The part of the text at this position: ``"start"``, ``"middle"`` or ``"end"``. (default:
            ``"middle"``)
        filled: Whether the outline is filled. (default: :obj:`False`)
        names: The item that the shape represents, such as ``(("s", 3), ("t", 4))`` for an edge. (default:
            none)

    Example:
        >>> from graphdep.visualization import Shape
        >>> Shape("arc", (("M", (0, 0)), ("L", (10, 0)))).moved(5, 2).steps
        (('M', (5, 2)), ('L', (15, 2)))
    """

    style: str
    steps: tuple[Step, ...] = ()
    text: str = ""
    at: tuple[float, float] = (0.0, 0.0)
    size: float = 15.0
    anchor: str = "middle"
    filled: bool = False
    names: tuple[tuple[str, int], ...] = ()

    def moved(self, x: float, y: float) -> Shape:
        """The shape, moved."""
        steps = tuple(
            (command, tuple(value + (y if place % 2 else x) for place, value in enumerate(points)))
            for command, points in self.steps
        )
        return replace(self, steps=steps, at=(self.at[0] + x, self.at[1] + y))


FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif"
# Characters that XML does not allow, even as references.
_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 65534, 65535], "�")


@dataclass(frozen=True)
class Scene:
    """A drawing.

    Args:
        width, height: Size in pixels.
        shapes: Shapes, the last on top.
        label: Description of the drawing for screen readers.
        rtl: Whether texts run from right to left. (default: :obj:`False`)

    Example:
        >>> from graphdep.visualization import Scene, Shape
        >>> scene = Scene(80, 20, (Shape("word", text="Hi & <bye>", at=(40, 15)),), "two words")
        >>> print(scene.svg()[-98:])
        class="gd-word" x="40" y="15" font-size="15" fill="currentColor">Hi &amp; &lt;bye&gt;</text></svg>
    """

    width: float
    height: float
    shapes: tuple[Shape, ...]
    label: str
    rtl: bool = False
    PLOT_FONT = 0.94  # factor of text in figures: Matplotlib's own font is wide

    def scale(self, figsize: tuple[float, float]) -> float:
        """Inches per unit with which the drawing just fits into a width and height in inches."""
        return min(figsize[0] / self.width, figsize[1] / self.height)

    def warn_small(self, name: str, figsize: tuple[float, float], *, plotted: bool) -> None:
        """:func:`warn_small` of the smallest text, in a figure of Matplotlib if it is plotted."""
        smallest = min((shape.size for shape in self.shapes if shape.text), default=math.inf)
        points = 72 * smallest * (self.PLOT_FONT if plotted else 1.0)
        inches = (side * READABLE / points for side in (self.width, self.height))
        warn_small(name, points * self.scale(figsize), inches)

    def svg(self, figsize: tuple[float, float] | None = None) -> str:
        """The drawing as SVG, without style sheets, scripts, links and ``id``, so that it can be put into a
        page. Each shape has the class ``gd-STYLE`` and its names as ``data-`` attributes.

        Args:
            figsize: Width and height in inches that it just fits into. (default: a pixel per unit)
        """
        size = f'width="{_number(self.width)}" height="{_number(self.height)}"'
        if figsize is not None:
            width, height = self.width * self.scale(figsize), self.height * self.scale(figsize)
            size = f'width="{width:.4g}in" height="{height:.4g}in"'
        box = f'viewBox="0 0 {_number(self.width)} {_number(self.height)}"'
        about = f'role="img" aria-label={_attribute(self.label)} font-family="{escape(FONT)}"'
        direction = ' direction="rtl"' if self.rtl else ""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} {about}{direction} text-anchor="middle">'
        )
        return head + "".join(map(_element, self.shapes)) + "</svg>"


def stacked(scenes: Sequence[Scene], gap: float = 0.0, label: str = "") -> Scene:
    """One drawing of several, from top to bottom."""
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
    # UTF-8 has no surrogates.
    return text.translate(_CONTROLS).encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True)
class Bracket:
    """A phrase, drawn as a bracket below its words.

    Args:
        first, last: Positions of the first and the last word.
        label: Label, such as ``"NP"``.
        node: Index of the phrase's node in the example, if it is a node. (default: :obj:`None`)
        style: Style of the line. (default: ``"arc"``)

    Example:
        >>> from graphdep.visualization import Bracket
        >>> Bracket(0, 2, "NP").style
        'arc'
    """

    first: int
    last: int
    label: str
    node: int | None = None
    style: str = "arc"


@dataclass(frozen=True)
class Lane:
    """A set of edges between the words of a row, source to target.

    Args:
        title: Title.
        pairs: Positions of source and target of each edge in the row; equal positions are a loop.
        colour: Number of the colour. (default: :obj:`0`)
        note: Description of edges that are not drawn one by one, such as all pairs. (default: none)
        name: Short name. (default: none)

    Example:
        >>> from graphdep.visualization import Lane
        >>> Lane("dra: 3 edges", ((0, 1), (2, 1), (1, 1))).colour
        0
    """

    title: str
    pairs: tuple[tuple[int, int], ...]
    colour: int = 0
    note: str = ""
    name: str = ""


Arc = tuple[int, int, str]


@dataclass(frozen=True)
class Row:
    """The words of an utterance, with a tree above them, and phrases and sets of edges below them.

    Args:
        words: Words, and names of special nodes.
        arcs: Positions of governor and dependent of each arc, and its relation. (default: none)
        lanes: Sets of edges. (default: none)
        special: Positions of special nodes. (default: none)
        nodes: The index of each position in the example. (default: the positions)
        arc_nodes: The index of each arc's node, if arcs are nodes. (default: none)
        arc_styles: The style of each arc. (default: ``"arc"``)
        title: Title. (default: none)
        rtl: Whether the words run from right to left. (default: :obj:`False`)
        brackets: Phrases. (default: none)

    Raises:
        ValueError: If an arc, edge or phrase has a position outside the row.

    Example:
        >>> from graphdep.visualization import Row
        >>> Row(("She", "sings"), arcs=((1, 0, "nsubj"),)).num_words
        2
    """

    words: tuple[str, ...]
    arcs: tuple[Arc, ...] = ()
    lanes: tuple[Lane, ...] = ()
    special: frozenset[int] = frozenset()
    nodes: tuple[int, ...] = ()
    arc_nodes: tuple[int | None, ...] = ()
    arc_styles: tuple[str, ...] = ()
    title: str = ""
    rtl: bool = False
    brackets: tuple[Bracket, ...] = ()

    def __post_init__(self) -> None:
        places = [place for governor, dependent, _ in self.arcs for place in (governor, dependent)]
        places += [place for lane in self.lanes for pair in lane.pairs for place in pair]
        places += [place for bracket in self.brackets for place in (bracket.first, bracket.last)]
        if places and not 0 <= min(places) <= max(places) < len(self.words):
            raise ValueError(f"arcs, edges and phrases must be between positions 0..{len(self.words) - 1}")

    @property
    def num_words(self) -> int:
        return len(self.words)

    def node(self, place: int) -> int:
        """The index of a position in the example."""
        return self.nodes[place] if self.nodes else place


def framed(svg: str) -> str:
    """A scrollable frame for a drawing in a notebook, dark on white in every theme."""
    style = "overflow-x:auto;background:#fff;color:#2b2b2b;padding:4px"
    return f'<div style="{style}">{svg}</div>'
