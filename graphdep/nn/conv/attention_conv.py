"""Multi-head attention over edges as a PyG layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.nn.conv import MessagePassing

from graphdep.io.limits import check_count, check_shape, check_share
from graphdep.nn.attention.dispatch import check_backend
from graphdep.nn.attention.edge_attention import edge_attention
from graphdep.nn.attention.layout import Adj, AttentionLayout, dense_edges, refuse_clique
from graphdep.nn.attention.relations import RelationVectors, check_typed
from graphdep.transforms.edge_set import CLIQUES


class MessageSender(MessagePassing):
    """Sends weighted values along edges, for PyG's explainers and hooks.

    Args:
        dropout: Probability to drop a weight in training. (default: :obj:`0.0`)
    """

    explained: Tensor | None = None
    """The edges ``[2, num_edges]`` of an explainer's mask, for layers that compute their own edges: each of
    these takes the mask of the same pair, and other edges are not masked."""
    _place: Tensor | None = None

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__(aggr="add", node_dim=0)
        self.dropout = dropout
        steps = ("propagate", "message", "aggregate")
        names = [f"_{step}_forward_{when}" for step in steps for when in ("pre_hooks", "hooks")]
        self._hooks_of_messages = tuple(getattr(self, name) for name in names)  # dicts of registered hooks

    def _set_jittable_templates(self, raise_on_error: bool = False) -> None:
        """Leaves `propagate` as it is. PyG would generate a module per class; it cannot parse the terms of
        our `propagate`, so it would fail after 20 ms in every layer of every model.
        """

    @property
    def sends_messages(self) -> bool:
        """Whether an explainer or a hook reads single messages."""
        return bool(self.explain) or any(self._hooks_of_messages)

    def check_messages(self, layout: AttentionLayout) -> None:
        """Raises :class:`ValueError` if pairs of a clique would have to send messages."""
        refuse_clique(layout.clique, "a clique has no edges to explain")

    def send(self, layout: AttentionLayout, value: Tensor, alpha: Tensor, **terms: Tensor | None) -> Tensor:
        r"""The sum of the weighted values sent to each node; ``terms`` go to :meth:`message`.

        Shapes:
            - value: :math:`(|\mathcal{V}|, H, d)`; alpha: :math:`(|\mathcal{E}|, H)`; output as value
        """
        self._place = None
        if self.explained is not None and not torch.equal(layout.edge_index, self.explained):
            if not self.explain:
                raise ValueError(
                    "this layer has edges of its own, whose messages are of other pairs than the data's: "
                    "take an explainer that masks edges, such as GNNExplainer"
                )
            self._place = _places(layout.edge_index, self.explained, layout.num_nodes)
        size = value.size(0), value.size(0)
        return self.propagate(layout.edge_index, value=value, alpha=alpha, size=size, **terms)

    def message(self, value_j: Tensor, alpha: Tensor) -> Tensor:
        weight = nn.functional.dropout(alpha, self.dropout, self.training)
        return value_j * weight.unsqueeze(-1).to(value_j.dtype)

    def explain_message(self, inputs: Tensor, dim_size: int | None) -> Tensor:
        mask = self._edge_mask
        if self._place is None or mask is None:
            return super().explain_message(inputs, dim_size)
        mask = mask.sigmoid() if self._apply_sigmoid else mask
        return inputs * torch.cat([mask, mask.new_ones(1)])[self._place].view(-1, 1, 1)


def _places(edge_index: Tensor, among: Tensor, num_nodes: int) -> Tensor:
    """The index of each edge in ``among``; the length of ``among`` for an edge that is not in it."""
    own, key = (edges[0] * num_nodes + edges[1] for edges in (edge_index, among))
    key, number = key.sort()
    found = torch.searchsorted(key, own).clamp(max=max(len(key) - 1, 0))
    missing = torch.full_like(own, len(key))
    return torch.where(key[found] == own, number[found], missing) if len(key) else missing


_NO_SCRIPT = "TorchScript is not supported: the number of edges is data. Use torch.compile"


class AttentionConv(MessageSender):
    r"""Multi-head scaled dot-product attention over edges, from `"Attention Is All You Need"
    <https://arxiv.org/abs/1706.03762>`_ (Eq. 1), without skip connection and output projection.

    .. math::
        \mathbf{x}'_i = \big\Vert_{h=1}^{H} \sum_{j \in \mathcal{N}(i)} \alpha^h_{ij} \mathbf{W}^h_v
        \mathbf{x}_j, \quad
        \alpha^h_{ij} = \mathrm{softmax}_j \left(
        \frac{(\mathbf{W}^h_q \mathbf{x}_i)^{\top} \mathbf{W}^h_k \mathbf{x}_j}{\sqrt{d}} \right)

    A node without an incoming edge gets zeros. For one example or a batch, call ``conv(x, data.edge_index)``.
    ``conv(x, AttentionLayout.of(data))`` gives the same result at less cost: all layers share the prepared
    pairs, and complete graphs that are built with ``implicit=True`` are never written out.

    With an explainer or registered hooks, messages are sent edge by edge through :meth:`message`; otherwise
    one call of :func:`~graphdep.nn.attention.edge_attention` gives the same result. ``torch.compile`` traces
    a conv over an ``AttentionLayout`` of explicit pairs as one graph (``fullgraph=True``); a plain
    :obj:`edge_index` and cliques break the graph. Not supported are
    TorchScript (``torch.jit``), ``torch.fx``, sparse adjacency matrices, bipartite graphs and lazy sizes
    (``in_channels=-1``); there is no ``aggr``, ``flow``, ``edge_attr`` or ``size``.

    Args:
        in_channels: Size of each input.
        out_channels: Size of each head's output.
        heads: Number of attention heads. (default: :obj:`1`)
        concat: Concatenate the heads; otherwise average them. (default: :obj:`True`)
        dropout: Probability to drop an attention weight in training. (default: :obj:`0.0`)
        bias: Whether the projections have a bias. (default: :obj:`True`)
        backend: Backend of :func:`~graphdep.nn.attention.edge_attention`. (default: ``"auto"``)

    Shapes:
        - x: :math:`(|\mathcal{V}|, C)`; edge_index: :math:`(2, |\mathcal{E}|)`, the target attends to the
          source, or an :class:`~graphdep.nn.attention.AttentionLayout`
        - output: :math:`(|\mathcal{V}|, H \cdot C')`, or :math:`(|\mathcal{V}|, C')` if not :obj:`concat`;
          with :obj:`return_attention_weights` also ``(pairs, alpha)``: :math:`(2, |\mathcal{P}|)`, the edges
          in their order and then the pairs of cliques, and their weights :math:`(|\mathcal{P}|, H)`

    Example:
        >>> import torch
        >>> from graphdep.nn.conv import AttentionConv
        >>> conv = AttentionConv(8, 16, heads=2)
        >>> edge_index = torch.tensor([[0, 1, 1], [1, 0, 1]])
        >>> out, (pairs, alpha) = conv(torch.randn(3, 8), edge_index, return_attention_weights=True)
        >>> out.shape, alpha.shape, bool((out[2] == 0).all())  # no edge leads to node 2
        (torch.Size([3, 32]), torch.Size([3, 2]), True)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        *,
        concat: bool = True,
        dropout: float = 0.0,
        bias: bool = True,
        backend: str = "auto",
    ) -> None:
        super().__init__(dropout)
        check_options(in_channels, out_channels, heads, dropout)
        self.in_channels, self.out_channels, self.heads = in_channels, out_channels, heads
        self.concat, self.bias, self.backend = concat, bias, check_backend(backend)
        self.lin_query = nn.Linear(in_channels, heads * out_channels, bias=bias)
        self.lin_key = nn.Linear(in_channels, heads * out_channels, bias=bias)
        self.lin_value = nn.Linear(in_channels, heads * out_channels, bias=bias)
        self.reset_parameters()

    takes_layout: ClassVar[bool] = True  # accepts an AttentionLayout as edge_index
    reads: frozenset[str] = frozenset({CLIQUES})
    """Kinds of edge information that the layer reads, beside the pairs."""
    extra_options: ClassVar[dict[str, Any]] = {}  # options of a subclass with defaults, for its repr

    def reset_parameters(self) -> None:
        super().reset_parameters()
        for lin in (self.lin_query, self.lin_key, self.lin_value):
            nn.init.xavier_uniform_(lin.weight)
            if lin.bias is not None:
                nn.init.zeros_(lin.bias)

    def forward(
        self,
        x: Tensor,
        edge_index: Adj,
        *,
        return_attention_weights: bool | None = None,
    ) -> Any:
        return self.attend(
            x, self.layout_of(x, edge_index), return_attention_weights=return_attention_weights
        )

    def attend(
        self,
        x: Tensor,
        layout: AttentionLayout,
        *,
        attn_bias: Tensor | None = None,
        score_scale: Tensor | None = None,
        edge_key: Tensor | RelationVectors | None = None,
        edge_value: Tensor | RelationVectors | None = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """Projects the states, attends with the score terms of the edges, and joins the heads."""
        query, key, value = self.project(x)
        weights: tuple[Tensor, Tensor] | None = None
        sends = self.sends_messages
        if sends:
            self.check_messages(layout)
        out = edge_attention(
            query,
            key,
            value,
            layout.edge_index,
            attn_bias=attn_bias,
            score_scale=score_scale,
            edge_key=edge_key,
            edge_value=edge_value,
            layout=layout,
            dropout_p=self.dropout if self.training and not sends else 0.0,
            return_attention_weights=bool(return_attention_weights) or sends,
            backend="reference" if sends else self.backend,
        )
        if isinstance(out, tuple):
            out, weights = out
        if sends and weights is not None:
            vectors = edge_value.expand() if isinstance(edge_value, RelationVectors) else edge_value
            terms = {} if vectors is None else {"edge_value": vectors}
            out = self.send(layout, value, weights[1], **terms)
        out = out.flatten(1) if self.concat else out.mean(dim=1)
        return (out, weights) if return_attention_weights else out

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, ``[num_nodes, heads, out_channels]`` each."""
        query, key, value = (
            lin(x).view(-1, self.heads, self.out_channels)
            for lin in (self.lin_query, self.lin_key, self.lin_value)
        )
        return query, key, value

    def layout_of(self, x: Tensor, edge_index: Adj) -> AttentionLayout:
        """Checks the input; returns the given layout, or a new layout of the given edges."""
        if torch.jit.is_tracing():  # type: ignore[attr-defined]
            raise ValueError(_NO_SCRIPT)
        if not isinstance(x, Tensor):
            raise ValueError(
                f"'x' must be one tensor: bipartite graphs are not supported (got {type(x).__name__})"
            )
        check_shape("x", x, "num_nodes", self.in_channels)
        if not isinstance(edge_index, AttentionLayout):
            return AttentionLayout(dense_edges(edge_index), x.size(0))
        check_shape("x", x, edge_index.num_nodes, self.in_channels)
        return edge_index

    def typed_layout(
        self, x: Tensor, edge_index: Adj, edge_type: Tensor | None
    ) -> tuple[AttentionLayout, Tensor]:
        """:meth:`layout_of`, and the types of its edges: ``edge_type``, or by default those of the layout."""
        layout = self.layout_of(x, edge_index)
        edge_type = layout.edge_type if edge_type is None else edge_type
        check_typed(edge_type, layout.edge_index)
        assert edge_type is not None
        return layout, edge_type

    def __prepare_scriptable__(self) -> nn.Module:
        raise ValueError(_NO_SCRIPT)

    def __repr__(self) -> str:
        options = {"concat": True, "dropout": 0.0, "bias": True, "backend": "auto", **self.extra_options}
        return conv_repr(self, options)


def conv_repr(conv: nn.Module, options: Mapping[str, Any]) -> str:
    """``Name(sizes, heads, options)`` with the options that differ from their defaults."""
    values = {name: getattr(conv, name) for name in options}
    shown = [f", {name}={value!r}" for name, value in values.items() if value != options[name]]
    sizes = f"{conv.in_channels}, {conv.out_channels}, heads={conv.heads}"
    return f"{type(conv).__name__}({sizes}{''.join(shown)})"


def check_options(in_channels: int, out_channels: int, heads: int, dropout: float) -> None:
    """Raises :class:`ValueError` if a size is below 1 or :obj:`dropout` is not a probability."""
    for name, size in (("in_channels", in_channels), ("out_channels", out_channels), ("heads", heads)):
        check_count(name, size, 1)
    if dropout is None or isinstance(dropout, bool):
        raise ValueError(f"'dropout' must be a number (got {dropout})")
    check_share("dropout", dropout)
