"""Marks on words of an example, as its nodes have them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data


def mark_words(data: Data, marks: Sequence[int]) -> Data:
    r"""Writes a number for each word to all of its pieces, such as 1 for the predicate whose roles are asked
    for; all that is no word has 0. ``data`` is changed and returned.

    Args:
        data: One example of one text, not a batch. Words at its end may have been cut.
        marks: A number from 0 on for each word of the text, 0 for no mark.

    Shapes:
        - ``mark``: :math:`(|\mathcal{V}|)`, long

    Raises:
        ValueError: If the data is a batch or has several texts, whose words have the same numbers; a mark is
            no whole number or below 0; or the data has no words, or more than there are marks.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.data import mark_words
        >>> sentence = Sentence(["She", "sings"], [2, 0], ["nsubj", "root"])
        >>> mark_words(to_data([sentence]), [0, 1]).mark
        tensor([0, 0, 1])
    """
    if "word" not in data:
        raise ValueError("the data has no 'word': it must be that of to_data() or text_data()")
    word = data.word
    if "batch" in data or bool((data.utterance != 0).any()):
        raise ValueError("'data' must be one example of one text: mark its words before batching")
    number = int(word.max()) + 1 if word.numel() else 0
    if number > len(marks):
        raise ValueError(f"'marks' must have a number for each of {number} words (got {len(marks)})")
    table = _table(marks).to(word.device)
    data.mark = table[torch.where(word < 0, len(marks), word)]
    return data


def _table(marks: Sequence[int]) -> Tensor:
    """The marks, and behind them that of nodes that are no words."""
    try:
        table = torch.tensor([*marks, 0])
    except (TypeError, ValueError, RuntimeError):  # as texts, None or too large a number make it raise
        table = torch.tensor(torch.nan)
    if table.is_floating_point() or bool((table < 0).any()):
        raise ValueError(f"'marks' must be whole numbers from 0 on (got {[*marks]})")
    return table
