"""Syntax-Informed Attention around any encoder."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset
from torch_geometric.transforms import BaseTransform

from graphdep.nn._layout import own_layout
from graphdep.nn.conv import SIAConv
from graphdep.nn.dropout import Dropout
from graphdep.nn.models.text_encoder import TextEncoder
from graphdep.transforms import preset_options, resolve

BLOCKS = ("attention", "bert")


class SIA(TextEncoder):
    r"""Syntax-Informed Attention around an encoder, from `"Improving Retrieval-based Dialogue System via
    Syntax-Informed Attention" <https://arxiv.org/abs/2303.06605>`_ (Eq. 6).

    .. math::
        \mathbf{H}' = \mathbf{H} + \mathbf{H}^{\mathrm{SIA}}, \quad
        \mathbf{H}^{\mathrm{SIA}} = \mathrm{SIAConv}_2(\mathrm{SIAConv}_1(\mathbf{H}^{(k)}))

    where :math:`\mathbf{H}^{(k)}` is the output of the encoder's :math:`k`-th block and :math:`\mathbf{H}`
    that of its last. The new layers attend over edges of their own, which are derived once a forward pass
    from the trees of the data; the encoder keeps to the edges of the data. For Table 2's rows take
    ``edges="transformer"`` (vanilla attention), ``"sia-intra"``, ``"sia-inter"`` or ``"sia"``; for a control
    without syntax a ``Compose`` of a tree transform and ``resolve("sia")``.

    The paper says no more of the new layers than "two stacked multi-head self-attention layers" and Eq. 5. So
    ``block="attention"`` is Eq. 5 and nothing else: no skip, output projection or norm. ``block="bert"``
    makes of each the attention part of a BERT block,
    :math:`\mathrm{LN}(\mathbf{x} + \mathbf{W}_o \, \mathrm{SIAConv}(\mathbf{x}))`. New weights are drawn as
    BERT's are (normal, standard deviation 0.02; biases 0). Untrained layers then change little with
    ``"attention"``: on a pretrained MiniLM :math:`\mathbf{H}^{\mathrm{SIA}}` is 0.13 times as long as
    :math:`\mathbf{H}`. With ``"bert"``, whose norm sets the length, it is 3 times as long.

    Args:
        encoder: Gives node states, with ``return_layers=True`` those of all layers too; has
            :attr:`hidden_channels`, :attr:`num_layers`, :attr:`heads`.
        layer: :math:`k`, counted from 1; 0 are the embeddings. (default: the middle, so the paper's 6 of 12)
        max_sum: :math:`m` of Eq. 4, of presets that have it; the paper does not say which it takes.
            (default: :obj:`4` with such a preset)
        edges: Edges of the new layers: the name of a preset or a transform, which keeps the nodes.
            (default: ``"sia"``)
        sia_layers: Number of new layers. (default: :obj:`2`)
        heads: Their attention heads. (default: those of the encoder)
        mask: ``"additive"``, or ``"multiplicative"`` for Eq. 5 read literally, see
            :class:`~graphdep.nn.conv.SIAConv`. (default: ``"additive"``)
        block: ``"attention"`` or ``"bert"``. (default: ``"attention"``)
        dropout: Dropout probability of attention weights, and of the output projection. (default: :obj:`0.1`)

    Attributes:
        num_layers: Number of the encoder's layers.

    Shapes:
        - data: a :class:`~torch_geometric.data.Data` or batch that the encoder takes; output
          :math:`(|\mathcal{V}|, C)`; with :obj:`return_layers` also the states of the encoder's layers, the
          last one replaced by the output

    Raises:
        ValueError: If :obj:`encoder` lacks an attribute, an option is none of those, :obj:`heads` does not
            divide the channels, :obj:`max_sum` is given with edges that have none, or the edges change the
            nodes or join two examples.

    Example:
        >>> from graphdep.nn.models import SIA
        >>> from graphdep.nn.pretrained import load_encoder
        >>> encoder = load_encoder("bert-base-uncased")
        >>> model = SIA(encoder, max_sum=4)
        >>> data = encoder.to_data([("Who sings ?", "She does .")])
        >>> model(data).shape == (data.num_nodes, encoder.hidden_channels)
        True
    """

    def __init__(
        self,
        encoder: nn.Module,
        *,
        layer: int | None = None,
        max_sum: int | None = None,
        edges: str | BaseTransform = "sia",
        sia_layers: int = 2,
        heads: int | None = None,
        mask: str = "additive",
        block: str = "attention",
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        depth, size = _attribute(encoder, "num_layers"), _attribute(encoder, "hidden_channels")
        heads = _attribute(encoder, "heads") if heads is None else heads
        layer = max(depth // 2, 1) if layer is None else layer
        if not 0 <= layer <= depth:
            raise ValueError(f"'layer' must be between 0 and the encoder's {depth} layers (got {layer})")
        if sia_layers < 1:
            raise ValueError(f"'sia_layers' must be at least 1 (got {sia_layers})")
        if heads < 1 or size % heads:
            raise ValueError(f"'heads' ({heads}) must divide the encoder's 'hidden_channels' ({size})")
        if block not in BLOCKS:
            raise ValueError(f"'block' must be one of {', '.join(BLOCKS)} (got {block!r})")
        self.encoder, self.layer, self.heads = encoder, layer, heads
        self.hidden_channels, self.num_layers = size, depth
        self.edges = _resolve(edges, max_sum, implicit=mask != "multiplicative")
        convs = (SIAConv(size, size // heads, heads, mask=mask, dropout=dropout) for _ in range(sia_layers))
        self.layers = nn.ModuleList(_BertBlock(conv, dropout) if block == "bert" else conv for conv in convs)
        self._reset_layers()  # the encoder comes with its weights

    def reset_parameters(self) -> None:
        """Draws everything anew, added relations and terms too; pretrained weights stay."""
        reset(self.encoder)
        self._reset_layers()

    def _reset_layers(self) -> None:
        for module in self.layers.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.02)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.LayerNorm):
                module.reset_parameters()

    def add_marks(self, number: int) -> SIA:
        """As :meth:`TextEncoder.add_marks`, of the encoder."""
        self.encoder.add_marks(number)  # type: ignore[operator]
        return self

    def readout(self, data: Data, x: Tensor) -> Tensor:
        """As the encoder's: of a pretrained one the states of [CLS], else of the ROOT nodes."""
        return self.encoder.readout(data, x)  # type: ignore[operator]

    def forward(self, data: Data, return_layers: bool = False) -> Tensor | tuple[Tensor, list[Tensor]]:
        x, layers = self.encoder(data, return_layers=True)
        layout = own_layout(data, self.edges)
        state = layers[self.layer]
        for layer in self.layers:
            state = layer(state, layout)
        x = x + state
        return (x, [*layers[:-1], x]) if return_layers else x

    @torch.no_grad()
    def attention(self, data: Data) -> list[tuple[Tensor, Tensor]]:
        """Per new layer the pairs ``[2, num_pairs]``, source -> target, and their weights
        ``[num_pairs, heads]``, in evaluation mode.
        """
        training = self.training
        self.eval()
        try:
            state = self.encoder(data, return_layers=True)[1][self.layer]
            layout, weights = own_layout(data, self.edges), []
            for layer in self.layers:
                state, alpha = layer(state, layout, return_attention_weights=True)
                weights.append(alpha)
        finally:
            self.train(training)
        return weights

    def extra_repr(self) -> str:
        return f"layer={self.layer}, edges={self.edges!r}"


class _BertBlock(nn.Module):
    """The attention part of a BERT block."""

    def __init__(self, conv: SIAConv, dropout: float) -> None:
        super().__init__()
        size = conv.in_channels
        self.conv, self.lin_out = conv, nn.Linear(size, size)
        self.norm, self.dropout = nn.LayerNorm(size, eps=1e-12), Dropout(dropout)

    def forward(self, x: Tensor, *args: Any, return_attention_weights: bool = False, **kwargs: Any) -> Any:
        out = self.conv(x, *args, return_attention_weights=return_attention_weights, **kwargs)
        out, weights = out if return_attention_weights else (out, None)
        out = self.norm(x + self.dropout(self.lin_out(out)))
        return (out, weights) if return_attention_weights else out


def _attribute(encoder: nn.Module, name: str) -> int:
    if not hasattr(encoder, name):
        raise ValueError(f"'encoder' ({type(encoder).__name__}) has no {name!r}: SIA reads one of its layers")
    return getattr(encoder, name)


def _resolve(edges: str | BaseTransform, max_sum: int | None, implicit: bool) -> BaseTransform:
    """A preset with those of the options that it has, or a transform as it is."""
    known = preset_options(edges) if isinstance(edges, str) else ()
    options: dict[str, Any] = {"implicit": implicit} if isinstance(edges, str) else {}
    if max_sum is not None:
        options["max_sum"] = max_sum
        if "max_sum" not in known:
            raise ValueError(
                f"'max_sum' is given ({max_sum}), but 'edges' does not take it (got "
                f"{repr(edges) if isinstance(edges, str) else type(edges).__name__})"
            )
    return resolve(edges, **options)
