"""Attention within constituents that the layer induces."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from graphdep.nn.attention.layout import TensorContainer
from graphdep.nn.conv.attention_conv import check_options, conv_repr


class ConstituentConv(nn.Module):
    r"""Self-attention weighted by the probability that two nodes are in one constituent, from `"Tree
    Transformer: Integrating Tree Structures into Self-Attention" <https://aclanthology.org/D19-1098/>`_.

    :meth:`links` computes, from normalised states, the probability :math:`a_i` that the neighbours :math:`i`
    and :math:`i + 1` belong together. Each node splits a probability of 1 between its two neighbours, a link
    combines the shares of both ends, and links of lower layers never weaken:

    .. math::
        (p_{i,i-1}, p_{i,i+1}) &= \mathrm{softmax}(s_{i,i-1}, s_{i,i+1}), \quad
        s_{i,j} = \frac{\tilde{\mathbf{q}}_i^{\top} \tilde{\mathbf{k}}_j}{C / 2} \\
        \hat{a}_i &= \sqrt{p_{i,i+1} \, p_{i+1,i}}, \quad
        a^l_i = a^{l-1}_i + (1 - a^{l-1}_i) \hat{a}^l_i

    Attention is then multiplied by the prior :math:`C_{ij}`, the product of the links between two nodes. As
    in the paper, the weights of a node no longer sum to 1:

    .. math::
        C_{ij} = \prod_{k = \min(i, j)}^{\max(i, j) - 1} a_k, \quad
        \mathbf{E} = \mathbf{C} \odot \mathrm{softmax} \left( \frac{\mathbf{Q} \mathbf{K}^{\top}}{\sqrt{d}}
        \right), \quad \mathbf{O} = \mathbf{E} \mathbf{V}

    A node has no link to itself, so :math:`C_{ii} = 1`; the authors' code starts there from nearly 0. They
    divide by 256 at :math:`C = 512`, which is :math:`C / 2`. Nodes are read in their order in the example;
    edges are not read.

    Args:
        in_channels: Size of each input.
        out_channels: Size of each head's output.
        heads: Number of attention heads. (default: :obj:`1`)
        dropout: Probability to drop an attention weight in training. (default: :obj:`0.0`)
        renormalize: Rescale the weights of each node to sum to 1. (default: :obj:`False`)

    Shapes:
        - x: :math:`(|\mathcal{V}|, C)`; link: :math:`(|\mathcal{V}|)`, between a node and the next one, 0 at
          the last node of an example; ptr: :math:`(B + 1)`
        - output: :math:`(|\mathcal{V}|, H \cdot C')`; with :obj:`return_attention_weights` also
          ``(pairs, alpha)``, all pairs of each example and their weights :math:`(|\mathcal{P}|, H)`

    Raises:
        ValueError: If a size is below 1 or :obj:`dropout` is not between 0 and 1.

    Example:
        >>> import torch
        >>> from graphdep.nn.conv import ConstituentConv
        >>> conv = ConstituentConv(8, 16, heads=2)
        >>> x, ptr = torch.randn(5, 8), torch.tensor([0, 2, 5])
        >>> link = conv.links(x, ptr)
        >>> conv(x, link, ptr).shape, link[[1, 4]].tolist()  # an example ends there
        (torch.Size([5, 32]), [0.0, 0.0])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        *,
        dropout: float = 0.0,
        renormalize: bool = False,
    ) -> None:
        super().__init__()
        check_options(in_channels, out_channels, heads, dropout)
        self.in_channels, self.out_channels, self.heads = in_channels, out_channels, heads
        self.dropout, self.renormalize = dropout, renormalize
        self.lin_query = nn.Linear(in_channels, heads * out_channels)
        self.lin_key = nn.Linear(in_channels, heads * out_channels)
        self.lin_value = nn.Linear(in_channels, heads * out_channels)
        self.lin_link_query = nn.Linear(in_channels, in_channels)
        self.lin_link_key = nn.Linear(in_channels, in_channels)
        self.norm_link = nn.LayerNorm(in_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for module in self.children():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        self.norm_link.reset_parameters()

    def links(self, x: Tensor, ptr: Tensor, below: Tensor | None = None) -> Tensor:
        """The probability that each node and the next one belong together.

        Args:
            x: Node states ``[num_nodes, in_channels]``.
            ptr: Example boundaries.
            below: Links of the layer below. (default: :obj:`None`, for the first layer)
        """
        if x.size(0) == 0:
            return x.sum(dim=-1)
        x = self.norm_link(x)
        query, key = self.lin_link_query(x), self.lin_link_key(x)
        scale = self.in_channels / 2
        right = F.pad((query[:-1] * key[1:]).sum(-1), (0, 1)) / scale
        left = F.pad((query[1:] * key[:-1]).sum(-1), (1, 0)) / scale
        batch = _example_of(x, ptr)
        other = batch[1:] != batch[:-1]  # the next node is in another example
        first, last = F.pad(other, (1, 0), value=True), F.pad(other, (0, 1), value=True)
        # A node with one neighbour gives that neighbour its whole share.
        to_right = F.logsigmoid(right - left).masked_fill(first, 0.0)
        to_left = F.logsigmoid(left - right).masked_fill(last, 0.0)
        link = ((to_right + to_left.roll(-1)) / 2).exp().masked_fill(last, 0.0)
        return link if below is None else below + (1 - below) * link

    def forward(
        self,
        x: Tensor,
        link: Tensor,
        ptr: Tensor,
        padding: Padding | None = None,
        *,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """``padding``: the padding of the examples, if it has been prepared."""
        if x.size(0) == 0:  # an empty batch cannot be padded
            out = self.lin_value(x)
            return (
                (out, (ptr.new_zeros(2, 0), out.new_zeros(0, self.heads)))
                if return_attention_weights
                else out
            )
        padding = Padding(ptr, x.size(0)) if padding is None else padding
        query, key, value = (
            self._split(lin(x), padding) for lin in (self.lin_query, self.lin_key, self.lin_value)
        )
        mask = padding.mask
        score = query @ key.mT / self.out_channels**0.5
        score = score.masked_fill(~mask[:, None, None], torch.finfo(score.dtype).min)
        alpha = score.softmax(dim=-1) * _prior(link, padding)[:, None]
        if self.renormalize:
            alpha = alpha / alpha.sum(dim=-1, keepdim=True)
        weight = F.dropout(alpha, self.dropout, self.training).to(value.dtype)
        out = (weight @ value).transpose(1, 2).flatten(0, 1).index_select(0, padding.slot).flatten(1)
        if not return_attention_weights:
            return out
        example, target, source = (mask[:, :, None] & mask[:, None]).nonzero().t()
        pairs = torch.stack([source, target]) + ptr[example]
        return out, (pairs, alpha[example, :, target, source])

    def _split(self, x: Tensor, padding: Padding) -> Tensor:
        """Pads the states and splits them into heads: ``[B, H, L, d]``."""
        dense = padding.padded(x)
        return dense.unflatten(-1, (self.heads, self.out_channels)).transpose(1, 2)

    def __repr__(self) -> str:
        return conv_repr(self, {"dropout": 0.0, "renormalize": False})


class Padding(TensorContainer):
    """The padded position of each node when examples are padded to the longest.

    Args:
        ptr: Example boundaries ``[num_examples + 1]``.
        num_nodes: Number of nodes.

    Attributes:
        slot: Index of each node in the padded batch, ``[num_nodes]``.
        mask: Whether each padded position is a node, ``[num_examples, longest]``.
    """

    def __init__(self, ptr: Tensor, num_nodes: int) -> None:
        sizes = ptr.diff()
        longest = int(sizes.max()) if sizes.numel() else 0
        example = torch.arange(sizes.numel(), device=ptr.device)
        example = example.repeat_interleave(sizes, output_size=num_nodes)
        self.slot = torch.arange(num_nodes, device=ptr.device) + (example * longest - ptr[example])
        self.mask = torch.arange(longest, device=ptr.device) < sizes[:, None]

    def padded(self, x: Tensor) -> Tensor:
        """Node states padded with zeros: ``[num_examples, longest, ...]``."""
        table = x.new_zeros(self.mask.numel(), *x.shape[1:])
        return table.index_copy(0, self.slot, x).unflatten(0, self.mask.shape)


def _example_of(x: Tensor, ptr: Tensor) -> Tensor:
    """The example of every node ``[num_nodes]``."""
    sizes = ptr.diff()
    number = torch.arange(sizes.numel(), device=x.device)
    return number.repeat_interleave(sizes, output_size=x.size(0))


def _prior(link: Tensor, padding: Padding) -> Tensor:
    r"""The products of the links between any two nodes, ``[B, L, L]``, by sums of logarithms."""
    log = padding.padded(link.float().clamp(min=1e-9).log())
    before = log.cumsum(dim=1) - log  # sum over all links before a node
    return (before[:, :, None] - before[:, None]).abs().neg().exp()
