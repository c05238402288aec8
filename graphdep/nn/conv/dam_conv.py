"""Dependency-aware Attention Masking."""

from __future__ import annotations

from graphdep.nn.conv.attention_conv import AttentionConv


class DAMConv(AttentionConv):
    r"""Dependency-aware Attention Masking (DAM), from "Augmenting Transformers with Enhanced Dependency
    Structures by Treating Relations as New Words" by Chen, Li and Huang, National Cheng Kung University (Eq.
    1).

    .. math::
        \mathrm{softmax} \left( \frac{\mathbf{Q}\mathbf{K}^{\top}}{\sqrt{d}} + \log \mathbf{A} \right)
        \mathbf{V}

    The mask :math:`\mathbf{A}` is the edge set of ``graphdep.transforms.resolve("dam")``, with one relation
    node per arc. Words and special nodes see one another; a word and a relation node see each other if they
    are linked; [CLS] and relation nodes always see each other; of the relation nodes, each sees only itself.
    The edges, not this layer, decide which end of a link reads the other: ``RelationEdges(direction=...)``.

    Args:
        in_channels: Size of each input.
        out_channels: Size of each head's output.
        heads: Number of attention heads. (default: :obj:`1`)
        **kwargs: ``concat``, ``dropout``, ``bias``, ``backend`` of :class:`AttentionConv`, which also lists
            the shapes.

    Example:
        >>> import torch
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.nn.conv import DAMConv
        >>> from graphdep.transforms import resolve
        >>> data = resolve("dam")(to_data([Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])]))
        >>> DAMConv(8, 16, heads=2)(torch.randn(data.num_nodes, 8), data.edge_index).shape
        torch.Size([5, 32])
    """
