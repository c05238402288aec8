"""One score for candidates that are the same."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Batch
from torch_geometric.utils import scatter

from graphdep.transforms.controls import example_hash, mix
from graphdep.transforms.nodes import Nodes


def example_keys(batch: Batch) -> Tensor:
    """A number for each example of a batch, of its nodes alone: words, trees and utterances. Equal examples
    have equal ones, in whatever batch; others by chance of one in 2 ** 64.
    """
    return example_hash(Nodes(batch), 0)


def shared_scores(scores: Tensor, group: Tensor, key: Tensor) -> Tensor:
    r"""The scores of candidates, for all of a pool that are the same the mean over them, in double precision.

    .. math::
        \bar{s}_i = \frac{1}{|E_i|} \sum_{j \in E_i} s_j, \qquad
        E_i = \{j : \text{pool}_j = \text{pool}_i, \text{key}_j = \text{key}_i\}

    What a model says of one text in two batches differs in the last digits, since sums of other sizes are
    taken in another order; as scores these would not be tied, and an order that is nobody's would count.

    Args:
        scores: A score a candidate.
        group: The number of its pool.
        key: What :func:`example_keys` gives for it.

    Shapes:
        - all, and the output: :math:`(N)`

    Example:
        >>> import torch
        >>> group, key = torch.tensor([0, 0, 1]), torch.tensor([7, 7, 7])
        >>> shared_scores(torch.tensor([1.0, 3.0, 5.0]), group, key).tolist()
        [2.0, 2.0, 5.0]
    """
    _, same = (mix(group) ^ key).unique(return_inverse=True)
    return scatter(scores.double(), same, reduce="mean")[same]
