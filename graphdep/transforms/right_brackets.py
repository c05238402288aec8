"""Right-branching constituents: brackets that hold nothing but word order."""

from __future__ import annotations

from torch import Tensor

from graphdep.transforms.bracket_transform import BracketTransform
from graphdep.transforms.tree_transform import WordTable


class RightBrackets(BracketTransform):
    r"""Replaces the constituents of each utterance by right-branching ones: all words, all but the first, and
    so on to the last two.

    A control: without syntax, and near to what English has.

    Args:
        labels: ``"drop"`` or ``"keep"``, see :class:`BracketTransform`. (default: ``"drop"``)

    Raises:
        ValueError: As :class:`BracketTransform`.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import RightBrackets
        >>> tree = ["big", "dogs", "bark"], [2, 3, 0], ["amod", "nsubj", "root"]
        >>> data = to_data([Sentence(*tree, constituents=[])], root=False, phrases="spans")
        >>> RightBrackets()(data).phrase_index
        tensor([[0, 1],
                [2, 2]])
    """

    def spans(self, words: WordTable) -> tuple[Tensor, Tensor]:
        last = words.start + words.size - 1
        inner = words.row < last
        return words.row[inner], last[inner]
