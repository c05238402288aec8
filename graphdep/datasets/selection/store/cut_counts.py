"""What is cut of too long pairs, without making examples of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from torch_geometric.data import Data

from graphdep.datasets.selection.store.selection_store import SelectionStore

_PAIRS = 1024  # looked at in one go


def count_cut(
    store: SelectionStore, sizes: np.ndarray, max_length: int, load: Callable[[list[int]], list[Data]]
) -> dict[str, int]:
    """See :meth:`graphdep.datasets.selection.selection_dataset.SelectionDataset.count_cut`.

    Args:
        store: The pairs.
        sizes: The number of pieces of each utterance.
        max_length: The largest number of nodes of an example.
        load: Gives the examples of some pairs.
    """
    found: Counter[str] = Counter(cut_pairs=0, cut_context_words=0, cut_responses=0, cut_response_words=0)
    for some in _long_pairs(store, sizes, max_length):
        for data in load(some):
            context, response = data.cut_words[0].tolist()
            found["cut_pairs"] += 1
            found["cut_context_words"] += context
            found["cut_responses"] += response > 0
            found["cut_response_words"] += response
    return dict(found)


def _long_pairs(store: SelectionStore, sizes: np.ndarray, max_length: int) -> Iterator[list[int]]:
    """Numbers of the pairs with more nodes than there may be, some at a time.

    There are [CLS], two [SEP] and an [EOU] an utterance of the context beside the pieces.
    """
    some: list[int] = []
    for number, pair in store.each_pair():
        nodes = sizes[pair.context].sum() + len(pair.context) + sizes[pair.response] + 3
        if nodes > max_length:
            some.append(number)
        if len(some) == _PAIRS:
            yield some
            some = []
    yield some
