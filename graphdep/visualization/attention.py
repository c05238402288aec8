"""Heat maps of attention."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch_geometric.utils import to_dense_adj

from graphdep.visualization.picture import Picture
from graphdep.visualization.style import check_labels, label_matrix


def plot_attention(
    alpha: Tensor,
    labels: Sequence[str],
    *,
    edge_index: Tensor | None = None,
    titles: Sequence[str] | None = None,
    title: str = "",
) -> Figure:
    r"""Heat maps of attention weights, one a head: row :math:`i` shows where word :math:`i` looks.

    Args:
        alpha: Weights; with :obj:`edge_index` those of its edges, else matrices.
        labels: A word a node.
        edge_index: Edges, source -> target, that the weights belong to. (default: :obj:`None`)
        titles: Title of each map. (default: ``head 1``, ``head 2``, ...)
        title: Title of the whole. (default: none)

    Shapes:
        - alpha: :math:`(|\mathcal{E}|, H)` with :obj:`edge_index`, else :math:`(H, N, N)` or :math:`(N, N)`,
        [target,
          source]

    Raises:
        ValueError: If the sizes do not fit together.
    """
    maps = _dense(alpha.detach().float().cpu(), edge_index, len(labels))
    check_labels(labels, maps.size(-1))
    titles = titles or [f"head {head + 1}" for head in range(len(maps))]
    if len(titles) != len(maps):
        raise ValueError(f"'titles' has {len(titles)} entries for {len(maps)} maps")
    columns = 2 if len(maps) == 4 else min(3, len(maps))
    rows = math.ceil(len(maps) / columns)
    side = 1.4 + 0.32 * len(labels)
    figure = Picture(figsize=(columns * side + 0.6, rows * side + 0.7), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).flat
    cells = list(grid)
    for axes, weights, name in zip(cells, maps, titles):
        image = axes.imshow(weights.numpy(), cmap="Blues", vmin=0, vmax=max(float(maps.max()), 1e-6))
        label_matrix(axes, labels, name)
    for axes in cells[len(maps) :]:
        axes.set_visible(False)
    figure.colorbar(image, ax=cells, shrink=0.5, aspect=30, label="weight (a row sums to 1)")
    figure.suptitle(title, fontsize=12)
    return figure


def _dense(alpha: Tensor, edge_index: Tensor | None, num_nodes: int) -> Tensor:
    if edge_index is not None:
        if alpha.dim() != 2 or alpha.size(0) != edge_index.size(1):
            shapes = f"{[*alpha.shape]} and {[*edge_index.shape]}"
            raise ValueError(f"'alpha' must hold a row an edge of 'edge_index' (got shapes {shapes})")
        edge_index = edge_index.cpu()
        maps = [to_dense_adj(edge_index, edge_attr=head, max_num_nodes=num_nodes)[0].T for head in alpha.T]
        return torch.stack(maps)
    if alpha.dim() not in (2, 3) or alpha.size(-1) != alpha.size(-2):
        raise ValueError(f"'alpha' must be of shape [N, N] or [heads, N, N] (got {[*alpha.shape]})")
    return alpha.view(-1, *alpha.shape[-2:])
