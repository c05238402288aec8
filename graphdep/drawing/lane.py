"""A set of edges below the words."""

from __future__ import annotations

from dataclasses import dataclass


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
        >>> from graphdep.drawing import Lane
        >>> Lane("dra: 3 edges", ((0, 1), (2, 1), (1, 1))).colour
        0
    """

    title: str
    pairs: tuple[tuple[int, int], ...]
    colour: int = 0
    note: str = ""
    name: str = ""
