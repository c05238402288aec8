"""What encoders share whose composition another, smaller tree network makes at each node."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.models._binary_levels import BinaryLevels, States
from graphdep.nn.models._binary_trees import BinaryTrees
from graphdep.nn.models.constituent_encoder import ConstituentEncoder
from graphdep.transforms._options import count

CELLS = ("lstm", "rnn")


class MetaTreeEncoder(ConstituentEncoder):
    """Two networks go up the trees side by side: at each node the smaller one makes its state first, and the
    other composes by it. Words are nodes whose children are zeros, other nodes have an input of zeros.

    Args:
        num_words, hidden_channels, binarized, dropout, vectors: As of
            :class:`~graphdep.nn.models.BinaryTreeLSTM`.
        cell: ``"lstm"`` or ``"rnn"``, of both networks.
        meta_channels: Size of the smaller network's states.
        meta_inputs: What it reads at a node beside its own states, in channels; :obj:`None` for the words'
            vector and the children's states of the other.
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
        meta_inputs: int | None = None,
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
        self.read_channels = self.in_channels + 2 * hidden_channels
        meta = (self.read_channels if meta_inputs is None else meta_inputs) + 2 * meta_channels
        self.lin_meta = nn.Linear(meta, self.gates * meta_channels)
        self.lin_z = nn.Linear(meta_channels, meta_channels)

    @property
    def gates(self) -> int:
        """Gates of a cell: i, o, u, left f, right f; one for ``"rnn"``."""
        return 5 if self.cell == "lstm" else 1

    @abstractmethod
    def meta_input(self, inputs: Tensor, tags: Tensor) -> Tensor:
        """What the smaller network reads at nodes with such inputs and tags."""

    @abstractmethod
    def composed(self, inputs: Tensor, z: Tensor) -> Tensor:
        """The gates of nodes: ``[nodes, gates * C]``."""

    @abstractmethod
    def tags(self, data: Data, trees: BinaryTrees) -> Tensor:
        """A number for each node that :meth:`meta_input` may read."""

    def node_states(self, data: Data, trees: BinaryTrees, levels: BinaryLevels) -> Tensor:
        x = self.embedding(data).index_select(0, trees.word)
        tags = self.tags(data, trees)
        none = tuple(
            x.new_zeros(x.size(0), size)
            for size in (self.hidden_channels, self.hidden_channels, self.meta_channels, self.meta_channels)
        )

        def compose(left: States, right: States, inner: Tensor) -> States:
            return self._step(x.new_zeros(inner.numel(), x.size(1)), left, right, tags[inner + x.size(0)])

        return levels.up(self._step(x, none, none, tags[: x.size(0)]), compose)[0]

    def _step(self, x: Tensor, left: States, right: States, tags: Tensor) -> States:
        """State and memory of both networks: h, c, m and its memory."""
        inputs = torch.cat([x, left[0], right[0]], dim=-1)
        meta = torch.cat([self.meta_input(inputs, tags), left[2], right[2]], dim=-1)
        m, memory = self._cell(self.lin_meta(meta), left[3], right[3])
        h, c = self._cell(self.composed(inputs, self.lin_z(m)), left[1], right[1])
        return h, c, m, memory

    def _cell(self, gates: Tensor, left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        if self.cell == "rnn":
            return torch.tanh(gates), left
        i, o, u, left_f, right_f = gates.chunk(5, dim=-1)
        c = torch.sigmoid(i) * torch.tanh(u)
        c = c + torch.sigmoid(left_f) * left + torch.sigmoid(right_f) * right
        return torch.sigmoid(o) * torch.tanh(c), c

    def extra_repr(self) -> str:
        return f"cell={self.cell!r}, {super().extra_repr()}"
