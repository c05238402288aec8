"""A page that shows an example: its tree, its edges, and what a model attends to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from html import escape
from pathlib import Path

import torch

from graphdep.drawing import Row, row_scene
from graphdep.drawing.scene import Scene, stacked
from graphdep.drawing.text_width import runs_right_to_left
from graphdep.explorer.page_data import ROOM, PageData, PageNode, common_entries, page_side
from graphdep.explorer.page_html import page_html
from graphdep.explorer.side import Side
from graphdep.explorer.utterance_rows import difference_rows, side_rows
from graphdep.io import atomic_path
from graphdep.io.limits import plural

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

    def __init__(self, sides: Sequence[Side], *, title: str = "", about: str = "") -> None:
        if not 1 <= len(sides) <= 2:
            raise ValueError(f"'sides' must be one or two (got {len(sides)})")
        self.sides = tuple(sides)
        self._keep = common_entries(self.sides)
        if not self._keep[0].numel():
            raise ValueError("'sides' have no word in common")
        words = zip(self.sides[0].nodes.names, self.sides[0].nodes.special)
        self.title = title or " ".join(word for word, special in words if not special)
        self.about = about

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
        return PageData(self.title, self.about, rtl, utterances, nodes, pieces, sides)

    def html(self) -> str:
        """The page, one file that fetches nothing."""
        rows = [side_rows(self.data, number) for number in range(len(self.sides))]
        if len(self.sides) == 2:
            rows.append(difference_rows(self.data))
        return page_html(self.data, rows)

    def svg(self) -> str:
        """Tree and edges of the first side, or what differs between two, as one drawing."""
        return self._scene().svg()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page (``.html``), or tree and edges as a picture (``.svg``, ``.png``, ``.pdf``), whole
        or not at all, and returns where.

        Raises:
            ValueError: If the name has another ending.
        """
        path = Path(path)
        if path.suffix not in ENDINGS:
            raise ValueError(f"'path' must end in {', '.join(ENDINGS)} (got {os.fspath(path)!r})")
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(path) as temporary:
            if path.suffix in (".html", ".svg"):
                text = self.html() if path.suffix == ".html" else self.svg()
                Path(temporary).write_text(text, encoding="utf-8", newline="")
            else:
                from graphdep.visualization import scene_figure

                scene_figure(self._scene()).savefig(temporary, dpi=130, format=path.suffix[1:])
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
