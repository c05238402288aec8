"""Dependency Relation Attention."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor

from graphdep.nn.attention import Adj
from graphdep.nn.conv.attention_conv import AttentionConv


class DRAConv(AttentionConv):
    r"""Dependency Relation Attention (DRA), from `"Modeling Compositionality with Dependency Graph for
    Dialogue Generation" <https://aclanthology.org/2022.suki-1.2/>`_ (Eq. 2-5); its first version was called
    "Incorporate Directed Dependency Relation Graph into Transformer Block for Multi-turn Dialogue
    Generation".

    .. math::
        \mathbf{O} = \big\Vert_{h=1}^{H} \mathrm{softmax} \left(
        \frac{\mathbf{Q}^h {\mathbf{K}^h}^{\top}}{\sqrt{d}} + \mathbf{M} \right) \mathbf{V}^h

    The mask :math:`\mathbf{M}` is the edge set: 0 on the edges that
    ``graphdep.transforms.resolve("dra")`` builds, :math:`-\infty` elsewhere. A word attends to its
    dependents and to itself, ROOT to every node of its utterance.

    Args:
        in_channels: Size of each input.
        out_channels: Size of each head's output.
        heads: Number of attention heads. (default: :obj:`1`)
        residual: Eq. 5 read literally: :math:`\mathbf{W}^{l+1} = \mathbf{W}^l + \mathbf{O}^l`, without output
            projection and normalisation. By default the layer returns :math:`\mathbf{O}`, and the surrounding
            Transformer block adds both, as in the paper's Figure 3. (default: :obj:`False`)
        **kwargs: ``concat``, ``dropout``, ``bias``, ``backend`` of :class:`AttentionConv`, which also lists
            the shapes.

    Raises:
        ValueError: If :obj:`residual` is set and input and output differ in size.

    Example:
        >>> import torch
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.nn.conv import DRAConv
        >>> from graphdep.transforms import resolve
        >>> data = resolve("dra")(to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])]))
        >>> DRAConv(8, 16, heads=2)(torch.randn(data.num_nodes, 8), data.edge_index).shape
        torch.Size([3, 32])
    """

    extra_options: ClassVar[dict[str, Any]] = {"residual": False}

    def __init__(
        self, in_channels: int, out_channels: int, heads: int = 1, *, residual: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(in_channels, out_channels, heads, **kwargs)
        size = heads * out_channels if self.concat else out_channels
        if residual and size != in_channels:
            raise ValueError(
                f"'residual' needs equal sizes of input and output (got {in_channels} and {size})"
            )
        self.residual = residual

    def forward(
        self,
        x: Tensor,
        edge_index: Adj,
        *,
        return_attention_weights: bool | None = None,
    ) -> Any:
        result = super().forward(x, edge_index, return_attention_weights=return_attention_weights)
        if not self.residual:
            return result
        return (x + result[0], result[1]) if return_attention_weights else x + result
