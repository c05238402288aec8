"""What encoders share whose composition another, smaller tree network makes at each node."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data

from graphdep.nn.models._binary_levels import BinaryLevels, States
from graphdep.nn.models._binary_trees import BinaryTrees
from graphdep.nn.models.constituent_encoder import ConstituentEncoder
from graphdep.transforms.presets import count

CELLS = ("lstm", "rnn")
_Children = tuple[Tensor | None, ...]
_NONE: _Children = (None,) * 4
"""The states of children where there are none."""


class MetaTreeEncoder(ConstituentEncoder):
    """Two networks go up the trees side by side: at each node the smaller one makes its state first, and the
    other composes by it. Words are nodes whose children are zeros, other nodes have an input of zeros; what
    is zero is not multiplied: words read the first columns of a matrix, other nodes the last ones.

    Args:
        num_words, hidden_channels, binarized, dropout, vectors: As of
            :class:`~graphdep.nn.models.BinaryTreeLSTM`.
        cell: ``"lstm"`` or ``"rnn"``, of both networks.
        meta_channels: Size of the smaller network's states.
        tag_channels: What it reads at a node beside its own states: a tag's vector of this size; :obj:`None`
            for the words' vector and the children's states of the other.
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int,
        cell: str,
        meta_channels: int,
        binarized: str,
        dropout: float,
        vectors: Tensor | None,
        tag_channels: int | None = None,
    ) -> None:
        super().__init__(
            num_words,
            hidden_channels=hidden_channels,
            binarized=binarized,
            dropout=dropout,
            vectors=vectors,
        )
        if cell not in CELLS:
            raise ValueError(f"'cell' must be one of {', '.join(CELLS)} (got {cell!r})")
        self.cell = cell
        self.meta_channels = count("meta_channels", meta_channels, at_least=1)
        self.tag_channels = tag_channels
        self.read_channels = self.in_channels + 2 * hidden_channels
        meta = (self.read_channels if tag_channels is None else tag_channels) + 2 * meta_channels
        self.lin_meta = nn.Linear(meta, self.gates * meta_channels)
        self.lin_z = nn.Linear(meta_channels, meta_channels)

    @property
    def gates(self) -> int:
        """Gates of a cell: i, o, u, left f, right f; one for ``"rnn"``."""
        return 5 if self.cell == "lstm" else 1

    @property
    @abstractmethod
    def lin_read(self) -> nn.Linear:
        """The matrix that reads the words' vector and the children's states, ``[..., in + 2 * C]``, without a
        bias.
        """

    @abstractmethod
    def composed(self, read: Tensor, z: Tensor) -> Tensor:
        """The gates of nodes, ``[nodes, gates * C]``, from what :attr:`lin_read` made of their inputs."""

    @abstractmethod
    def tags(self, data: Data, trees: BinaryTrees) -> Tensor | None:
        """The vector of each node's tag, ``[nodes, tag_channels]``, where the smaller network reads it."""

    def node_states(self, data: Data, trees: BinaryTrees, levels: BinaryLevels) -> Tensor:
        x = self.embedding(data).index_select(0, trees.word)
        size, tags = x.size(0), self.tags(data, trees)
        of_words, of_inner = (None, None) if tags is None else (tags[:size], tags[size:])
        columns, meta = self.lin_read.weight, self.lin_meta.weight
        first, last = columns[:, : self.in_channels], columns[:, self.in_channels :]
        meta_first = meta[:, : self.tag_channels or self.in_channels]
        meta_last = meta if self.tag_channels else meta[:, self.in_channels :]

        def compose(left: States, right: States, inner: Tensor) -> States:
            inputs = torch.cat([left[0], right[0]], dim=-1)
            seen = inputs if of_inner is None else of_inner.index_select(0, inner)
            seen = torch.cat([seen, left[2], right[2]], dim=-1)
            return self._step(F.linear(inputs, last), F.linear(seen, meta_last), left, right)

        seen = x if of_words is None else of_words
        return levels.up(self._step(F.linear(x, first), F.linear(seen, meta_first)), compose)[0]

    def _step(self, read: Tensor, meta: Tensor, left: _Children = _NONE, right: _Children = _NONE) -> States:
        """State and memory of both networks: h, c, m and its memory."""
        m, memory = self._cell(meta + self.lin_meta.bias, left[3], right[3])
        h, c = self._cell(self.composed(read, self.lin_z(m)), left[1], right[1])
        return h, c, m, memory

    def _cell(self, gates: Tensor, left: Tensor | None, right: Tensor | None) -> tuple[Tensor, Tensor]:
        if self.cell == "rnn":
            state = torch.tanh(gates)
            return state, state  # nobody reads its memory
        i, o, u, left_f, right_f = gates.chunk(5, dim=-1)
        c = torch.sigmoid(i) * torch.tanh(u)
        if left is not None and right is not None:
            c = c + torch.sigmoid(left_f) * left + torch.sigmoid(right_f) * right
        return torch.sigmoid(o) * torch.tanh(c), c

    def extra_repr(self) -> str:
        return f"cell={self.cell!r}, {super().extra_repr()}"
