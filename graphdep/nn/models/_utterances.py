"""The utterances of a batch, whose vectors encoders give."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphdep.data import NodeType
from graphdep.nn.models.context_encoder import example_bounds


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
    """The utterance of every node, counted over the whole batch: ``[num_nodes]``.

    Raises:
        ValueError: If not every utterance has a ROOT node.
    """
    batch = example_of(data)
    key = batch * (data.utterance.max() + 1) + data.utterance
    keys, utterance = key.unique(return_inverse=True)
    if not torch.equal(keys, key[root_nodes(data)]):
        example = int(batch[~torch.isin(key, key[root_nodes(data)])].min())
        raise ValueError(f"an utterance of example {example} has no ROOT node: call to_data(..., root=True)")
    return utterance


def words_of(data: Data) -> Tensor:
    """The nodes of words, without the empty nodes of enhanced graphs, which are no words of the text."""
    words, place = data.node_type == NodeType.WORD, data.get("word")
    return (words if place is None else words & (place >= 0)).nonzero().view(-1)


def word_mean(data: Data, x: Tensor) -> Tensor:
    """Mean over the words of every utterance, ``[num_utterances, channels]``; zeros without words."""
    words = words_of(data)
    return scatter(x[words], utterance_of(data)[words], dim_size=root_nodes(data).numel(), reduce="mean")


def check_sentences(data: Data, number: int, rule: str) -> None:
    """Raises :class:`ValueError`, which says the ``rule``, unless every example has ``number`` utterances."""
    batch = example_of(data)
    count = torch.bincount(batch[root_nodes(data)], minlength=int(batch.max()) + 1)
    wrong = (count != number).nonzero().view(-1)
    if wrong.numel():
        example = int(wrong[0])
        raise ValueError(f"{rule} (got {int(count[example])} in example {example})")


def example_of(data: Data) -> Tensor:
    """The example of each node."""
    batch = data.get("batch")
    return torch.zeros_like(data.node_type) if batch is None else batch


def utterance_bounds(data: Data) -> Tensor:
    """Where the utterances of each example start and end among those of the batch: ``[num_examples + 1]``."""
    return torch.searchsorted(root_nodes(data), example_bounds(data))


def with_positions_in_utterance(data: Data) -> Data:
    """A shallow copy whose positions count from the ROOT node of each utterance."""
    out = copy.copy(data)
    start = data.position[root_nodes(data)]
    out.position = data.position - start[utterance_of(data)]
    return out
