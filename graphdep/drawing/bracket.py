"""A phrase below the words."""

from __future__ import annotations

from dataclasses import dataclass


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
        >>> from graphdep.drawing import Bracket
        >>> Bracket(0, 2, "NP").style
        'arc'
    """

    first: int
    last: int
    label: str
    node: int | None = None
    style: str = "arc"
