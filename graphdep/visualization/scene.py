"""Colours, shapes and text with places: the parts of a picture."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape, quoteattr

# Okabe and Ito's, and what each is where the ground is dark.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
INK, PALE, QUIET = "#2b2b2b", "#d9d9d9", "#6b7280"

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
"""The colour of each style on a white ground."""


# Shares of the height, of sans-serif fonts, rather too wide than too narrow.
_NARROW = dict.fromkeys("iljtfrI.,;:'|!()[]`- ", 0.36)
_WIDE = dict.fromkeys("mwMW@%&", 0.92)
_MEAN, _CAPITAL = 0.6, 0.74


def text_width(text: str, size: float) -> float:
    """The width in pixels, roughly, of a text that is ``size`` pixels high."""
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
    """Whether most letters of some texts are of a script that runs from right to left."""
    kinds = [unicodedata.bidirectional(char) for text in list(texts)[:400] for char in str(text)]  # type: ignore[call-overload]
    right = sum(kind in ("R", "AL") for kind in kinds)
    return right > sum(kind == "L" for kind in kinds)


Step = tuple[str, tuple[float, ...]]


@dataclass(frozen=True)
class Shape:
    """A line, a filled outline or a text, in pixels from the upper left corner.

    Args:
        style: One of :data:`graphdep.visualization.scene.STYLES`.
        steps: Of a line: SVG's commands ``M``, ``L``, ``Q``, ``C`` and ``Z``, each with its points.
            (default: none)
        text: The text, of a shape that is one. (default: none)
        at: Where the middle of its base line is. (default: :obj:`(0, 0)`)
        size: Its height in pixels. (default: :obj:`15`)
        anchor: ``"start"``, ``"middle"`` or ``"end"`` of it is there. (default: ``"middle"``)
        filled: Whether an outline is filled. (default: :obj:`False`)
        names: What it stands for, such as ``(("s", 3), ("t", 4))`` of an edge. (default: none)

    Raises:
        ValueError: If a command is none of those, or has another number of points.

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
        """The same shape elsewhere."""
        steps = tuple(
            (command, tuple(value + (y if place % 2 else x) for place, value in enumerate(points)))
            for command, points in self.steps
        )
        return replace(self, steps=steps, at=(self.at[0] + x, self.at[1] + y))


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


@dataclass(frozen=True)
class Bracket:
    """A phrase of a row, as a bracket below its words.

    Args:
        first, last: The places of its first and its last word.
        label: Such as ``"NP"``.
        node: The number of the node that it is, in the whole example; of a phrase that is none, :obj:`None`.
            (default: :obj:`None`)
        style: How its line is drawn. (default: ``"arc"``)

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
        title: What stands above it.
        pairs: Places of source and target of each edge, in the row; a pair of one place is a loop.
        colour: Number of its colour. (default: :obj:`0`)
        note: What stands for edges that are not drawn one by one, such as all pairs. (default: none)
        name: What it is called where there is room for few letters. (default: none)

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
        words: The words, and names of nodes that are no words.
        arcs: Of each arc the places of governor and dependent, and its relation. (default: none)
        lanes: Sets of edges. (default: none)
        special: Places of nodes that are no words. (default: none)
        nodes: The number of each place in the whole example. (default: the places)
        arc_nodes: The number of the node that an arc is, by the place of the arc. (default: none)
        arc_styles: The style of each arc. (default: ``"arc"``)
        title: What stands on top. (default: none)
        rtl: Whether the words run from right to left. (default: :obj:`False`)
        brackets: Phrases. (default: none)

    Raises:
        ValueError: If an arc, an edge or a phrase is between places that are not there.

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
            raise ValueError(f"arcs, edges and phrases must be between places 0..{len(self.words) - 1}")

    @property
    def num_words(self) -> int:
        return len(self.words)

    def node(self, place: int) -> int:
        """The number of a place in the whole example."""
        return self.nodes[place] if self.nodes else place


def framed(svg: str) -> str:
    """A drawing that scrolls where it is wider than the notebook, dark on white whatever the theme."""
    style = "overflow-x:auto;background:#fff;color:#2b2b2b;padding:4px"
    return f'<div style="{style}">{svg}</div>'
