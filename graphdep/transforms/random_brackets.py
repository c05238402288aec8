"""Random constituents: the control that has everything of a parse but the parse."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from graphdep.transforms._hash import unsigned
from graphdep.transforms._options import choice, count
from graphdep.transforms.bracket_transform import LABELS, BracketTransform
from graphdep.transforms.tree_transform import WordTable


class RandomBrackets(BracketTransform):
    r"""Replaces the constituents of each utterance by those of a random binary tree: the words are cut in two
    at a gap between them, all equally likely, and so are both halves, down to single words.

    As :class:`RandomTree`, the brackets depend on the seed and on the words of the utterance alone.

    Args:
        seed: A whole number >= 0. (default: :obj:`0`)
        labels: ``"drop"`` or ``"keep"``, see :class:`BracketTransform`. (default: ``"drop"``)

    Raises:
        ValueError: As :class:`BracketTransform`, or if :obj:`seed` is none.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import RandomBrackets
        >>> tree = ["big", "dogs", "bark"], [2, 3, 0], ["amod", "nsubj", "root"]
        >>> data = to_data([Sentence(*tree, constituents=[])], root=False, phrases="spans")
        >>> RandomBrackets(seed=1)(data).phrase_index.size(1)
        2
    """

    def __init__(self, seed: int = 0, *, labels: str = "drop") -> None:
        self.seed = count("seed", seed)
        self.labels = choice("labels", labels, LABELS)

    def spans(self, words: WordTable) -> tuple[Tensor, Tensor]:
        # Gaps in random order of rank: the highest of some words is where they are cut, so that the span of a
        # gap reaches to the next higher one on either side. The last rows of utterances are above all gaps.
        chance, row = unsigned(words.chance(self.seed)), words.row
        order = chance.argsort(descending=True, stable=True)
        is_gap = row < words.start + words.size - 1
        rank = torch.empty_like(row).index_copy(0, order, row).masked_fill(~is_gap, -1)
        first, last = row.numel() - _next_higher(rank.flip(0)).flip(0), _next_higher(rank)
        return first[is_gap], last[is_gap]


def _next_higher(rank: Tensor) -> Tensor:
    """For each row the next one of a smaller rank, or of -1, as if such a row stood after the last one."""
    lowest = [F.pad(rank, (0, 1), value=-1)]  # of the 1, 2, 4, ... rows from each row on
    while bool((lowest[-1] >= 0).any()):
        step = 1 << (len(lowest) - 1)
        lowest.append(torch.minimum(lowest[-1], F.pad(lowest[-1][step:], (0, step), value=-1)))
    row = torch.arange(1, rank.numel() + 1, device=rank.device)
    for level in reversed(range(len(lowest))):
        row = torch.where(lowest[level][row] > rank, row + (1 << level), row)
    return row
