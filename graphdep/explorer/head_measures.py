"""Numbers of heads: to whom their attention goes, and how much it is spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from graphdep.explorer.word_nodes import WordNodes


@dataclass(frozen=True)
class RelationRow:
    """The attention along the arcs of a relation: from each dependent to its governor, and back.

    Args:
        relation: Its name.
        count: How many arcs it has.
        up, down: Mean weights, by layer and head.
    """

    relation: str
    count: int
    up: list[list[float]]
    down: list[list[float]]


def partner_masks(nodes: WordNodes, edges: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Pairs of entries ``[target, source]`` that attention may go along, by what they have in common.

    Args:
        nodes: The words.
        edges: Matrices of sets of edges.
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
    r"""The attention that goes to some partners, on average over those words that have one.

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
    r"""Attention of a head that knows nothing: as much to each node that a node may attend to.

    .. math::
        u_{ij} = \frac{m_{ij}}{\sum_k m_{ik}}

    Args:
        allowed: Which pairs have weights.

    Shapes:
        - allowed: :math:`(N, N)`, bool; output: :math:`(1, N, N)`
    """
    return (allowed / allowed.sum(dim=1, keepdim=True).clamp(min=1))[None]


def entropies(alpha: Tensor, rows: Tensor) -> list[float]:
    r"""How much the words of each head spread their attention: 0 to one word alone, 1 to all alike.

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
