"""The best trees of a batch of sentences, by the scores of their arcs."""

from __future__ import annotations

import torch
from torch import Tensor


def best_trees(scores: Tensor, lengths: Tensor) -> Tensor:
    r"""The trees with one root whose arcs have the highest sums of scores.

    .. math::
        \hat{h} = \operatorname*{arg\,max}_{h \in T} \sum_{i=1}^{n} s_{i, h_i} \qquad (1)

    Where every word's best governor alone already makes a tree with one root, no tree can score more, and
    that is so for most sentences. The others get stanza's algorithm (Chu and Liu, Edmonds): without more ado
    if that gives one root, else with the root's arcs made worse, as in `A Root of a Problem
    <https://aclanthology.org/2021.emnlp-main.823/>`_ (Stanojević and Cohen, EMNLP 2021).

    Args:
        scores: Scores [B, n + 1, n + 1] of word ``i`` (row) under governor ``j`` (column); place 0 is the
            root's.
        lengths: Number [B] of places of each sentence, the root's included.

    Returns:
        Governors [B, n + 1]; 0 at the root's place and behind the end of a sentence.

    Example:
        >>> import torch
        >>> scores = torch.tensor([[[0.0, 0.0, 0.0], [1.0, 0.0, 5.0], [3.0, 4.0, 0.0]]])
        >>> best_trees(scores, torch.tensor([3]))
        tensor([[0, 2, 0]])
    """
    size = scores.size(1)
    real = torch.arange(size) < lengths[:, None]
    nowhere = ~real[:, None] | torch.eye(size, dtype=torch.bool)
    scores = scores.masked_fill(nowhere, -torch.inf)
    heads = scores.argmax(2).masked_fill(~real, 0)
    heads[:, 0] = 0
    up = heads
    for _ in range(size.bit_length()):  # the governor, its governor, its governor's governor's governor, ...
        up = up.gather(1, up)
    roots = ((heads == 0) & real).sum(1) - 1
    for number in ((up != 0).any(1) | (roots != 1)).nonzero().flatten().tolist():
        places = int(lengths[number])
        heads[number, :places] = _best_tree(scores[number, :places, :places])
    return heads


def _best_tree(scores: Tensor) -> Tensor:
    from stanza.models.common.chuliu_edmonds import chuliu_edmonds, chuliu_edmonds_one_root

    # A word's choice of a governor does not depend on a term that all its governors share.
    logarithms = scores.log_softmax(1).double().numpy()
    tree = chuliu_edmonds(logarithms.copy())
    if (tree[1:] == 0).sum() != 1:
        tree = chuliu_edmonds_one_root(logarithms)
    return torch.as_tensor(tree)
