"""What explainers say of edges, as weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from graphdep.explorer.side import Weights


def masks_of(masks: Mapping[str, Any], edge_index: Tensor) -> list[Weights]:
    r"""Masks of edges in the form of a layer: the size of each entry, by its edge.

    Args:
        masks: By name an ``Explanation`` of PyG's, which has an ``edge_mask``, or such a tensor.
        edge_index: The edges that tensors are of; an explanation brings its own.

    Shapes:
        - masks: :math:`(|\mathcal{E}|)`

    Raises:
        ValueError: If an explanation has no mask of edges, or a mask has another number of entries.
    """
    found: list[Weights] = []
    for name, given in masks.items():
        pairs, mask = edge_index, given
        if not isinstance(given, Tensor):
            mask = given.get("edge_mask")
            if mask is None:
                raise ValueError(f"'masks' has {name!r}, which has no 'edge_mask'")
            pairs = given.edge_index if "edge_index" in given else edge_index
        if mask.shape != (pairs.size(1),):
            raise ValueError(f"'masks' has {name!r} with shape {[*mask.shape]} for {pairs.size(1)} edges")
        found.append((name, pairs, mask.detach().abs().view(-1, 1)))
    return found
