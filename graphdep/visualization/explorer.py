"""Pages that show an example: tree, edges, attention and answers."""

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
    """What one side alone has, where that is any edge, and what both have."""
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
        if matrix.any() or any(edges.alone)  # of any utterance: each has the same lanes
    ]
    return [*own, both]


def _plain(name: str, matrix: Tensor, alone: int, colour: int, places: _Places, chip: str) -> Lane:
    pairs = places.pairs(matrix)
    title = places.title(name, len(pairs), places.outside(matrix) + alone)
    size = len(places.entries)
    if size > 2 and sum(source != target for source, target in pairs) == size * (size - 1):
        return Lane(title, (), colour, "every one of them attends to every other", chip)
    if len(pairs) > _MOST:
        return Lane(title, (), colour, "too many to draw: choose a word", chip)
    return Lane(title, tuple(pairs), colour, name=chip)


# What HTML or JavaScript could take for markup or for the end of a line inside a script.
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_OPEN = 260  # words that are shown unfolded


def page_html(page: PageData, rows: Sequence[Sequence[Row]]) -> str:
    """The page.

    Args:
        page: What it holds.
        rows: The rows of each side, and of the difference between two.
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
    # One pass over the template: what stands in a title is not looked at again.
    pieces = _asset("explorer.html").split("%%")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _drawings(side: int, rows: Sequence[Row]) -> str:
    """The rows of one side; of several utterances each can be folded."""
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
    """What is said below a lane, as a paragraph for narrow screens, on which it would be cut."""
    text = "; ".join(filter(None, (lane_title(lane, first), lane.note)))
    return f'<p class="caption c{lane.colour % 6}" dir="ltr">{escape(_clean(text))}</p>'


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


@cache
def _asset(name: str) -> str:
    return files("graphdep.visualization").joinpath("page", name).read_text(encoding="utf-8")


def _clean(text: str) -> str:
    # Half a character of UTF-16 is none of UTF-8.
    return text.encode("utf-8", "replace").decode("utf-8")


ENDINGS = (".html", ".svg", ".png", ".pdf")


class Explorer:
    """A page that shows an example in a browser: the tree, sets of edges and what made each of them; the
    attention of all layers and heads; what the model says. With two sides it shows what differs.

    The page is one file that needs no network. In a notebook it shows itself, in a frame that is kept apart
    from the notebook. :func:`graphdep.draw` makes one of parses, :func:`graphdep.explore` of a trained model.

    Args:
        sides: One side, or two over the same words; what one of them alone has is left out.
        title: What stands on top. (default: the words)
        about: A line below it. (default: none)
        one_model: Two sides are of one model, whose heads are compared one by one; of two that were trained
            apart, whose heads have no order in common, the means are. (default: :obj:`False`)

    Raises:
        ValueError: If there is no side or more than two, or two have no word in common.

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
        """All that the page shows, as plain values."""
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
        """The page, one file that fetches nothing."""
        rows = [side_rows(self.data, number) for number in range(len(self.sides))]
        if len(self.sides) == 2:
            rows.append(difference_rows(self.data))
        return page_html(self.data, rows)

    def svg(self) -> str:
        """Tree and edges of the first side, or what differs between two, as one drawing."""
        return self._scene().svg()

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Writes the page (``.html``), or tree and edges as a picture (``.svg``, ``.png``, ``.pdf``), whole
        or not at all, and returns where. A page or picture that was written so is replaced.

        Args:
            path: The file.
            overwrite: Replace another file, too, or one that was changed since. (default: :obj:`False`)

        Raises:
            ValueError: If the name has another ending, or another file would be replaced.
        """
        path = Path(path)
        kind = path.suffix.lower()
        if kind not in ENDINGS:
            raise ValueError(f"'path' must end in {', '.join(ENDINGS)} (got {os.fspath(path)!r})")
        if kind not in (".html", ".svg"):
            check_extra(f"a picture of this kind ({kind[1:]})", "train", "matplotlib")
        path.parent.mkdir(parents=True, exist_ok=True)
        with drawing(path, overwrite=overwrite) as temporary:
            if kind in (".html", ".svg"):
                text = self.html() if kind == ".html" else self.svg()
                Path(temporary).write_text(text, encoding="utf-8", newline="")
            else:
                from graphdep.visualization.plots import scene_figure

                scene_figure(self._scene()).savefig(temporary, dpi=130, format=kind[1:])
        return path

    @property
    def summary(self) -> str:
        """What is on the page, in a few words."""
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
        """The nodes, where words have several and all sides the same ones."""
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
"""Sets of edges: one, several, or by title."""


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
    """Draws trees, and the edges that a model would have on them; of sentences that all have constituents,
    those as brackets below the words. What it gives shows itself in a notebook, and is saved as a page,
    ``.svg``, ``.png`` or ``.pdf``.

    PyG's ``Data`` stays as it is, without a method of ours: ``draw(data)`` is its picture.

    Args:
        parsed: A sentence, several as the utterances of a dialogue, whatever :func:`graphdep.to_data` takes,
            or a ``Data`` of it without edges.
        edges: Sets of edges: a name of :func:`graphdep.transforms.resolve` or a transform, several of them,
            or a mapping from titles. (default: none)
        against: What to compare them with: ``"random"`` for the same edges on a random tree, or other edges.
            (default: :obj:`None`)
        words: Of a ``Data`` the words of each utterance. (default: their numbers)
        relations: Of a ``Data`` the names of relations. (default: a fresh :class:`~graphdep.RelationVocab`)
        root: Whether ROOT is a node; of a ``Data`` it is what it is. (default: if there are edges)
        title: What stands on top. (default: the words)

    Raises:
        TypeError: If :obj:`parsed` is nothing of this kind.
        ValueError: If edges are not known, there is nothing to compare, or the ``Data`` is a batch or has
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
        raise ValueError(f"'against' compares one set of 'edges' with another (got {len(named)})")
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
    """Sets of edges by a name for each: its own or that of its class; where another has that, all that it is
    made of, or its number too.
    """
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
        why = "is a batch: draw one of its examples, batch[0]"
    elif "node_type" not in data:
        why = "has no node table: graphdep.to_data() writes one"
    elif "edge_index" in data or "clique" in data:
        why = "has edges already: give the Data without, and the transform as 'edges'"
    else:
        return
    raise ValueError(f"'parsed' {why}")


def _labels(sentences: Sequence[Sentence]) -> list[str]:
    enhanced = [label for sentence in sentences for _, _, label in sentence.enhanced_arcs]
    return [label for sentence in sentences for label in sentence.deprel] + enhanced
