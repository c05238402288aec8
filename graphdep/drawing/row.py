"""Words in a row, with what is drawn above and below them."""

from __future__ import annotations

from dataclasses import dataclass

from graphdep.drawing.bracket import Bracket
from graphdep.drawing.lane import Lane

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
        >>> from graphdep.drawing import Row
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
