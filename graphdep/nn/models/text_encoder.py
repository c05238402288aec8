"""What all encoders of utterances share."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.data import NodeType


class TextEncoder(nn.Module):
    r"""Base of the encoders: a state for every node, and from those a vector for every utterance.

    A subclass sets :attr:`hidden_channels`, defines :meth:`forward`, and :meth:`readout` where an
    utterance is not represented by its ROOT node. So any encoder goes into
    :class:`~graphdep.nn.models.SentenceModel` and :class:`~graphdep.nn.models.SentencePairModel`.

    Shapes:
        - data: a :class:`~torch_geometric.data.Data` or batch with the node table, ROOT nodes included;
          output of ``encoder(data)`` :math:`(|\mathcal{V}|, C)`, of :meth:`readout`
          :math:`(\text{utterances}, C)`
    """

    hidden_channels: int

    def reset_parameters(self) -> None:
        for module in self.children():
            module.reset_parameters()  # type: ignore[operator]

    def readout(self, data: Data, x: Tensor) -> Tensor:
        """States of the ROOT nodes, in the order of the utterances.

        Raises:
            ValueError: If the data has no ROOT nodes.
        """
        return x.index_select(0, root_nodes(data))


def root_nodes(data: Data) -> Tensor:
    """The ROOT node of every utterance.

    Raises:
        ValueError: If the data has none.
    """
    root = (data.node_type == NodeType.ROOT).nonzero().view(-1)
    if root.numel() == 0:
        raise ValueError("the data has no ROOT nodes: call to_data(..., root=True)")
    return root


def utterance_of(data: Data) -> Tensor:
    """The utterance of every node, counted over the whole batch: ``[num_nodes]``."""
    if data.get("batch") is None:
        return data.utterance
    count = torch.bincount(data.batch[root_nodes(data)], minlength=data.num_graphs)
    return (count.cumsum(0) - count)[data.batch] + data.utterance
