"""Pictures of a sentence: its words, arcs and brackets in rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphdep.visualization.scene import (
    Bracket,
    Lane,
    Row,
    Scene,
    Shape,
    Step,
    runs_right_to_left,
    stacked,
    text_width,
)

SMALL = 11.5  # font size of labels
_BRACKET_STEP, _TICK = 22.0, 7.0


def bracket_levels(brackets: Sequence[Bracket]) -> list[int]:
    """The depth of each bracket, below shorter ones that share a word; of equal ones, the last is highest."""
    spans = sorted(range(len(brackets)), key=lambda n: (brackets[n].last - brackets[n].first, -n))
    deepest = [0] * (1 + max((bracket.last for bracket in brackets), default=0))
    levels = [0] * len(brackets)
    for number in spans:
        places = range(brackets[number].first, brackets[number].last + 1)
        levels[number] = 1 + max(deepest[place] for place in places)
        for place in places:
            deepest[place] = levels[number]
    return levels


def bracket_room(brackets: Sequence[Bracket], widths: Sequence[float]) -> list[float]:
    """The widths of words, or of the labels of one-word phrases below them if these are wider."""
    found = [*widths]
    for bracket in brackets:
        if bracket.first == bracket.last:
            found[bracket.first] = max(found[bracket.first], label_width(bracket) + 8)
    return found


def label_width(bracket: Bracket) -> float:
    """The width of a label with its margins."""
    return text_width(bracket.label, SMALL) + (14 if bracket.node is not None else 8)


def bracket_shapes(
    brackets: Sequence[Bracket], x: Sequence[float], widths: Sequence[float], y: float
) -> tuple[list[Shape], float]:
    """The brackets below a line of words, and their lower end.

    Args:
        brackets: The brackets.
        x, widths: The middle and the width of each word.
        y: The lower end of the words.
    """
    levels = bracket_levels(brackets)
    lines, labels = [], []
    for bracket, level in zip(brackets, levels):
        left = x[bracket.first] - widths[bracket.first] / 2
        right = x[bracket.last] + widths[bracket.last] / 2
        low = y + _BRACKET_STEP * level - 8
        style = "node" if bracket.node is not None and bracket.style == "arc" else bracket.style
        names = (("n", bracket.node),) if bracket.node is not None else ()
        lines.append(Shape(style, _line(left, right, low), names=names))
        labels += _bracket_label(bracket, ((left + right) / 2, low), style, names)
    return lines + labels, y + _BRACKET_STEP * max(levels, default=0)


def _line(left: float, right: float, low: float) -> tuple[Step, ...]:
    return (("M", (left, low - _TICK)), ("L", (left, low)), ("L", (right, low)), ("L", (right, low - _TICK)))


def _bracket_label(
    bracket: Bracket, at: tuple[float, float], style: str, names: tuple[tuple[str, int], ...]
) -> list[Shape]:
    """The label on its line, in a box if the phrase is a node."""
    (x, y), half = at, label_width(bracket) / 2
    box = rounded(x - half, y - 9, 2 * half, 18, 8 if bracket.node is not None else 2)
    shapes = [Shape("ground", box, filled=True)]
    if bracket.node is not None:
        shapes.append(Shape(style, box, names=names))
    style = "label" if style == "arc" else style
    return [*shapes, Shape(style, text=bracket.label or " ", at=(x, y + 4), size=SMALL, names=names)]


def rounded(x: float, y: float, width: float, height: float, radius: float) -> tuple[Step, ...]:
    """A box with round corners."""
    right, low, r = x + width, y + height, radius
    return (
        ("M", (x + r, y)),
        ("L", (right - r, y)),
        ("Q", (right, y, right, y + r)),
        ("L", (right, low - r)),
        ("Q", (right, low, right - r, low)),
        ("L", (x + r, low)),
        ("Q", (x, low, x, low - r)),
        ("L", (x, y + r)),
        ("Q", (x, y, x + r, y)),
        ("Z", ()),
    )


WORD, AGAIN = 16.0, 12.0  # font sizes
_ARC_STEP = 23.0  # between nested arcs
_GAP, _EDGE = 20.0, 26.0  # between words, and at the margins
_TIP = 6.0
_LEGEND = "the word at the arrow attends to the other"


def row_scene(row: Row) -> Scene:
    """The drawing of a row: arcs from governor to dependent above the words; below them phrases as brackets,
    and sets of edges from source to target, each in its own colour, with loops as small circles.

    Args:
        row: The row.

    Example:
        >>> from graphdep.visualization import Row, row_scene
        >>> scene = row_scene(Row(("She", "sings"), arcs=((1, 0, "nsubj"),)))
        >>> [shape.text for shape in scene.shapes if shape.text]
        ['nsubj', 'She', 'sings']
    """
    return stacked(row_scenes(row), label=_row_label(row))


def row_scenes(row: Row) -> list[Scene]:
    """The parts of a row's drawing from top to bottom: tree and words, then each set of edges."""
    x, width = _places(row)
    top, height = _tree(row, x)
    parts = [(top, height, f"{' '.join(row.words)}: {len(row.arcs)} arcs of a tree")]
    for number, lane in enumerate(row.lanes):
        parts.append((*_lane(row, lane, x, 0.0, first=number == 0), lane.title))
    return [
        Scene(
            width, y, tuple(_mirrored(shape, width) if row.rtl else shape for shape in shapes), label, row.rtl
        )
        for shapes, y, label in parts
    ]


def _row_label(row: Row) -> str:
    label = f"{' '.join(row.words)}: {len(row.arcs)} arcs of a tree"
    return label + "".join(f"; {lane.title}" for lane in row.lanes)


def _tree(row: Row, x: Sequence[float]) -> tuple[list[Shape], float]:
    """The words, and the arcs above them."""
    shapes: list[Shape] = []
    y = 0.0
    if row.title:
        y = 24.0
        shapes.append(Shape("title", text=row.title, at=(_EDGE, 16), size=14, anchor="start"))
    levels = arc_levels([(governor, dependent) for governor, dependent, _ in row.arcs])
    base = y + (_ARC_STEP * max(levels, default=0) + 18 if levels else 2)
    shapes += _arcs(row, x, levels, base)
    y = base + WORD + 4
    shapes += [_word(row, place, (x[place], y), WORD, "word") for place in range(row.num_words)]
    if row.brackets:
        drawn, y = bracket_shapes(row.brackets, x, _widths(row), y + 6)
        shapes += drawn
    return shapes, y + 8


def arc_levels(arcs: Sequence[tuple[int, int]]) -> list[int]:
    """The height of each arc, above all arcs within its span."""
    spans = sorted(range(len(arcs)), key=lambda n: (abs(arcs[n][0] - arcs[n][1]), min(arcs[n]), n))
    # The highest arc so far between two neighbours.
    top = [0] * (1 + max((max(arc) for arc in arcs), default=0))
    levels = [0] * len(arcs)
    for number in spans:
        low, high = sorted(arcs[number])
        between = range(low, max(high, low + 1))
        levels[number] = 1 + max(top[place] for place in between)
        for place in between:
            top[place] = levels[number]
    return levels


def _places(row: Row) -> tuple[list[float], float]:
    """The middle of each word, with room for words and for labels of arcs between neighbours; the width."""
    widths = _widths(row)
    room = [0.0] * row.num_words
    for number, (governor, dependent, label) in enumerate(row.arcs):
        if abs(governor - dependent) == 1:
            space = text_width(label, SMALL) + 26 + 10 * (number < len(row.arc_nodes))
            room[max(governor, dependent)] = max(room[max(governor, dependent)], space)
    x = [_EDGE + widths[0] / 2] if widths else []
    for place in range(1, row.num_words):
        apart = (widths[place - 1] + widths[place]) / 2 + _GAP
        x.append(x[-1] + max(apart, room[place]))
    right = x[-1] + widths[-1] / 2 if x else 0.0
    titles = [text_width(lane.title, SMALL) + text_width(_LEGEND, SMALL) for lane in row.lanes[:1]]
    titles += [text_width(text, SMALL) for lane in row.lanes for text in (lane.title, lane.note)]
    titles.append(text_width(row.title, 14))
    return x, max([right, *(_EDGE + title for title in titles)]) + _EDGE


def _widths(row: Row) -> list[float]:
    return bracket_room(row.brackets, [max(14.0, text_width(word, WORD)) for word in row.words])


def _word(row: Row, place: int, at: tuple[float, float], size: float, style: str) -> Shape:
    style = "special" if place in row.special and style == "word" else style
    size = size - 3 if style == "special" else size
    return Shape(style, text=row.words[place] or " ", at=at, size=size, names=(("n", row.node(place)),))


def _arcs(row: Row, x: Sequence[float], levels: Sequence[int], base: float) -> list[Shape]:
    lines, labels = [], []
    for number, (governor, dependent, label) in enumerate(row.arcs):
        style = row.arc_styles[number] if row.arc_styles else "arc"
        names = (("g", row.node(governor)), ("d", row.node(dependent)))
        height = base - 4 - _ARC_STEP * levels[number]
        # Arcs start beside the point where others arrive.
        right = dependent > governor
        start, end = x[governor] + (7 if right else -7), x[dependent]
        if governor == dependent:
            start, end = x[governor] - 9, x[governor] + 9
        lines.append(Shape(style, _hook(start, end, base, height), names=names))
        lines.append(Shape(style, _tip(end, base, down=True), filled=True, names=names))
        node = row.arc_nodes[number] if number < len(row.arc_nodes) else None
        labels += _arc_label(label, ((start + end) / 2, height), names, node, style)
    return lines + labels


def _arc_label(
    label: str, at: tuple[float, float], names: tuple[tuple[str, int], ...], node: int | None, style: str
) -> list[Shape]:
    """The relation on its arc, in a box if it is a node."""
    half = text_width(label, SMALL) / 2 + (7 if node is not None else 3)
    x, y = at
    box = rounded(x - half, y - 9, 2 * half, 18, 8 if node is not None else 2)
    style = "label" if style == "arc" else style
    text = Shape(style, text=label or " ", at=(x, y + 4), size=SMALL, names=names)
    if node is None:
        return [Shape("ground", box, filled=True), text]
    names = (("n", node),)
    own = Shape("node", text=label, at=(x, y + 4), size=SMALL, names=names)
    return [Shape("ground", box, filled=True), Shape("node", box, names=names), own]


def _lane(row: Row, lane: Lane, x: Sequence[float], y: float, first: bool) -> tuple[list[Shape], float]:
    """The edges below the words; lanes that are not directly below the words repeat them."""
    style = f"edge-{lane.colour % 6}"
    shapes: list[Shape] = []
    title = lane_title(lane, first)
    if not first or row.brackets:
        y += 16
        shapes += [_word(row, place, (x[place], y), AGAIN, "again") for place in range(row.num_words)]
        y += 8
    loops = [source for source, target in lane.pairs if source == target]
    pairs = [pair for pair in lane.pairs if pair[0] != pair[1]]
    for place in loops:
        node = row.node(place)
        shapes.append(Shape(style, _circle(x[place], y + 4, 4), names=(("s", node), ("t", node))))
    top = y + (10 if loops else 2)
    depth = 0.0
    for source, target in pairs:
        drawn, deep = _edge(x[source], x[target], top, style, (row.node(source), row.node(target)))
        shapes += drawn
        depth = max(depth, deep)
    y = top + depth
    if lane.note and x:
        y += 12
        left, right = x[0] - 8, x[-1] + 8
        bracket: tuple[Step, ...] = (
            ("M", (left, y - 6)),
            ("L", (left, y)),
            ("L", (right, y)),
            ("L", (right, y - 6)),
        )
        shapes.append(Shape(style, bracket))
        shapes.append(Shape(style, text=lane.note, at=(_EDGE, y + 15), size=SMALL, anchor="start"))
        y += 16
    y += 17
    shapes.append(Shape(style, text=title, at=(_EDGE, y), size=SMALL, anchor="start"))
    return shapes, y + 4


def lane_title(lane: Lane, first: bool) -> str:
    """The title of a lane; the first one also explains the arrows."""
    return f"{lane.title}, {_LEGEND}" if first else lane.title


def _edge(
    source: float, target: float, top: float, style: str, ends: tuple[int, int]
) -> tuple[list[Shape], float]:
    """A curve with its arrow; longer curves hang deeper, with decreasing slope."""
    names = (("s", ends[0]), ("t", ends[1]))
    deep = 9 + 1.9 * abs(source - target) ** 0.62
    shift = 4 if target > source else -4
    start, end = source + shift, target - shift
    # A cubic curve reaches three quarters of the way to its control points.
    low = top + deep * 4 / 3
    curve: tuple[Step, ...] = (("M", (start, top)), ("C", (start, low, end, low, end, top + _TIP - 1)))
    line = Shape(style, curve, names=names)
    return [line, Shape(style, _tip(end, top, down=False), filled=True, names=names)], deep


def _hook(start: float, end: float, base: float, height: float) -> tuple[Step, ...]:
    """Up, across with round corners, and down."""
    bend = min(9.0, abs(end - start) / 2, base - height) * (1 if end > start else -1)
    return (
        ("M", (start, base)),
        ("L", (start, height + abs(bend))),
        ("Q", (start, height, start + bend, height)),
        ("L", (end - bend, height)),
        ("Q", (end, height, end, height + abs(bend))),
        ("L", (end, base - _TIP + 1)),
    )


def _tip(x: float, y: float, *, down: bool) -> tuple[Step, ...]:
    back = y - _TIP if down else y + _TIP
    return ("M", (x, y)), ("L", (x - 3.4, back)), ("L", (x + 3.4, back)), ("Z", ())


def _circle(x: float, y: float, r: float) -> tuple[Step, ...]:
    k = 0.5523 * r
    return (
        ("M", (x + r, y)),
        ("C", (x + r, y + k, x + k, y + r, x, y + r)),
        ("C", (x - k, y + r, x - r, y + k, x - r, y)),
        ("C", (x - r, y - k, x - k, y - r, x, y - r)),
        ("C", (x + k, y - r, x + r, y - k, x + r, y)),
        ("Z", ()),
    )


def _mirrored(shape: Shape, width: float) -> Shape:
    """The shape mirrored; the letters of texts keep their order."""
    steps = tuple(
        (command, tuple(value if place % 2 else width - value for place, value in enumerate(points)))
        for command, points in shape.steps
    )
    # In right-to-left text, "start" is the right end.
    return Shape(
        shape.style,
        steps,
        shape.text,
        (width - shape.at[0], shape.at[1]),
        shape.size,
        shape.anchor,
        shape.filled,
        shape.names,
    )


def sentence_row(sentence: Any, lanes: tuple[Lane, ...] = (), *, root: bool = True, title: str = "") -> Row:
    """The words of a :class:`~graphdep.Sentence`, with its tree.

    Args:
        sentence: The sentence.
        lanes: Sets of edges over its nodes. (default: none)
        root: Show the artificial ROOT as the first node. (default: :obj:`True`)
        title: Title. (default: none)
    """
    words = (*(["[ROOT]"] if root else []), *sentence.form)
    pairs = enumerate(zip(sentence.head, sentence.deprel))
    arcs = tuple((head - 1 + root, word + root, label) for word, (head, label) in pairs if head or root)
    special = frozenset([0] if root else [])
    return Row(words, arcs, lanes, special, title=title, rtl=runs_right_to_left(sentence.form))
