"""The rows of words that a page draws: one for each utterance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from graphdep.drawing import Bracket, Lane, Row
from graphdep.drawing.row import Arc
from graphdep.explorer.packing import unpack_pairs
from graphdep.explorer.page_data import PageData, PageEdges, PageSide
from graphdep.io.plural import plural

_OFF_ROW = ("RELATION", "PHRASE")  # nodes that stand on their arcs, or as brackets
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


def side_rows(page: PageData, side: int) -> list[Row]:
    """The rows of one side."""
    shown = page.sides[side]
    matrices = [edge_matrix(edges, len(page.nodes)) for edges in shown.edges]
    rows = []
    for places in _utterances(page):
        lanes = [
            _lane(edges, matrix, places, number)
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
        (mine.name, other.name, edge_matrix(mine, size), edge_matrix(other, size))
        for mine, other in zip(first.edges, second.edges)
    ]
    many = len(pairs) > 1
    rows = []
    for places in _utterances(page):
        lanes = [lane for pair in pairs for lane in _difference_lanes(pair, page.sides, places, many)]
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
    others = f"the {off.pop()}" if len(off) == page.utterances == 1 else "nodes outside this line"
    for utterance in range(page.utterances):
        entries = [
            number
            for number, node in enumerate(page.nodes)
            if node.utterance == utterance and node.kind not in _OFF_ROW
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


def _lane(edges: PageEdges, matrix: Tensor, places: _Places, colour: int) -> Lane:
    """Where all see one another, the edges with a type are drawn, and a line for the others."""
    pairs = places.pairs(matrix)
    title = f"{edges.name}: {plural(len(pairs), 'edge')}"
    index = torch.tensor(places.entries)
    leading = int(matrix[index].sum() + matrix[:, index].sum()) - 2 * len(pairs)
    title += f", and {leading} to and from {places.others}" if leading else ""
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
    pair: tuple[str, str, Tensor, Tensor], sides: Sequence[PageSide], places: _Places, many: bool
) -> list[Lane]:
    """What one side alone has, and what both have; of equal sets that alone."""
    mine, other, left, right = pair
    same = mine == other
    shared = mine if same else f"{mine} and {other}"
    both = _plain(f"both: {shared}", places.pairs(left & right), 2, places, "both" + f", {mine}" * many)
    if same and torch.equal(left, right):
        return [both]
    names = [
        side.name if name == side.name else f"{name} ({side.name})"
        for name, side in zip((mine, other), sides)
    ]
    chips = [f"only {side.name}" + f", {name}" * many for name, side in zip((mine, other), sides)]
    return [
        _plain(f"only {names[0]}", places.pairs(left & ~right), 0, places, chips[0]),
        _plain(f"only {names[1]}", places.pairs(right & ~left), 1, places, chips[1]),
        both,
    ]


def _plain(name: str, pairs: list[tuple[int, int]], colour: int, places: _Places, chip: str) -> Lane:
    title = f"{name}: {plural(len(pairs), 'edge')}"
    size = len(places.entries)
    if size > 2 and sum(source != target for source, target in pairs) == size * (size - 1):
        return Lane(title, (), colour, "every one of them attends to every other", chip)
    if len(pairs) > _MOST:
        return Lane(title, (), colour, "too many to draw: choose a word", chip)
    return Lane(title, tuple(pairs), colour, name=chip)
