"""Edges within a window of places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from graphdep.nn.attention import AttentionLayout, RelationVectors

# What the terms of a pair are that has none.
_NEUTRAL = {"attn_bias": 0.0, "score_scale": 1.0, "edge_key": 0.0, "edge_value": 0.0}


@dataclass(frozen=True)
class NearEdges:
    """Edges, and which of all pairs they are.

    Args:
        layout: The edges.
        kept: Of the pairs that they were taken from, which are there, ``[num_pairs]``; :obj:`None`: all, as
            they were.
    """

    layout: AttentionLayout
    kept: Tensor | None = None

    def terms(self, terms: Mapping[str, Any]) -> dict[str, Any]:
        """The terms of the edges that are there, of those of all explicit edges."""
        if self.kept is None:
            return dict(terms)
        return {name: self._of(value, _NEUTRAL[name]) for name, value in terms.items()}

    def _of(self, term: Tensor | RelationVectors | None, neutral: float) -> Tensor | None:
        if term is None:
            return None
        assert self.kept is not None
        x = term.expand() if isinstance(term, RelationVectors) else term
        extra = self.kept.numel() - x.size(0)  # pairs of cliques, which come behind the edges
        return torch.cat([x, x.new_full((extra, *x.shape[1:]), neutral)])[self.kept]


def near_edges(layout: AttentionLayout, position: Tensor, window: int) -> NearEdges:
    """The pairs whose places differ by less than the window, written out unless all do.

    Args:
        layout: The pairs, none of which joins two examples.
        position: Places of the nodes in their examples, ``[num_nodes]``.
        window: One more than the farthest place that is seen.
    """
    if position.numel() == 0 or int(position.max()) - int(position.min()) < window:
        return NearEdges(layout)
    source, target = layout.pairs
    kept = (position[source] - position[target]).abs() < window
    return NearEdges(AttentionLayout(layout.pairs[:, kept], layout.num_nodes, ptr=layout.ptr), kept)
