"""The attention of all layers and heads between the words of an example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn.functional import one_hot

from graphdep.visualization.attention import plot_attention


@dataclass(frozen=True, eq=False)
class AttentionMap:
    r"""What each word attends to, layer by layer and head by head.

    Special nodes are entries beside the words, with names in brackets: ``[ROOT]``, ``[CLS]``, ``[SEP]``,
    ``[EOU]``, for a relation node its label, such as ``[nsubj]``, and ``[EMPTY]`` for a node of an enhanced
    graph that is no word.

    Args:
        words: The words, and the names of special nodes, in the order of the nodes.
        special: Which of them are special nodes.
        layers: Names of the layers.
        alpha: The weights. A row sums to 1, except for a node that attends to nothing, and for
            :class:`~graphdep.nn.conv.ConstituentConv`, whose published weights sum to less.

    Shapes:
        - alpha: :math:`(L, H, W, W)`, [layer, head, who attends, to whom]

    Example:
        >>> import torch
        >>> from graphdep.visualization import AttentionMap
        >>> alpha = torch.tensor([[[[0.5, 0.5, 0.0], [0.2, 0.6, 0.2], [0.5, 0.0, 0.5]]]])  # a layer, a head
        >>> shown = AttentionMap(["[CLS]", "It", "rains"], [True, False, False], ["layer 1"], alpha)
        >>> shown.without_special().words, shown.without_special().alpha[0, 0]
        (['It', 'rains'], tensor([[0.7500, 0.2500],
                [0.0000, 1.0000]]))
    """

    words: list[str]
    special: list[bool]
    layers: list[str]
    alpha: Tensor

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        special: Sequence[bool],
        word: Tensor,
        layers: Sequence[tuple[str, Tensor, Tensor]],
    ) -> AttentionMap:
        r"""Joins nodes to words.

        A word of several pieces attends to what they attend to on average, and is attended to as much as all
        of them together:

        .. math::
            \bar{\alpha}_{uv} = \frac{1}{|u|} \sum_{i \in u} \sum_{j \in v} \alpha_{ij}

        Args:
            words, special: As in the class.
            word: The entry of each node ``[num_nodes]``.
            layers: Name, pairs ``[2, num_pairs]`` (source -> target) and weights ``[num_pairs, heads]`` of
                each.

        Raises:
            ValueError: If the layers have different numbers of heads.
        """
        heads = sorted({alpha.size(1) for _, _, alpha in layers})
        if len(heads) != 1:
            raise ValueError(f"the layers have different numbers of heads: {heads}")
        member = one_hot(word.cpu(), len(words)).float()
        mean = member / member.sum(dim=0)
        matrices = []
        every = torch.arange(heads[0])[:, None]
        for _, pairs, alpha in layers:
            source, target = pairs.cpu()
            nodes = torch.zeros(heads[0], len(member), len(member))
            nodes.index_put_((every, target, source), alpha.T.float().cpu(), accumulate=True)
            matrices.append(mean.T @ nodes @ member)
        return cls([*words], [*special], [name for name, *_ in layers], torch.stack(matrices))

    @property
    def heads(self) -> int:
        return self.alpha.size(1)

    def without_special(self) -> AttentionMap:
        """The words alone. What goes to special nodes is left out, of a pretrained encoder the most of it,
        and each row is scaled to sum to 1, where anything is left of it.
        """
        kept = torch.tensor([place for place, special in enumerate(self.special) if not special])
        alpha = self.alpha[..., kept[:, None], kept]
        total = alpha.sum(dim=-1, keepdim=True)
        words = [self.words[place] for place in kept.tolist()]
        alpha = alpha / total.where(total > 0, 1.0)
        return AttentionMap(words, [False] * len(words), self.layers, alpha)

    def plot(self, layer: int | None = None, *, title: str = "") -> Figure:
        """Heat maps: the mean over the heads of each layer, or all heads of one layer.

        Args:
            layer: Number of the layer, from 0, or from the last with -1. (default: all)
            title: Title. (default: none)

        Raises:
            ValueError: If there is no such layer.
        """
        if layer is None:
            return plot_attention(self.alpha.mean(dim=1), self.words, titles=self.layers, title=title)
        if not -len(self.layers) <= layer < len(self.layers):
            raise ValueError(f"'layer' must be below {len(self.layers)}, the layers there are (got {layer})")
        titles = [f"{self.layers[layer]}, head {head + 1}" for head in range(self.heads)]
        return plot_attention(self.alpha[layer], self.words, titles=titles, title=title)

    def __repr__(self) -> str:
        sizes = f"{len(self.words)} words, {len(self.layers)} layers, {self.heads} heads"
        return f"{type(self).__name__}({sizes})"
