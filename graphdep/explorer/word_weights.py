"""Weights between nodes as weights between words, and what flows through layers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def join_pieces(alpha: Tensor, entry: Tensor, size: int) -> Tensor:
    r"""Weights between the pieces of words as weights between words: a word attends to what its pieces attend
    to on average, and is attended to as much as all of them together.

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
    r"""What of the first layer's nodes is in each node after every layer, from `"Quantifying Attention
    Flow in Transformers" <https://arxiv.org/abs/2005.00928>`_ (section 3).

    .. math::
        \tilde{A}_l = A_l \tilde{A}_{l-1}, \quad A_l = \tfrac{1}{2} (\bar{\alpha}_l + I)

    with :math:`\bar{\alpha}_l` the mean over heads; a node that attends to nothing keeps what it has.

    Args:
        means: The mean over the heads of each layer ``[N, N]``.
    """
    found: list[Tensor] = []
    for mean in means:
        step = half(mean)
        found.append(step if not found else step @ found[-1])
    return found


def arriving(means: Sequence[Tensor]) -> list[Tensor]:
    r"""How much of the state of each node after every layer reaches the last one, on average over its nodes:
    ``[N]`` a layer, which sums to 1.

    .. math::
        r_l = \tfrac{1}{N} \mathbf{1}^\top A_L \cdots A_{l+1}
    """
    size = means[-1].size(0)
    found = [means[-1].new_full((size,), 1.0 / size)]
    for mean in reversed(means[1:]):
        found.append(found[-1] @ half(mean))
    return found[::-1]


def half(mean: Tensor) -> Tensor:
    """Attention and the residual connection, half each; rows sum to 1."""
    total = mean.sum(dim=-1, keepdim=True)
    own = torch.eye(mean.size(0))
    mean = torch.where(total > 0, mean / total.clamp(min=1e-12), own)
    return (mean + own) / 2


def moved(alpha: Tensor, reaching: Tensor) -> Tensor:
    r"""The share of what reaches the last layer that each head has brought from another node.

    .. math::
        m_h = \frac{1}{2H} \sum_i r_i \sum_{j \neq i} \alpha^h_{ij}

    Args:
        alpha: The weights of a layer.
        reaching: What of each node reaches the last layer.

    Shapes:
        - alpha: :math:`(H, N, N)`; reaching: :math:`(N)`; output: :math:`(H)`
    """
    others = alpha.sum(dim=-1) - alpha.diagonal(dim1=1, dim2=2)
    return (others @ reaching) / (2 * alpha.size(0))
