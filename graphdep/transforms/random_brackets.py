"""Random constituents: the control that has everything of a parse but the parse."""

from __future__ import annotations

from torch import Tensor

from graphdep.transforms._hash import unsigned
from graphdep.transforms._options import choice, count
from graphdep.transforms._ranges import expand_ranges
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
        # gap reaches to the next higher one on either side.
        chance = unsigned(words.chance(self.seed))
        end = words.start + words.size - 1
        gap = words.row[words.row < end]
        one, other = expand_ranges(words.start[gap], words.size[gap] - 1)
        one = gap[one]
        higher = (chance[other] > chance[one]) | ((chance[other] == chance[one]) & (other < one))
        left, right = higher & (other < one), higher & (other > one)
        first, last = words.start.clone(), end.clone()
        first = first.scatter_reduce(0, one[left], other[left] + 1, "amax")
        last = last.scatter_reduce(0, one[right], other[right], "amin")
        return first[gap], last[gap]
