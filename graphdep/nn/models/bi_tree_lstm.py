"""Head-lexicalised Tree-LSTM, up and down binarised constituents."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data

from graphdep.nn.models._binary_levels import BinaryLevels, States
from graphdep.nn.models._binary_trees import BinaryTrees
from graphdep.nn.models.constituent_encoder import ConstituentEncoder
from graphdep.transforms.presets import count


class BiTreeLSTM(ConstituentEncoder):
    r"""Bidirectional Tree-LSTM whose constituents have words of their own, from `"Head-Lexicalized
    Bidirectional Tree LSTMs" <https://aclanthology.org/Q17-1012/>`_.

    Each constituent gets the word of its head, softly chosen, number by number, from those of its children:

    .. math::
        \mathbf{z}_j = \sigma(\mathbf{W}^z [\mathbf{x}_l; \mathbf{x}_r] + \mathbf{b}^z), \quad
        \mathbf{x}_j = \mathbf{z}_j \odot \mathbf{x}_l + (1 - \mathbf{z}_j) \odot \mathbf{x}_r

    Upwards goes an LSTM of two children whose gates also see the memory,

    .. math::
        [\mathbf{i}; \mathbf{f}^l; \mathbf{f}^r] &= \sigma(\mathbf{W} \mathbf{x}_j + \mathbf{U} [\mathbf{h}_l;
        \mathbf{h}_r] + \mathbf{V} [\mathbf{c}_l; \mathbf{c}_r] + \mathbf{b}), \\
        \mathbf{g} &= \tanh(\mathbf{W}^g \mathbf{x}_j + \mathbf{U}^g [\mathbf{h}_l; \mathbf{h}_r] +
        \mathbf{b}^g), \\
        \mathbf{c}_j &= \mathbf{i} \odot \mathbf{g} + \mathbf{f}^l \odot \mathbf{c}_l + \mathbf{f}^r \odot
        \mathbf{c}_r, \\
        \mathbf{o} &= \sigma(\mathbf{W}^o \mathbf{x}_j + \mathbf{U}^o [\mathbf{h}_l; \mathbf{h}_r] +
        \mathbf{V}^o \mathbf{c}_j + \mathbf{b}^o), \quad \mathbf{h}_j = \mathbf{o} \odot \tanh(\mathbf{c}_j)

    where both forget gates share :math:`\mathbf{W}`; a word sees :math:`\mathbf{x}_j` alone. Downwards goes
    one whose former state is that of the node above, :math:`p`, with matrices :math:`s` for left and right
    children:

    .. math::
        [\mathbf{i}; \mathbf{f}] &= \sigma(\mathbf{W}^{\downarrow} \mathbf{x}_j + \mathbf{U}^{\downarrow}_s
        \mathbf{h}^{\downarrow}_p + \mathbf{V}^{\downarrow}_s \mathbf{c}^{\downarrow}_p +
        \mathbf{b}^{\downarrow}), \\
        \mathbf{c}^{\downarrow}_j &= \mathbf{i} \odot \tanh(\mathbf{W}^{\downarrow g} \mathbf{x}_j +
        \mathbf{U}^{\downarrow g}_s \mathbf{h}^{\downarrow}_p + \mathbf{b}^{\downarrow g}) + \mathbf{f} \odot
        \mathbf{c}^{\downarrow}_p, \\
        \mathbf{h}^{\downarrow}_j &= \sigma(\mathbf{W}^{\downarrow o} \mathbf{x}_j +
        \mathbf{U}^{\downarrow o}_s \mathbf{h}^{\downarrow}_p + \mathbf{V}^{\downarrow o}
        \mathbf{c}^{\downarrow}_j + \mathbf{b}^{\downarrow o}) \odot \tanh(\mathbf{c}^{\downarrow}_j)

    from :math:`\mathbf{x}` alone at the top. The state of a node is made of both and of the mean of
    :math:`\mathbf{h}^{\downarrow}` over its words,

    .. math::
        \mathbf{s}_j = \mathrm{ReLU}(\mathbf{R} [\mathbf{h}_j; \overline{\mathbf{h}^{\downarrow}_w};
        \mathbf{h}^{\downarrow}_j] + \mathbf{b}^s)

    and ROOT has that of the topmost node. The formulas were learned from the authors' `code
    <https://github.com/zeeeyang/lexicalized_bitreelstm>`_, among them what words and the top leave out, the
    shared :math:`\mathbf{W}` and :math:`\mathbf{s}_j`; the paper's text was not at hand, and whether it says
    the same of these we could not verify. :math:`\mathbf{s}_j` has 128 channels in the code beside states of
    150; here both have one size. Dropout is that of the words' vectors, as there, where it is .5; the paper's
    trees are the sentiment treebank's. :math:`\mathbf{x}` has the size of the vectors. All nodes of one depth
    are computed at once, over the whole batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the states of either direction, and of :math:`\mathbf{s}_j`. (default:
            :obj:`150`)
        binarized: As of :class:`ConstituentEncoder`. (default: ``"left"``)
        dropout: Dropout probability of the embeddings. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes and constituents; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`hidden_channels` is below 1 or no whole number, :obj:`binarized` is unknown, or
            the data has no constituents or no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import BiTreeLSTM
        >>> tree = ["She", "sings"], [2, 0], ["nsubj", "root"]
        >>> sentence = Sentence(*tree, constituents=[("S", 0, 2)])
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([sentence], vocab=vocab, phrases="spans")
        >>> BiTreeLSTM(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 150,
        binarized: str = "left",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__(
            num_words,
            hidden_channels=count("hidden_channels", hidden_channels, 1),
            binarized=binarized,
            dropout=dropout,
            vectors=vectors,
        )
        in_channels = self.in_channels
        self.lin_head = nn.Linear(2 * in_channels, in_channels)
        self.up = _UpwardCell(in_channels, hidden_channels)
        self.down = _DownwardCell(in_channels, hidden_channels)
        self.lin_state = nn.Linear(3 * hidden_channels, hidden_channels)

    def node_states(self, data: Data, trees: BinaryTrees, levels: BinaryLevels) -> Tensor:
        (x,) = levels.up((self.embedding(data).index_select(0, trees.word),), self._heads)
        words, inner = x[: trees.word.numel()], x[trees.word.numel() :]
        own = self.up.inputs(inner)
        h, _ = levels.up(
            self.up.word(words),
            lambda left, right, nodes: self.up.inner(own.index_select(0, nodes), left, right),
        )
        below, _ = levels.down(self.down.lin_x(x), self.down.top, self.down.step())
        counts = words.new_ones(words.size(0), 1)
        total, count = levels.up((below[: words.size(0)], counts), _add)
        return torch.relu(self.lin_state(torch.cat([h, total / count, below], dim=-1)))

    def _heads(self, left: States, right: States, inner: Tensor) -> States:
        choice = torch.sigmoid(self.lin_head(torch.cat([left[0], right[0]], dim=-1)))
        return (torch.lerp(right[0], left[0], choice.to(left[0].dtype)),)


def _add(left: States, right: States, inner: Tensor) -> States:
    return left[0] + right[0], left[1] + right[1]


class _UpwardCell(nn.Module):
    """Gates in the order i, left f, right f, g, o."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.lin_x = nn.Linear(in_channels, 4 * channels, bias=False)  # i, f, g, o
        self.lin_h = nn.Linear(2 * channels, 5 * channels)
        self.lin_c = nn.Linear(2 * channels, 3 * channels, bias=False)
        self.lin_o = nn.Linear(channels, channels, bias=False)

    def reset_parameters(self) -> None:
        for lin in (self.lin_x, self.lin_h, self.lin_c, self.lin_o):
            lin.reset_parameters()

    def inputs(self, x: Tensor) -> Tensor:
        """What the words of heads add to all five gates."""
        i, f, g, o = self.lin_x(x).chunk(4, dim=-1)
        return torch.cat([i, f, f, g, o], dim=-1)

    def word(self, x: Tensor) -> States:
        gates = self.inputs(x) + self.lin_h.bias
        i, _, _, g, o = gates.chunk(5, dim=-1)
        c = torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def inner(self, inputs: Tensor, left: States, right: States) -> States:
        gates = inputs + self.lin_h(torch.cat([left[0], right[0]], dim=-1))
        size = self.lin_o.in_features
        seen, g, o = gates.split([3 * size, size, size], dim=-1)
        seen = torch.sigmoid(seen + self.lin_c(torch.cat([left[1], right[1]], dim=-1)))
        i, left_f, right_f = seen.chunk(3, dim=-1)
        c = i * torch.tanh(g) + left_f * left[1] + right_f * right[1]
        return torch.sigmoid(o + self.lin_o(c)) * torch.tanh(c), c


class _DownwardCell(nn.Module):
    """Gates in the order i, f, g, o; matrices of the left child, then of the right one."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.lin_x = nn.Linear(in_channels, 4 * channels)
        self.lin_h = nn.Linear(2 * channels, 4 * channels, bias=False)
        self.lin_c = nn.Linear(2 * channels, 2 * channels, bias=False)
        self.lin_o = nn.Linear(channels, channels, bias=False)

    def reset_parameters(self) -> None:
        for lin in (self.lin_x, self.lin_h, self.lin_c, self.lin_o):
            lin.reset_parameters()

    def top(self, gates: Tensor) -> States:
        i, _, g, o = gates.chunk(4, dim=-1)
        c = torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def step(self) -> Callable[[Tensor, States], States]:
        """The step from nodes to their left children and then to the right ones, who share products."""
        of_h, of_c = (torch.cat(lin.weight.chunk(2, dim=1)) for lin in (self.lin_h, self.lin_c))
        size = self.lin_o.in_features

        def step(gates: Tensor, above: States) -> States:
            h, c = above
            gates = gates + _of_both(F.linear(h, of_h))
            seen, g, o = gates.split([2 * size, size, size], dim=-1)
            i, f = torch.sigmoid(seen + _of_both(F.linear(c, of_c))).chunk(2, dim=-1)
            c = i * torch.tanh(g) + f * c.repeat(2, 1)
            return torch.sigmoid(o + self.lin_o(c)) * torch.tanh(c), c

        return step


def _of_both(x: Tensor) -> Tensor:
    """Left halves of the rows above right ones."""
    return torch.cat(x.chunk(2, dim=-1))
