"""Linguistically-informed self-attention."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.io.limits import check_between, check_shape
from graphdep.nn.attention import Adj, AttentionLayout, edge_attention
from graphdep.nn.conv.attention_conv import AttentionConv
from graphdep.transforms.edge_set import MARKS


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

    All heads see the marked edges; only the plain heads see the others. ``resolve("lisa-complete")`` of
    :mod:`graphdep.transforms` builds all pairs and marks those of a word and its governor, and the self loop
    of a node without one: ``conv(x, data.edge_index, data.edge_mark)``. The paper uses one such layer.

    The paper trains its syntactic head to parse, and can replace its predictions by a given parse. Here the
    parse is always given, in training and in testing, and there is no parsing loss. With one governor per
    word, the weight of its only edge is 1, so queries and keys of the syntactic heads have no effect.

    Args:
        in_channels: Size of each input.
        out_channels: Size of each head's output.
        heads: Number of attention heads, at least 2. (default: :obj:`2`)
        syntactic_heads: Number of heads, the last ones, that see only marked edges. (default: :obj:`1`)
        **kwargs: ``concat``, ``dropout``, ``bias``, ``backend`` of :class:`AttentionConv`, which also lists
            the shapes.

    Shapes:
        - edge_mark: :math:`(|\mathcal{E}|)`, bool, by default the marks of the layout, or all explicit edges
          if it has cliques but no marks; other shapes as in :class:`AttentionConv`

    Raises:
        ValueError: If there is no syntactic head or no plain head, or no edge can be marked.

    Example:
        >>> import torch
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.nn.conv import LISAConv
        >>> from graphdep.transforms import resolve
        >>> data = resolve("lisa-complete")(to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])]))
        >>> LISAConv(8, 16)(torch.randn(data.num_nodes, 8), data.edge_index, data.edge_mark).shape
        torch.Size([3, 32])
    """

    reads = AttentionConv.reads | {MARKS}
    extra_options: ClassVar[dict[str, Any]] = {"syntactic_heads": 1}

    def __init__(
        self, in_channels: int, out_channels: int, heads: int = 2, *, syntactic_heads: int = 1, **kwargs: Any
    ) -> None:
        super().__init__(in_channels, out_channels, heads, **kwargs)
        check_between("syntactic_heads", syntactic_heads, 1, heads - 1)
        self.syntactic_heads = syntactic_heads

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        _ = AttentionLayout.of(data).marked

    def forward(
        self,
        x: Tensor,
        edge_index: Adj,
        edge_mark: Tensor | None = None,
        *,
        return_attention_weights: bool | None = None,
    ) -> Any:
        layout = self._marked(self.layout_of(x, edge_index), edge_mark)
        sends = self.sends_messages
        if sends:
            self.check_messages(layout)
        weights = bool(return_attention_weights) or sends
        query, key, value = self.project(x)
        plain = self.heads - self.syntactic_heads
        parts = [
            self._part(query[:, heads], key[:, heads], value[:, heads], pairs, weights, sends)
            for heads, pairs in ((slice(plain), layout), (slice(plain, None), layout.marked))
        ]
        out = torch.cat([part[0] for part in parts], dim=1)
        if not weights:
            return out.flatten(1) if self.concat else out.mean(dim=1)
        # Explicit edges come before the pairs of cliques.
        syntactic = parts[0][1].new_zeros(layout.pairs.size(1), self.syntactic_heads)
        alpha = torch.cat([parts[0][1], syntactic.index_copy(0, layout.marks, parts[1][1])], dim=1)
        if sends:
            out = self.send(layout, value, alpha)
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        return (out, (layout.pairs, alpha)) if return_attention_weights else out

    def _marked(self, layout: AttentionLayout, edge_mark: Tensor | None) -> AttentionLayout:
        """The layout with its marks, or with ``edge_mark``."""
        if edge_mark is not None:
            check_shape("edge_mark", edge_mark, layout.num_edges, dtype=torch.bool)
            return AttentionLayout(
                layout.edge_index,
                layout.num_nodes,
                clique=layout.clique,
                ptr=layout.ptr,
                edge_mark=edge_mark,
            )
        if layout.edge_mark is None and layout.clique is None:
            raise ValueError(
                "'edge_mark' is missing: it marks the edges of the syntactic heads; "
                "resolve('lisa-complete') writes it"
            )
        return layout

    def _part(
        self, query: Tensor, key: Tensor, value: Tensor, layout: AttentionLayout, weights: bool, sends: bool
    ) -> tuple[Tensor, Tensor]:
        """Output and weights of a group of heads; if not ``weights``, the output twice."""
        result: Any = edge_attention(
            query,
            key,
            value,
            layout.edge_index,
            layout=layout,
            dropout_p=self.dropout if self.training and not sends else 0.0,
            return_attention_weights=weights,
            backend="reference" if sends else self.backend,
        )
        return (result[0], result[1][1]) if weights else (result, result)
