"""Linguistically-informed self-attention."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from graphdep.nn.attention import AttentionLayout, edge_attention
from graphdep.nn.conv.attention_conv import AttentionConv, check_layout


class LISAConv(AttentionConv):
    r"""Self-attention in which one head sees only the governor, from `"Linguistically-Informed Self-Attention
    for Semantic Role Labeling" <https://aclanthology.org/D18-1548/>`_ (LISA).

    .. math::
        \mathcal{N}^h(i) = \begin{cases}
            \{ j : j \text{ governs } i \} & h \text{ is a syntactic head} \\
            \text{all nodes} & \text{otherwise}
        \end{cases}, \quad
        \mathbf{x}'_i = \big\Vert_{h=1}^{H} \sum_{j \in \mathcal{N}^h(i)} \alpha^h_{ij} \mathbf{W}^h_v
        \mathbf{x}_j

    The data has both kinds of pairs: those of cliques, which only the plain heads see, and the edges, which
    all heads see. ``graphdep.transforms.resolve("lisa-complete")`` builds them: the edges are those to the
    governor, and a node without one has an edge to itself. The paper uses one such layer.

    The paper trains its syntactic head to parse, and may put a given parse in place of what it predicts. Here
    the parse is always given, in training and in testing, and there is no parsing loss. With one governor a
    word the weight of the only edge is 1, so that queries and keys of the syntactic heads do not matter.

    Args:
        in_channels: Size of each input.
        out_channels: Size of each head's output.
        heads: Number of attention heads, at least 2. (default: :obj:`2`)
        syntactic_heads: How many of them, the last ones, see only the edges. (default: :obj:`1`)
        **kwargs: ``concat``, ``dropout``, ``bias``, ``backend`` of :class:`AttentionConv`, where the shapes
            stand too.

    Raises:
        ValueError: If there is no syntactic head or no other, the data has no cliques, or an explainer or a
            hook wants messages, which the pairs of a clique do not send.
    """

    extra_options: ClassVar[dict[str, Any]] = {"syntactic_heads": 1}

    def __init__(
        self, in_channels: int, out_channels: int, heads: int = 2, *, syntactic_heads: int = 1, **kwargs: Any
    ) -> None:
        super().__init__(in_channels, out_channels, heads, **kwargs)
        if not 1 <= syntactic_heads < heads:
            raise ValueError(f"'syntactic_heads' must be between 1 and {heads - 1} (got {syntactic_heads})")
        self.syntactic_heads = syntactic_heads

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        *,
        clique: Tensor | None = None,
        ptr: Tensor | None = None,
        layout: AttentionLayout | None = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        edge_index = self._check(x, edge_index)
        layout = layout or AttentionLayout(edge_index, x.size(0), clique=clique, ptr=ptr)
        check_layout(layout, edge_index)
        if layout.group is None:
            raise ValueError(
                "'clique' is missing: the plain heads see cliques, which resolve('lisa-complete') gives"
            )
        if self.sends_messages:
            raise ValueError("LISAConv sends no messages: its plain heads see cliques, which have no edges")
        states = [
            lin(x).view(-1, self.heads, self.out_channels)
            for lin in (self.lin_query, self.lin_key, self.lin_value)
        ]
        plain = self.heads - self.syntactic_heads
        parts = [
            self._part([state[:, heads] for state in states], pairs, bool(return_attention_weights))
            for heads, pairs in (
                (slice(plain), layout),
                (slice(plain, None), AttentionLayout(edge_index, x.size(0))),
            )
        ]
        out = torch.cat([part[0] for part in parts], dim=1)
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        if not return_attention_weights:
            return out
        alpha, syntactic = parts[0][1], parts[1][1]  # the edges come first among all pairs
        syntactic = F.pad(syntactic, (0, 0, 0, alpha.size(0) - syntactic.size(0)))
        return out, (layout.pairs, torch.cat([alpha, syntactic], dim=1))

    def _part(self, states: list[Tensor], layout: AttentionLayout, weights: bool) -> tuple[Tensor, Tensor]:
        """Output and weights of some heads; without weights, the output twice."""
        query, key, value = states
        result: Any = edge_attention(
            query,
            key,
            value,
            layout.edge_index,
            layout=layout,
            dropout_p=self.dropout if self.training else 0.0,
            return_attention_weights=weights,
            backend=self.backend,
        )
        return (result[0], result[1][1]) if weights else (result, result)
