"""The messages of a pretrained layer, one by one."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from graphdep.nn.attention import AttentionLayout, RelationVectors, edge_attention
from graphdep.nn.conv._message_sender import MessageSender


class EdgeSender(MessageSender):
    r"""Attention of a pretrained layer as messages along edges, without dropout.

    Shapes:
        - query, key, value: :math:`(|\mathcal{V}|, H, d)`; output the same
    """

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        layout: AttentionLayout,
        *,
        edge_value: Tensor | RelationVectors | None = None,
        **terms: Any,
    ) -> Tensor:
        self.check_messages(layout)
        weighted: Any = edge_attention(
            query,
            key,
            value,
            layout.edge_index,
            **terms,
            layout=layout,
            return_attention_weights=True,
            backend="reference",
        )
        vectors = edge_value.expand() if isinstance(edge_value, RelationVectors) else edge_value
        return self.send(layout, value, weighted[1][1], edge_value=vectors)

    def message(  # type: ignore[override]
        self, value_j: Tensor, alpha: Tensor, edge_value: Tensor | None
    ) -> Tensor:
        value = value_j if edge_value is None else value_j + edge_value
        return value * alpha.unsqueeze(-1).to(value.dtype)
