"""Which word may attend to which, as a matrix."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from torch_geometric.data import Data

from graphdep.nn.attention import AttentionLayout
from graphdep.visualization.picture import Picture
from graphdep.visualization.style import COLOURS, PALE, check_labels, label_matrix
from graphdep.vocab import RelationVocab


def plot_edge_matrix(
    data: Data, labels: Sequence[str], *, relations: RelationVocab | None = None, title: str = ""
) -> Figure:
    """The edges of one example: row :math:`i` has a coloured cell where word :math:`i` attends.

    Where the edges have types, pairs without a relation are pale. With :obj:`relations`, cells show the
    edge's relation.

    Args:
        data: One example with edges.
        labels: A word a node.
        relations: Names of ``edge_type``, if the data has that. (default: :obj:`None`)
        title: Title. (default: none)

    Raises:
        ValueError: If the example has no edges or a wrong number of labels.
    """
    layout = AttentionLayout.of(data).materialize()
    check_labels(labels, data.num_nodes)
    source, target = layout.edge_index.cpu()
    types = torch.ones_like(source) if layout.edge_type is None else layout.edge_type.cpu()
    related = types != RelationVocab.NONE
    mask = torch.zeros(data.num_nodes, data.num_nodes)
    mask[target, source] = torch.where(related, 1.0 if bool(related.all()) else 2.0, 1.0)
    names = relations if layout.edge_type is not None else None
    side = 1.6 + (0.62 if names is not None else 0.34) * len(labels)
    figure = Picture(figsize=(side, side), layout="constrained")
    axes = figure.subplots()
    axes.imshow(
        mask.numpy(),
        cmap=ListedColormap(["#f4f4f4", COLOURS[0] if mask.max() < 2 else PALE, "#9ecae9"]),
        vmin=0,
        vmax=2,
    )
    if names is not None:
        pairs = torch.stack([source, target, types])[:, related]
        for s, t, kind in pairs.t().tolist():
            axes.text(s, t, names.label(kind), ha="center", va="center", fontsize=7)
    label_matrix(axes, labels, f"{title}\nrow: the word that attends; column: the word it sees")
    return figure
