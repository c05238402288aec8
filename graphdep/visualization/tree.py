"""A dependency tree as arcs over its words, with edge sets under them."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure
from torch import Tensor

from graphdep.drawing import Lane, row_scene
from graphdep.drawing.sentence_row import sentence_row
from graphdep.io.limits import plural
from graphdep.sentence import Sentence
from graphdep.visualization.scene_figure import scene_figure


def plot_tree(
    sentence: Sentence, edges: Mapping[str, Tensor] | None = None, *, root: bool = True, title: str = ""
) -> Figure:
    """Arcs from governor to dependent above the words; below them edges from source to target, a colour a
    set. :func:`graphdep.draw` makes a page of them.

    Args:
        sentence: The tree.
        edges: Names of edge sets and their ``edge_index`` ``[2, num_edges]`` over the nodes of
            ``to_data([sentence], root=root)``; self loops are small circles. (default: none)
        root: Show the artificial ROOT as the first node. (default: :obj:`True`)
        title: Title. (default: none)

    Raises:
        ValueError: If an edge names a node that is not there.
    """
    size = len(sentence) + root
    lanes = []
    for number, (name, edge_index) in enumerate((edges or {}).items()):
        if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < size:
            raise ValueError(f"edges {name!r} name nodes outside 0..{size - 1}")
        pairs = tuple((int(source), int(target)) for source, target in edge_index.t())
        lanes.append(Lane(f"{name}: {plural(len(pairs), 'edge')}", pairs, number))
    return scene_figure(row_scene(sentence_row(sentence, tuple(lanes), root=root, title=title)))
