"""Which word may attend to which, as a matrix."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from torch_geometric.data import Data

from graphdep.visualization.style import COLOURS, PALE, check_labels, label_matrix
from graphdep.vocab import RelationVocab


def plot_edge_matrix(
    data: Data, labels: Sequence[str], *, relations: RelationVocab | None = None, title: str = ""
) -> Figure:
    """The edges of one example: row :math:`i` has a coloured cell where word :math:`i` attends.

    Pairs of a clique are coloured, too. With :obj:`relations`, cells show the edge's relation.

    Args:
        data: One example with edges.
        labels: A word a node.
        relations: Names of ``edge_type``. (default: :obj:`None`)
        title: Title. (default: none)

    Raises:
        ValueError: If the example has no edges or a wrong number of labels.
    """
    if data.edge_index is None:
        raise ValueError("the data has no 'edge_index': apply an edge constructor, e.g. resolve('dra')")
    check_labels(labels, data.num_nodes)
    mask = torch.zeros(data.num_nodes, data.num_nodes)
    if "clique" in data:
        mask[(data.clique[:, None] == data.clique) & (data.clique >= 0)[:, None]] = 1
    source, target = data.edge_index.cpu()
    mask[target, source] = 2 if "clique" in data else 1
    names = relations if "edge_type" in data else None
    side = 1.6 + (0.62 if names is not None else 0.34) * len(labels)
    figure = Figure(figsize=(side, side), layout="constrained")
    axes = figure.subplots()
    axes.imshow(
        mask.numpy(),
        cmap=ListedColormap(["#f4f4f4", COLOURS[0] if mask.max() < 2 else PALE, "#9ecae9"]),
        vmin=0,
        vmax=2,
    )
    if names is not None:
        for s, t, kind in zip(source.tolist(), target.tolist(), data.edge_type.tolist()):
            axes.text(s, t, names.label(kind), ha="center", va="center", fontsize=7)
    label_matrix(axes, labels, f"{title}\nrow: the word that attends; column: the word it sees")
    return figure
