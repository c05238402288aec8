"""The rows of words that a page draws: one for each utterance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from graphdep.drawing import Bracket, Lane, Row
from graphdep.drawing.row import Arc
from graphdep.explorer.packing import unpack_pairs
from graphdep.explorer.page_data import OFF_ROW, PageData, PageEdges, PageSide
from graphdep.io.limits import plural

_Set = tuple[PageEdges, Tensor]  # and all its pairs
_MOST = 900  # edges that are drawn one by one


@dataclass(frozen=True)
class _Places:
    """The entries of an utterance that stand in its row, and where."""

    entries: list[int]
    place: dict[int, int]
    others: str = "nodes outside this line"

    def pairs(self, matrix: Tensor) -> list[tuple[int, int]]:
        """Places of source and target of the edges between them."""
        index = torch.tensor(self.entries)
        return [(s, t) for t, s in matrix[index[:, None], index].nonzero().tolist()]

    def outside(self, matrix: Tensor) -> int:
        """How many edges there are between them and other entries."""
        index = torch.tensor(self.entries)
        inside = matrix[index[:, None], index].sum()
        return int(matrix[index].sum() + matrix[:, index].sum() - 2 * inside)

    def title(self, name: str, pairs: int, outside: int) -> str:
        """What stands above a lane."""
        beyond = f", and {outside} to and from {self.others}" if outside else ""
        return f"{name}: {plural(pairs, 'edge')}{beyond}"


def side_rows(page: PageData, side: int) -> list[Row]:
    """The rows of one side."""
    shown = page.sides[side]
    matrices = [edge_matrix(edges, len(page.nodes)) for edges in shown.edges]
    rows = []
    for utterance, places in enumerate(_utterances(page)):
        lanes = [
            _lane(edges, matrix, places, utterance, number)
            for number, (edges, matrix) in enumerate(zip(shown.edges, matrices))
        ]
        arcs, nodes = _arcs(shown, places)
        row = _row(page, places, arcs, tuple(lanes), nodes, ("arc",) * len(arcs))
        rows.append(replace(row, brackets=tuple(_brackets(shown, places))))
    return rows


def difference_rows(page: PageData) -> list[Row]:
    """The rows of what one side alone has, and what both have."""
    first, second = page.sides
    size = len(page.nodes)
    pairs = [
        ((mine, edge_matrix(mine, size)), (other, edge_matrix(other, size)))
        for mine, other in zip(first.edges, second.edges)
    ]
    many = len(pairs) > 1
    rows = []
    for number, places in enumerate(_utterances(page)):
        lanes = [lane for pair in pairs for lane in _difference_lanes(pair, page.sides, places, number, many)]
        left_arcs, right_arcs = (_arcs(side, places)[0] for side in (first, second))
        kept = [arc for arc in left_arcs if arc in right_arcs]
        own = [arc for arc in left_arcs if arc not in right_arcs]
        others = [arc for arc in right_arcs if arc not in left_arcs]
        styles = ("arc",) * len(kept) + ("edge-0",) * len(own) + ("edge-1",) * len(others)
        row = _row(page, places, [*kept, *own, *others], tuple(lanes), (), styles)
        rows.append(replace(row, brackets=_different_brackets(page.sides, places)))
    return rows


def edge_matrix(edges: PageEdges, size: int) -> Tensor:
    """All pairs of a set, whichever part has made them: ``[target, source]``."""
    matrix = torch.zeros(size, size, dtype=torch.bool)
    for packed in edges.made:
        matrix |= unpack_pairs(packed, size)
    return matrix


def _utterances(page: PageData) -> Iterator[_Places]:
    """Nodes of relations and phrases are not in the row."""
    kinds = {"RELATION": "relations", "PHRASE": "phrases"}
    off = {kinds[node.kind] for node in page.nodes if node.kind in kinds}
    off |= {"phrases"} if any(side.bracket_nodes for side in page.sides) else set()  # of one side alone, too
    others = f"the {off.pop()}" if len(off) == page.utterances == 1 else "nodes outside this line"
    for utterance in range(page.utterances):
        entries = [
            number
            for number, node in enumerate(page.nodes)
            if node.utterance == utterance and node.kind not in OFF_ROW
        ]
        yield _Places(entries, {entry: place for place, entry in enumerate(entries)}, others)


def _arcs(side: PageSide, places: _Places) -> tuple[list[Arc], tuple[int | None, ...]]:
    inside = [
        number
        for number, (governor, dependent, _) in enumerate(side.arcs)
        if governor in places.place and dependent in places.place
    ]
    arcs = [side.arcs[number] for number in inside]
    found = [(places.place[governor], places.place[dependent], label) for governor, dependent, label in arcs]
    nodes = [side.arc_nodes[number] for number in inside] if side.arc_nodes else []
    return found, tuple(node if node >= 0 else None for node in nodes)


def _brackets(side: PageSide, places: _Places) -> list[Bracket]:
    nodes = side.bracket_nodes or [-1] * len(side.brackets)
    return [
        Bracket(places.place[first], places.place[last], label, node if node >= 0 else None)
        for (first, last, label), node in zip(side.brackets, nodes)
        if first in places.place and last in places.place
    ]


def _different_brackets(sides: Sequence[PageSide], places: _Places) -> tuple[Bracket, ...]:
    """The phrases of both sides, and of each alone; those that are of one alone are no nodes of both."""
    left, right = (_brackets(side, places) for side in sides)
    both = [bracket for bracket in left if bracket in right]
    own = [replace(one, node=None, style="edge-0") for one in left if one not in right]
    return (*both, *own, *(replace(one, node=None, style="edge-1") for one in right if one not in left))


def _row(
    page: PageData,
    places: _Places,
    arcs: list[Arc],
    lanes: tuple[Lane, ...],
    arc_nodes: tuple[int | None, ...],
    styles: tuple[str, ...],
) -> Row:
    special = frozenset(p for entry, p in places.place.items() if page.nodes[entry].kind != "WORD")
    words = tuple(page.nodes[entry].text for entry in places.entries)
    nodes = tuple(places.entries)
    return Row(words, tuple(arcs), lanes, special, nodes, arc_nodes, styles, rtl=page.rtl)


def _lane(edges: PageEdges, matrix: Tensor, places: _Places, utterance: int, colour: int) -> Lane:
    """Where all see one another, the edges with a type are drawn, and a line for the others."""
    pairs = places.pairs(matrix)
    title = places.title(edges.name, len(pairs), places.outside(matrix) + edges.alone[utterance])
    size = len(places.entries)
    others = sum(source != target for source, target in pairs)
    drawn, note = pairs, ""
    if size > 2 and others == size * (size - 1):
        own = {(source, target) for source, target, _ in edges.typed}
        known = [(places.entries[s], places.entries[t]) for s, t in pairs]
        drawn = [pair for pair, ends in zip(pairs, known) if ends in own and pair[0] != pair[1]]
        note = "every one of them attends to every other"
        note += (
            ", most along a typed edge"
            if 2 * len(drawn) > others
            else ", a few along a typed edge" * bool(drawn)
        )
    elif len(pairs) > _MOST:
        drawn, note = [], "too many to draw: choose a word"
    if len(drawn) > _MOST:
        drawn = []
    return Lane(title, tuple(drawn), colour, note, edges.name)


def _difference_lanes(
    pair: tuple[_Set, _Set], sides: Sequence[PageSide], places: _Places, utterance: int, many: bool
) -> list[Lane]:
    """What one side alone has, and what both have; of equal sets that alone."""
    (mine, left), (other, right) = pair
    alone = [edges.alone[utterance] for edges in (mine, other)]
    same = mine.name == other.name
    shared = mine.name if same else f"{mine.name} and {other.name}"
    both = _plain(f"both: {shared}", left & right, 0, 2, places, "both" + f", {mine.name}" * many)
    if same and torch.equal(left, right) and not any(alone):
        return [both]
    names = [
        side.name if edges.name == side.name else f"{edges.name} ({side.name})"
        for edges, side in zip((mine, other), sides)
    ]
    chips = [f"only {side.name}" + f", {edges.name}" * many for edges, side in zip((mine, other), sides)]
    return [
        _plain(f"only {names[0]}", left & ~right, alone[0], 0, places, chips[0]),
        _plain(f"only {names[1]}", right & ~left, alone[1], 1, places, chips[1]),
        both,
    ]


def _plain(name: str, matrix: Tensor, alone: int, colour: int, places: _Places, chip: str) -> Lane:
    pairs = places.pairs(matrix)
    title = places.title(name, len(pairs), places.outside(matrix) + alone)
    size = len(places.entries)
    if size > 2 and sum(source != target for source, target in pairs) == size * (size - 1):
        return Lane(title, (), colour, "every one of them attends to every other", chip)
    if len(pairs) > _MOST:
        return Lane(title, (), colour, "too many to draw: choose a word", chip)
    return Lane(title, tuple(pairs), colour, name=chip)
