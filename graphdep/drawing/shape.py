"""One line or text of a drawing."""

from __future__ import annotations

from dataclasses import dataclass, replace

Step = tuple[str, tuple[float, ...]]
_SIZES = {"M": 2, "L": 2, "Q": 4, "C": 6, "Z": 0}


@dataclass(frozen=True)
class Shape:
    """A line, a filled outline or a text, in pixels from the upper left corner.

    Args:
        style: One of :data:`graphdep.drawing.colours.STYLES`.
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
        >>> from graphdep.drawing import Shape
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

    def __post_init__(self) -> None:
        for command, points in self.steps:
            if _SIZES.get(command) != len(points):
                raise ValueError(f"'steps' has the command {command!r} with {len(points)} numbers")

    def moved(self, x: float, y: float) -> Shape:
        """The same shape elsewhere."""
        steps = tuple(
            (command, tuple(value + (y if place % 2 else x) for place, value in enumerate(points)))
            for command, points in self.steps
        )
        return replace(self, steps=steps, at=(self.at[0] + x, self.at[1] + y))
