"""Where the brackets of a row are drawn."""

from __future__ import annotations

from collections.abc import Sequence

from graphdep.drawing.bracket import Bracket
from graphdep.drawing.shape import Shape, Step
from graphdep.drawing.text_width import text_width

SMALL = 11.5  # height of labels
_STEP, _TICK = 22.0, 7.0


def bracket_levels(brackets: Sequence[Bracket]) -> list[int]:
    """A depth for each bracket, below all that share a word with it and are shorter; of equal ones the later
    stands nearer to the words.
    """
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
    """How wide words are with the labels of phrases of one word."""
    found = [*widths]
    for bracket in brackets:
        if bracket.first == bracket.last:
            found[bracket.first] = max(found[bracket.first], label_width(bracket) + 8)
    return found


def label_width(bracket: Bracket) -> float:
    """How wide a label is with what is around it."""
    return text_width(bracket.label, SMALL) + (14 if bracket.node is not None else 8)


def bracket_shapes(
    brackets: Sequence[Bracket], x: Sequence[float], widths: Sequence[float], y: float
) -> tuple[list[Shape], float]:
    """The brackets below a line of words, and how far down they reach.

    Args:
        brackets: What is drawn.
        x, widths: The middle and the width of each word.
        y: Where the words end.
    """
    levels = bracket_levels(brackets)
    lines, labels = [], []
    for bracket, level in zip(brackets, levels):
        left = x[bracket.first] - widths[bracket.first] / 2
        right = x[bracket.last] + widths[bracket.last] / 2
        low = y + _STEP * level - 8
        style = "node" if bracket.node is not None and bracket.style == "arc" else bracket.style
        names = (("n", bracket.node),) if bracket.node is not None else ()
        lines.append(Shape(style, _line(left, right, low), names=names))
        labels += _label(bracket, ((left + right) / 2, low), style, names)
    return lines + labels, y + _STEP * max(levels, default=0)


def _line(left: float, right: float, low: float) -> tuple[Step, ...]:
    return (
        ("M", (left, low - _TICK)),
        ("L", (left, low)),
        ("L", (right, low)),
        ("L", (right, low - _TICK)),
    )


def _label(
    bracket: Bracket, at: tuple[float, float], style: str, names: tuple[tuple[str, int], ...]
) -> list[Shape]:
    """The label on its line; in a box where the phrase is a node."""
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
