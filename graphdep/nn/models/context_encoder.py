"""What all encoders of dialogues share."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn.inits import reset

from graphdep.nn.models.memory import Memory
from graphdep.nn.models.node_embedding import NodeEmbedding


class ContextEncoder(nn.Module):
    r"""Base of the encoders of dialogues: from a batch of contexts to what a decoder reads.

    A subclass sets :attr:`hidden_channels` and :attr:`embedding`, whose word vectors the decoder shares, and
    defines :meth:`forward`. One that learns from more than the response defines :meth:`auxiliary` as well.

    Shapes:
        - data: a batch of contexts with the node table, ROOT nodes included; output: a :class:`Memory` with
          :math:`C` channels
    """

    hidden_channels: int
    embedding: NodeEmbedding

    def reset_parameters(self) -> None:
        for module in self.children():
            reset(module)

    def forward(self, data: Data) -> Memory:
        raise NotImplementedError

    def auxiliary(self, data: Data, memory: Memory) -> dict[str, Tensor]:
        """Losses by name that are added to that of the response in training; none by default.

        Args:
            data: The batch that :obj:`memory` was made of.
            memory: What :meth:`forward` gave.
        """
        return {}


def example_bounds(data: Data) -> Tensor:
    """Where the nodes of each example start and end: ``ptr`` of a batch, two numbers for a single example."""
    ptr = data.get("ptr")
    if ptr is not None:
        return ptr
    return torch.tensor([0, data.num_nodes], device=data.node_type.device)
