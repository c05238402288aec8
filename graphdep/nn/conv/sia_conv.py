"""Syntax-Informed Attention."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.utils import cumsum

from graphdep.io.limits import check_choice
from graphdep.nn.attention import Adj, AttentionLayout
from graphdep.nn.attention.layout import refuse_clique
from graphdep.nn.conv.attention_conv import AttentionConv
from graphdep.transforms.edge_set import CLIQUES

MASKS = ("additive", "multiplicative")


class SIAConv(AttentionConv):
    r"""Syntax-Informed Attention (SIA), from `"Improving Retrieval-based Dialogue System via Syntax-Informed
    Attention" <https://arxiv.org/abs/2303.06605>`_ (Eq. 3-5).

    One self-attention layer over the pairs of ``graphdep.transforms.resolve("sia", max_sum=m)``; the paper
    stacks two of them on the hidden states of BERT's layer :math:`k`.

    .. math::
        \mathrm{additive:} \;\; \mathrm{softmax} \left( \frac{\mathbf{Q}\mathbf{K}^{\top}}{\sqrt{d}} +
        \log \mathbf{M} \right) \mathbf{V}, \qquad
        \mathrm{multiplicative:} \;\; \mathrm{softmax} \left(
        \frac{\mathbf{M} \cdot (\mathbf{Q}\mathbf{K}^{\top})}{\sqrt{d}} \right) \mathbf{V}

    Eq. 5 as printed multiplies by the mask: a masked pair gets score 0 and hence weight :math:`e^0`, so many
    masked pairs take nearly all weight. By default masked pairs get no weight.

    Args:
        in_channels: Size of each input.
        out_channels: Size of each head's output.
        heads: Number of attention heads. (default: :obj:`1`)
        mask: ``"additive"``, or ``"multiplicative"`` for Eq. 5 read literally, which needs
            ``AttentionLayout.of(data)`` for the nodes of each example and does not support cliques. (default:
            ``"additive"``)
        **kwargs: ``concat``, ``dropout``, ``bias``, ``backend`` of :class:`AttentionConv`, which also lists
            the shapes.

    Raises:
        ValueError: If :obj:`mask` is unknown, or if the multiplicative mask gets cliques or edges without a
            layout.

    Example:
        >>> import torch
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.nn.conv import SIAConv
        >>> from graphdep.transforms import resolve
        >>> data = resolve("sia")(to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])]))
        >>> SIAConv(8, 16, heads=2)(torch.randn(data.num_nodes, 8), data.edge_index).shape
        torch.Size([3, 32])
    """

    extra_options: ClassVar[dict[str, Any]] = {"mask": "additive"}

    def __init__(
        self, in_channels: int, out_channels: int, heads: int = 1, *, mask: str = "additive", **kwargs: Any
    ) -> None:
        super().__init__(in_channels, out_channels, heads, **kwargs)
        check_choice("mask", mask, MASKS)
        self.mask = mask
        if mask == "multiplicative":  # the mask needs each single pair
            self.reads = self.reads - {CLIQUES}

    def forward(
        self,
        x: Tensor,
        edge_index: Adj,
        *,
        return_attention_weights: bool | None = None,
    ) -> Any:
        layout = self.layout_of(x, edge_index)
        if self.mask == "additive":
            if self.explained is not None:  # an explainer can mask the pairs of a clique
                layout = layout.materialize()
            return self.attend(x, layout, return_attention_weights=return_attention_weights)
        if layout is not edge_index:
            raise ValueError(
                "mask='multiplicative' gives weight to all pairs of an example, and a bare 'edge_index' does "
                "not tell examples apart: pass AttentionLayout.of(data)"
            )
        refuse_clique(layout.clique, "mask='multiplicative' needs all pairs")
        if self.sends_messages:
            raise ValueError(
                "mask='multiplicative' attends to all pairs: its edges cannot be explained one by one"
            )
        every, in_mask = _complete(layout.edge_index, x.size(0), layout.ptr)
        scale = in_mask.to(x.dtype).unsqueeze(-1).expand(-1, self.heads)
        return self.attend(
            x,
            AttentionLayout(every, x.size(0)),
            score_scale=scale,
            return_attention_weights=return_attention_weights,
        )


@torch.compiler.disable(reason="mask='multiplicative': the number of pairs is data")
def _complete(edge_index: Tensor, num_nodes: int, ptr: Tensor | None) -> tuple[Tensor, Tensor]:
    """All pairs of each example, sorted by target, and whether each is an edge."""
    bounds = ptr if ptr is not None else torch.tensor([0, num_nodes], device=edge_index.device)
    example = torch.bucketize(edge_index.contiguous(), bounds[1:], right=True)
    if bool((example[0] != example[1]).any()):
        raise ValueError(
            "mask='multiplicative' needs edges within examples: an edge joins two examples of 'ptr'"
        )
    size = bounds.diff()
    size, start = size.repeat_interleave(size), bounds[:-1].repeat_interleave(size)
    target = torch.arange(num_nodes, device=edge_index.device).repeat_interleave(size)
    step = torch.arange(target.numel(), device=edge_index.device) - cumsum(size)[:-1].repeat_interleave(size)
    source = start.repeat_interleave(size) + step
    key = edge_index[1] * num_nodes + edge_index[0]
    return torch.stack([source, target]), torch.isin(target * num_nodes + source, key)
