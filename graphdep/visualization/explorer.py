"""Explorer pages: tree, edges, attention and answers of an example."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from graphdep.data.node_table import to_data
from graphdep.io.extras import check_extra
from graphdep.io.files import drawing
from graphdep.io.limits import MAX_PAGE_WORDS, MAX_WORDS, check_between, check_list, check_page_words, plural
from graphdep.sentence.intake import as_sentences
from graphdep.sentence.sentence import Sentence
from graphdep.transforms.controls import RandomBrackets, RandomTree
from graphdep.transforms.presets import resolve
from graphdep.visualization.page_data import (
    OFF_ROW,
    ROOM,
    PageData,
    PageEdges,
    PageNode,
    PageSide,
    common_entries,
    page_side,
    unpack_pairs,
)
from graphdep.visualization.rows import lane_title, row_scene, row_scenes
from graphdep.visualization.scene import Arc, Bracket, Lane, Row, Scene, runs_right_to_left, stacked
from graphdep.visualization.side import Side
from graphdep.vocab.relations import RelationVocab

_Set = tuple[PageEdges, Tensor]  # with its matrix
_COMPLETE = "every node attends to every other"
_MOST = 900  # edges drawn one by one


@dataclass(frozen=True)
class _Places:
    """The entries in the row of an utterance, and their positions."""

    entries: list[int]
    place: dict[int, int]
    others: str = "nodes outside this line"

    def pairs(self, matrix: Tensor) -> list[tuple[int, int]]:
        """Positions of source and target of the edges within the row."""
        index = torch.tensor(self.entries)
        return [(s, t) for t, s in matrix[index[:, None], index].nonzero().tolist()]

    def outside(self, matrix: Tensor) -> int:
        """The number of edges between the row and other entries."""
        index = torch.tensor(self.entries)
        inside = matrix[index[:, None], index].sum()
        return int(matrix[index].sum() + matrix[:, index].sum() - 2 * inside)

    def title(self, name: str, pairs: int, outside: int) -> str:
        """The title of a lane."""
        beyond = f", and {outside} to and from {self.others}" if outside else ""
        return f"{name}: {plural(pairs, 'edge')}{beyond}"


def side_rows(page: PageData, side: int) -> list[Row]:
    """The rows of a side."""
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
    """The rows of the difference: edges of one side only, and of both."""
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
    """The matrix ``[target, source]`` of a set, over all its parts."""
    matrix = torch.zeros(size, size, dtype=torch.bool)
    for packed in edges.made:
        matrix |= unpack_pairs(packed, size)
    return matrix


def _utterances(page: PageData) -> Iterator[_Places]:
    """The row of each utterance, without relation nodes and phrases."""
    kinds = {"RELATION": "relations", "PHRASE": "phrases"}
    off = {kinds[node.kind] for node in page.nodes if node.kind in kinds}
    off |= {"phrases"} if any(side.bracket_nodes for side in page.sides) else set()  # or of one side
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
    """The phrases of both sides, and those of one side, which are not drawn as nodes."""
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
    """A lane; if the graph is complete, only typed edges are drawn, and a line for the others."""
    pairs = places.pairs(matrix)
    title = places.title(edges.name, len(pairs), places.outside(matrix) + edges.alone[utterance])
    size = len(places.entries)
    others = sum(source != target for source, target in pairs)
    drawn, note = pairs, ""
    if size > 2 and others == size * (size - 1):
        own = {(source, target) for source, target, _ in edges.typed}
        known = [(places.entries[s], places.entries[t]) for s, t in pairs]
        drawn = [pair for pair, ends in zip(pairs, known) if ends in own and pair[0] != pair[1]]
        note = _COMPLETE + "; typed edges are drawn" * bool(drawn)
    elif len(pairs) > _MOST:
        drawn, note = [], "too many to draw: choose a word"
    if len(drawn) > _MOST:
        drawn = []
    return Lane(title, tuple(drawn), colour, note, edges.name)


def _difference_lanes(
    pair: tuple[_Set, _Set], sides: Sequence[PageSide], places: _Places, utterance: int, many: bool
) -> list[Lane]:
    """Edges of one side only, if there are any, and edges of both."""
    (mine, left), (other, right) = pair
    alone = [edges.alone[utterance] for edges in (mine, other)]
    same = mine.name == other.name
    shared = mine.name if same else f"{mine.name} and {other.name}"
    both = _plain(f"both: {shared}", left & right, 0, 2, places, "both" + f", {mine.name}" * many)
    names = [
        side.name if edges.name == side.name else f"{edges.name} ({side.name})"
        for edges, side in zip((mine, other), sides)
    ]
    chips = [f"only {side.name}" + f", {edges.name}" * many for edges, side in zip((mine, other), sides)]
    own = [
        _plain(f"only {names[number]}", matrix, alone[number], number, places, chips[number])
        for number, (edges, matrix) in enumerate([(mine, left & ~right), (other, right & ~left)])
        if matrix.any() or any(edges.alone)  # in any utterance, since all have the same lanes
    ]
    return [*own, both]


def _plain(name: str, matrix: Tensor, alone: int, colour: int, places: _Places, chip: str) -> Lane:
    pairs = places.pairs(matrix)
    title = places.title(name, len(pairs), places.outside(matrix) + alone)
    size = len(places.entries)
    if size > 2 and sum(source != target for source, target in pairs) == size * (size - 1):
        return Lane(title, (), colour, _COMPLETE, chip)
    if len(pairs) > _MOST:
        return Lane(title, (), colour, "too many to draw: choose a word", chip)
    return Lane(title, tuple(pairs), colour, name=chip)


# Characters that are markup in HTML, or line breaks in JavaScript.
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_OPEN = 260  # words in utterances that are open at first


def page_html(page: PageData, rows: Sequence[Sequence[Row]]) -> str:
    """The page.

    Args:
        page: Its data.
        rows: The rows of each side, and of the difference between two sides.
    """
    script, style = _asset("explorer.js"), _asset("explorer.css")
    policy = f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
    policy += "img-src data:; base-uri 'none'; form-action 'none'"
    data = json.dumps(asdict(page), ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)
    parts = {
        "POLICY": policy,
        "TITLE": escape(_clean(page.title)),
        "ABOUT": escape(_clean(page.about)),
        "DIRECTION": "rtl" if page.rtl else "ltr",
        "STYLE": style,
        "DRAWINGS": "".join(_drawings(number, some) for number, some in enumerate(rows)),
        "DATA": _clean(data),
        "SCRIPT": script,
    }
    # A single pass over the template, so that placeholders in a title are not replaced.
    pieces = _asset("explorer.html").split("%%")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _drawings(side: int, rows: Sequence[Row]) -> str:
    """The rows of one side; several utterances can be folded."""
    shown, blocks = 0, []
    for number, row in enumerate(rows):
        tree, *lanes = row_scenes(row)
        parts = [f'<div class="tree">{tree.svg()}</div>']
        parts += [
            f'<div class="lane" data-lane="{place}" data-colour="{own.colour % 6}" '
            f'data-name="{escape(_clean(own.name))}">{lane.svg()}{_caption(own, first=place == 0)}</div>'
            for place, (own, lane) in enumerate(zip(row.lanes, lanes))
        ]
        body = f'<div class="scroll" tabindex="-1">{"".join(parts)}</div>'
        if len(rows) > 1:
            start = " open" if shown < _OPEN else ""
            words = [word for place, word in enumerate(row.words) if place not in row.special]
            text = escape(_clean(" ".join(words)))
            head = f'<summary><b>{number + 1}</b> <span dir="auto">{text}</span></summary>'
            body = f'<details class="turn" data-turn="{number}"{start}>{head}{body}</details>'
        shown += row.num_words
        blocks.append(body)
    hidden = "" if side == 0 else " hidden"
    return f'<div class="drawing" data-side="{side}"{hidden}>{"".join(blocks)}</div>'


def _caption(lane: Lane, first: bool) -> str:
    """The texts of a lane as a paragraph for narrow screens, which would cut them in the drawing."""
    text = "; ".join(filter(None, (lane_title(lane, first), lane.note)))
    return f'<p class="caption c{lane.colour % 6}" dir="ltr">{escape(_clean(text))}</p>'


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


@cache
def _asset(name: str) -> str:
    return files("graphdep.visualization").joinpath("page", name).read_text(encoding="utf-8")


def _clean(text: str) -> str:
    # UTF-8 has no surrogates.
    return text.encode("utf-8", "replace").decode("utf-8")


ENDINGS = (".html", ".svg", ".png", ".pdf")


class Explorer:
    """A page for the browser that shows an example: tree, sets of edges with explanations, attention of all
    layers and heads, and the model's answer; with two sides also their difference.

    The page is one file that needs no network. A notebook displays it in a sandboxed frame.
    :func:`graphdep.draw` makes a page of parses, :func:`graphdep.explore` of a trained model.

    Args:
        sides: One side, or two sides over the same words; nodes of only one side are left out.
        title: Title. (default: the words)
        about: A line below the title. (default: none)
        one_model: Whether two sides are of one model, so that single heads can be compared. Heads of models
            that were trained separately do not correspond; their means are compared. (default: :obj:`False`)

    Raises:
        ValueError: If there are not one or two sides, or two sides have no word in common.

    Example:
        >>> from graphdep import Sentence, draw
        >>> page = draw(Sentence(["She", "sings"], [2, 0], ["nsubj", "root"]), "dra")
        >>> page
        Explorer('She sings', 1 side, 3 nodes)
        >>> page.save("page.html").suffix, "<svg" in page.svg()
        ('.html', True)
    """

    def __init__(
        self, sides: Sequence[Side], *, title: str = "", about: str = "", one_model: bool = False
    ) -> None:
        check_between("sides", len(sides), 1, 2)
        self.sides = tuple(sides)
        self._keep = common_entries(self.sides)
        if not self._keep[0].numel():
            raise ValueError("'sides' have no word in common")
        words = zip(self.sides[0].nodes.names, self.sides[0].nodes.special)
        self.title = title or " ".join(word for word, special in words if not special)
        self.about = about
        self.one_model = one_model

    @cached_property
    def data(self) -> PageData:
        """The data of the page, as plain values."""
        first = self.sides[0]
        nodes = [
            PageNode(first.nodes.names[n], first.nodes.kinds[n], first.nodes.keys[n][1], place)
            for place, n in enumerate(self._keep[0].tolist())
        ]
        pieces = self._pieces()
        room = ROOM // len(self.sides)
        sides = [
            page_side(side, keep, pieces=bool(pieces), room=room)
            for side, keep in zip(self.sides, self._keep)
        ]
        utterances = 1 + max(node.utterance for node in nodes)
        rtl = runs_right_to_left([node.text for node in nodes if node.kind == "WORD"])
        return PageData(self.title, self.about, rtl, utterances, nodes, pieces, sides, self.one_model)

    def html(self) -> str:
        """The page as HTML, without external resources."""
        rows = [side_rows(self.data, number) for number in range(len(self.sides))]
        if len(self.sides) == 2:
            rows.append(difference_rows(self.data))
        return page_html(self.data, rows)

    def svg(self) -> str:
        """Tree and edges of a single side, or the difference of two sides, as one drawing."""
        return self._scene().svg()

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        figsize: tuple[float, float] | None = None,
        overwrite: bool = False,
        of: str = "",
    ) -> Path:
        """Writes the page (``.html``), or tree and edges as a picture (``.svg``, ``.png``, ``.pdf``),
        atomically, and returns the path. An unchanged file of the same is replaced.

        Args:
            path: The file.
            figsize: Width and height in inches that a picture just fits into; text below 5 points is logged.
                (default: as the tree needs)
            overwrite: Replace any other or changed file, too. (default: :obj:`False`)
            of: What makes two files the same. (default: title, the line below it, and names of sides and
                edges)

        Raises:
            ValueError: If the suffix is unknown, a page gets :obj:`figsize`, or a file would be replaced.
        """
        path = Path(path)
        kind = path.suffix.lower()
        if kind not in ENDINGS:
            raise ValueError(f"'path' must end in {', '.join(ENDINGS)} (got {os.fspath(path)!r})")
        if kind == ".html" and figsize is not None:
            raise ValueError(f"'figsize' is for pictures, not for .html (got {figsize})")
        if kind not in (".html", ".svg"):
            check_extra(f"a picture of this kind ({kind[1:]})", "train", "matplotlib")
        path.parent.mkdir(parents=True, exist_ok=True)
        if figsize is not None:
            self._scene().warn_small(str(path), figsize, plotted=kind != ".svg")
        of = of or str((self.title, self.about, [(side.name, *side.edges) for side in self.sides]))
        with drawing(path, of=of, overwrite=overwrite) as temporary:
            if kind in (".html", ".svg"):
                text = self.html() if kind == ".html" else self._scene().svg(figsize)
                Path(temporary).write_text(text, encoding="utf-8", newline="")
            else:
                from graphdep.visualization.plots import scene_figure

                scene_figure(self._scene(), figsize).savefig(temporary, format=kind[1:])
        return path

    @property
    def summary(self) -> str:
        """The size of the page in a few words."""
        words = sum(node.kind == "WORD" for node in self.data.nodes)
        layers = sum(shown.kind == "layer" for shown in self.data.sides[0].maps)
        return f"{plural(words, 'word')}, {plural(layers, 'layer')}, {plural(len(self.sides), 'side')}"

    def _repr_html_(self) -> str:
        height = 760 if self.sides[0].layers else 420
        style = "width:100%;border:1px solid #8884;border-radius:8px;background:#fff"
        frame = 'sandbox="allow-scripts allow-downloads" title="graphdep explorer"'
        return f'<iframe {frame} height="{height}" style="{style}" srcdoc="{escape(self.html())}"></iframe>'

    def __repr__(self) -> str:
        sides = plural(len(self.sides), "side")
        return f"{type(self).__name__}({self.title!r}, {sides}, {self._keep[0].numel()} nodes)"

    def _scene(self) -> Scene:
        rows: list[Row] = difference_rows(self.data) if len(self.sides) == 2 else side_rows(self.data, 0)
        return stacked([row_scene(row) for row in rows], gap=18, label=self.title)

    def _pieces(self) -> list[PageNode]:
        """The pieces, if words have several and all sides have the same pieces."""
        first = self.sides[0]
        same = all(
            [*side.pieces] == [*first.pieces] and torch.equal(side.nodes.entry, first.nodes.entry)
            for side in self.sides
        )
        if not first.pieces or not first.nodes.has_pieces or not same:
            return []
        place = {entry: number for number, entry in enumerate(self._keep[0].tolist())}
        return [
            PageNode(text, first.nodes.kinds[entry], first.nodes.keys[entry][1], place[entry])
            for text, entry in zip(first.pieces, first.nodes.entry.tolist())
        ]


Edges: TypeAlias = "str | BaseTransform | Sequence[str | BaseTransform] | Mapping[str, str | BaseTransform]"
"""Sets of edges: one, several, or a mapping from titles."""


def draw(
    parsed: Any,
    edges: Edges = (),
    *,
    against: str | BaseTransform | None = None,
    words: Sequence[Sequence[str]] | None = None,
    relations: RelationVocab | None = None,
    root: bool | None = None,
    title: str = "",
) -> Explorer:
    """Draws dependency trees and the edges of models on them; if all sentences have constituents, also these,
    as brackets below the words. A notebook displays the result; it can be saved as a page, ``.svg``, ``.png``
    or ``.pdf``.

    Args:
        parsed: A sentence, the utterances of a dialogue, any other input of :func:`graphdep.to_data`, or its
            ``Data`` without edges.
        edges: Sets of edges: a name for :func:`graphdep.transforms.resolve` or a transform, several of them,
            or a mapping from titles. (default: none)
        against: Comparison: ``"random"`` for the same edges on a random tree, or other edges. (default:
            :obj:`None`)
        words: The words of each utterance of a ``Data``. (default: their numbers)
        relations: The names of relations of a ``Data``. (default: a fresh :class:`~graphdep.RelationVocab`)
        root: Whether ROOT is a node; ignored for a ``Data``. (default: if there are edges)
        title: Title. (default: the words)

    Raises:
        TypeError: If :obj:`parsed` has another type.
        ValueError: If edges are unknown, there is nothing to compare, or the ``Data`` is a batch or has
            edges.

    Example:
        >>> from graphdep import Sentence, draw
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])
        >>> draw(sentence, ["dra", "sia"], title="She sings.").save("edges.svg").name
        'edges.svg'
        >>> draw(sentence, "dra", against="random")
        Explorer('She sings', 2 sides, 3 nodes)
    """
    named = _named(edges)
    other = {} if against in (None, "random") else _named(against)
    if against is not None and (not named or (other and len(named) + len(other) != 2)):
        raise ValueError(f"'against' needs one set of 'edges' to compare with (got {len(named)})")
    if isinstance(parsed, Data):
        _check_data(parsed)
        data, texts = parsed, _checked_words(words)
    else:
        sentences: list[Sentence] = as_sentences(parsed)
        texts = [sentence.form for sentence in sentences]
        check_page_words(sum(map(len, texts)), MAX_PAGE_WORDS if named else MAX_WORDS)
        relations = RelationVocab.learn(_labels(sentences), min_count=1) if relations is None else relations
        bracketed = all(sentence.constituents is not None for sentence in sentences)
        phrases = "spans" if bracketed else False
        root = bool(named) if root is None else root
        data = to_data(sentences, relations=relations, root=root, phrases=phrases)
    first = Side.of("the parse" if against == "random" else "edges", data, texts, named, relations=relations)
    if against is None:
        return Explorer([first], title=title)
    if against == "random":
        made = RandomTree()(RandomBrackets()(data) if "phrase_index" in data else data)
        sides = [first, Side.of("a random tree", made, texts, named, relations=relations)]
    else:
        pairs = [*named.items(), *other.items()]
        sides = [Side.of(name, data, texts, {name: made}, relations=relations) for name, made in pairs]
    return Explorer(sides, title=title)


def _named(edges: Edges) -> dict[str, BaseTransform]:
    if isinstance(edges, Mapping):
        return {str(name): resolve(value) for name, value in edges.items()}
    return named_edges([edges] if isinstance(edges, (str, BaseTransform)) else [*edges])


def named_edges(edges: Iterable[str | BaseTransform]) -> dict[str, BaseTransform]:
    """Sets of edges by the given name or that of the class; if it is taken, by ``repr`` or numbered name."""
    found: dict[str, BaseTransform] = {}
    for number, one in enumerate(edges, start=1):
        plain = one if isinstance(one, str) else type(one).__name__
        names = (plain,) if isinstance(one, str) else (plain, repr(one), f"{plain}, {number}")
        found[next((name for name in names if name not in found), plain)] = resolve(one)
    return found


def _checked_words(words: Sequence[Sequence[str]] | None) -> list[Sequence[str]]:
    texts = [] if words is None else [*words]
    for number, text in enumerate(texts):
        check_list(f"words[{number}]", text)
    return texts


def _check_data(data: Data) -> None:
    if isinstance(data, Batch):
        why = "is a batch: draw one example, batch[0]"
    elif "node_type" not in data:
        why = "has no node table: make it with graphdep.to_data()"
    elif "edge_index" in data or "clique" in data:
        why = "already has edges: give Data without edges, and the transform as 'edges'"
    else:
        return
    raise ValueError(f"'parsed' {why}")


def _labels(sentences: Sequence[Sentence]) -> list[str]:
    enhanced = [label for sentence in sentences for _, _, label in sentence.enhanced_arcs]
    return [label for sentence in sentences for label in sentence.deprel] + enhanced
