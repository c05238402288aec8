"""Random graphs for attention over edges, of the shapes that kernels have trouble with."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def random_graph(
    sizes: Sequence[int],
    *,
    degree: float = 3.0,
    clique: bool = False,
    hub: bool = False,
    shuffled: bool = False,
    seed: int = 0,
) -> dict[str, Tensor | None]:
    """Edges within examples: ``edge_index``, ``clique`` and ``ptr`` of ``edge_attention``.

    Args:
        sizes: Nodes of each example.
        degree: Edges a node, on average; some have none.
        clique: Whether the nodes of an example see one another as well, but for every seventh of the batch.
        hub: Whether the first node of an example reads all, and the one in the middle is read by all.
        shuffled: Whether the edges stand in a random order; else they are sorted by target and source.
        seed: Of the random numbers.
    """
    generator = torch.Generator().manual_seed(seed)
    edges, start = [torch.zeros(2, 0, dtype=torch.long)], [0]
    for size in sizes:
        there = torch.rand(size, size, generator=generator) < degree / max(size, 1)
        if hub and size:
            there[0] = there[:, size // 2] = True
        edges.append(there.nonzero().t().flip(0) + start[-1])
        start.append(start[-1] + size)
    edge_index = torch.cat(edges, dim=1)
    if shuffled:
        edge_index = edge_index[:, torch.randperm(edge_index.size(1), generator=generator)]
    number = None
    if clique:
        number = torch.zeros(start[-1], dtype=torch.long)
        number[::7] = -1
    return {"edge_index": edge_index.contiguous(), "clique": number, "ptr": torch.tensor(start)}
