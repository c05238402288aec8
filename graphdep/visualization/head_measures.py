"""Measures of attention heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from graphdep.io.limits import check_shape
from graphdep.visualization.side import Weights, WordNodes


def join_pieces(alpha: Tensor, entry: Tensor, size: int) -> Tensor:
    r"""Weights between words from weights between their pieces: averaged over the pieces that attend, summed
    over the pieces that are attended to.

    .. math::
        \bar{\alpha}_{uv} = \frac{1}{|u|} \sum_{i \in u} \sum_{j \in v} \alpha_{ij}

    Args:
        alpha: Weights of nodes.
        entry: The word of each node ``[N]``.
        size: The number of words.

    Shapes:
        - alpha: :math:`(H, N, N)`; output: :math:`(H, W, W)`
    """
    if entry.numel() == size:
        return alpha
    heads, nodes, _ = alpha.shape
    columns = alpha.new_zeros(heads, nodes, size).index_add_(2, entry, alpha)
    rows = alpha.new_zeros(heads, size, size).index_add_(1, entry, columns)
    return rows / entry.bincount(minlength=size).clamp(min=1)[:, None]


def rollout(means: Sequence[Tensor]) -> list[Tensor]:
    r"""Attention rollout: the share of each input node in each node after every layer, from `"Quantifying
    Attention Flow in Transformers" <https://arxiv.org/abs/2005.00928>`_ (section 3).

    .. math::
        \tilde{A}_l = A_l \tilde{A}_{l-1}, \quad A_l = \tfrac{1}{2} (\bar{\alpha}_l + I)

    with :math:`\bar{\alpha}_l` the mean over heads; a node that attends to nothing keeps its state.

    Args:
        means: The mean over the heads of each layer ``[N, N]``.
    """
    found: list[Tensor] = []
    for mean in means:
        step = half(mean)
        found.append(step if not found else step @ found[-1])
    return found


def arriving(means: Sequence[Tensor]) -> list[Tensor]:
    r"""The share of each node after every layer in the output of the last layer, on average over its nodes:
    ``[N]`` for each layer, with sum 1.

    .. math::
        r_l = \tfrac{1}{N} \mathbf{1}^\top A_L \cdots A_{l+1}
    """
    size = means[-1].size(0)
    found = [means[-1].new_full((size,), 1.0 / size)]
    for mean in reversed(means[1:]):
        found.append(found[-1] @ half(mean))
    return found[::-1]


def half(mean: Tensor) -> Tensor:
    """The mean of attention and residual connection; rows sum to 1."""
    total = mean.sum(dim=-1, keepdim=True)
    own = torch.eye(mean.size(0))
    mean = torch.where(total > 0, mean / total.clamp(min=1e-12), own)
    return (mean + own) / 2


def moved(alpha: Tensor, reaching: Tensor) -> Tensor:
    r"""The share of the last layer's output that each head has moved from another node.

    .. math::
        m_h = \frac{1}{2H} \sum_i r_i \sum_{j \neq i} \alpha^h_{ij}

    Args:
        alpha: The weights of a layer.
        reaching: The share of each node in the last layer's output (:func:`arriving`).

    Shapes:
        - alpha: :math:`(H, N, N)`; reaching: :math:`(N)`; output: :math:`(H)`
    """
    others = alpha.sum(dim=-1) - alpha.diagonal(dim1=1, dim2=2)
    return (others @ reaching) / (2 * alpha.size(0))


@dataclass(frozen=True)
class RelationRow:
    """The attention along the arcs of a relation.

    Args:
        relation: Name of the relation.
        count: Number of its arcs.
        up, down: Mean weights from dependent to governor, and from governor to dependent, by layer and head.
    """

    relation: str
    count: int
    up: list[list[float]]
    down: list[list[float]]


def partner_masks(nodes: WordNodes, edges: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Masks ``[target, source]`` of pairs of entries, by their relationship.

    Args:
        nodes: The words.
        edges: Masks of sets of edges.
    """
    size = nodes.size
    index = torch.arange(size)
    masks = {name: torch.zeros(size, size, dtype=torch.bool) for name in ("governor", "dependents")}
    for governor, dependent, _ in nodes.arcs:
        masks["governor"][dependent, governor] = masks["dependents"][governor, dependent] = True
    masks["itself"] = index[:, None] == index
    words = [number for number, special in enumerate(nodes.special) if not special]
    for name, earlier in (("previous word", True), ("next word", False)):
        mask = torch.zeros(size, size, dtype=torch.bool)
        for left, right in pairwise(words):
            if nodes.utterance[left] == nodes.utterance[right]:
                mask[(right, left) if earlier else (left, right)] = True
        masks[name] = mask
    special = torch.tensor(nodes.special)
    if bool(special.any()):
        masks["special nodes"] = special.expand(size, size).clone()
    utterance = torch.tensor(nodes.utterance)
    if int(utterance.max()) > 0:
        masks["other utterances"] = utterance[:, None] != utterance
    return masks | {f"edges of {name}": mask for name, mask in edges.items()}


def shares(alpha: Tensor, mask: Tensor, rows: Tensor) -> list[float]:
    r"""The attention to the partners in a mask, on average over the words that have partners.

    .. math::
        s_h = \frac{1}{|R|} \sum_{i \in R} \sum_{j : m_{ij}} \alpha^h_{ij}

    Args:
        alpha: Weights between words.
        mask: The partners of each word.
        rows: Which entries are words.

    Shapes:
        - alpha: :math:`(H, W, W)`; mask: :math:`(W, W)`, bool; rows: :math:`(W)`, bool
    """
    having = rows & mask.any(dim=1)
    if not bool(having.any()):
        return [0.0] * alpha.size(0)
    return (alpha[:, having] * mask[having]).sum(dim=(1, 2)).div(int(having.sum())).tolist()


def spread_evenly(allowed: Tensor) -> Tensor:
    r"""Uniform attention over the allowed nodes.

    .. math::
        u_{ij} = \frac{m_{ij}}{\sum_k m_{ik}}

    Args:
        allowed: Mask of pairs with weights.

    Shapes:
        - allowed: :math:`(N, N)`, bool; output: :math:`(1, N, N)`
    """
    return (allowed / allowed.sum(dim=1, keepdim=True).clamp(min=1))[None]


def entropies(alpha: Tensor, rows: Tensor) -> list[float]:
    r"""The mean normalised entropy of each head's attention: 0 for a single word, 1 for uniform attention.

    .. math::
        e_h = \frac{1}{|R|} \sum_{i \in R} \frac{-\sum_j \alpha^h_{ij} \ln \alpha^h_{ij}}{\ln W}
    """
    if alpha.size(-1) < 2 or not bool(rows.any()):
        return [0.0] * alpha.size(0)
    spread = -(alpha * alpha.clamp(min=1e-12).log()).sum(dim=-1)[:, rows]
    return (spread.mean(dim=1) / torch.tensor(float(alpha.size(-1))).log()).tolist()


def relation_rows(layers: list[Tensor], nodes: WordNodes) -> list[RelationRow]:
    """A row for each relation, the most frequent first.

    Args:
        layers: Weights between words ``[H, W, W]`` of each layer.
        nodes: The words.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    for governor, dependent, label in nodes.arcs:
        found.setdefault(label, []).append((governor, dependent))
    rows = []
    for label, arcs in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        governor, dependent = torch.tensor(arcs).t()
        up = [_rounded(alpha[:, dependent, governor].mean(dim=1).tolist()) for alpha in layers]
        down = [_rounded(alpha[:, governor, dependent].mean(dim=1).tolist()) for alpha in layers]
        rows.append(RelationRow(label, len(arcs), up, down))
    return rows


def _rounded(values: list[float]) -> list[float]:
    return [round(value, 5) for value in values]


def masks_of(masks: Mapping[str, Any], edge_index: Tensor) -> list[Weights]:
    r"""The absolute values of edge masks, in the form of layers.

    Args:
        masks: Edge masks by name: tensors, or PyG's ``Explanation`` with an ``edge_mask``.
        edge_index: The edges of tensors; explanations contain their own.

    Shapes:
        - masks: :math:`(|\mathcal{E}|)`
    """
    found: list[Weights] = []
    for name, given in masks.items():
        pairs, mask = edge_index, given
        if not isinstance(given, Tensor):
            mask = given.get("edge_mask")
            if mask is None:
                raise ValueError(f"'masks' has {name!r} without an 'edge_mask'")
            pairs = given.edge_index if "edge_index" in given else edge_index
        check_shape(name, mask, pairs.size(1))
        found.append((name, pairs, mask.detach().abs().view(-1, 1)))
    return found
