"""Constituents of any number of parts level by level."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.nn.models._binary_trees import Spans, words_and_roots


class SpanLevels:
    """Words and constituents, those over the same words as one; all of one depth are a level, over the whole
    batch, so that the parts of a level are just the level below it, as in :class:`TreeLevels`.

    Words are numbered first, then constituents.

    Args:
        data: A node table with ROOT nodes and constituents.

    Attributes:
        word: The node of each word.
        phrase: The number of each constituent of the data.
        top: The number of what holds all words of each utterance that has any.
        root: The ROOT node of the same.
        order: The numbers level by level, deepest first.
        sizes: Number of members of each level.
        governors: Per level, except for the last, the place of what each member lies in, in the next one.
    """

    def __init__(self, data: Data) -> None:
        self.word, words, roots = words_and_roots(data)
        spans = Spans(data, self.word, words)
        self.phrase, self.root = spans.of_phrase, roots[words > 0]
        number = torch.arange(spans.above.numel(), device=self.word.device)
        above = torch.where(spans.above >= 0, spans.above, number)
        self.top = (above == number).nonzero().view(-1)
        # Those of one word stand before spans: in the order of the utterances again.
        first = torch.cat([number[: self.word.numel()], spans.first])
        self.top = self.top[first[self.top].argsort()]
        depth, jump = (above != number).long(), above
        while not torch.equal(jump, jump[jump]):  # twice as far at each step
            depth = depth + depth[jump]
            jump = jump[jump]
        self.order = depth.argsort(descending=True, stable=True)
        sizes = torch.bincount(depth).flip(0)
        place = torch.empty_like(number)
        place[self.order] = number - (sizes.cumsum(0) - sizes).flip(0)[depth[self.order]]
        self.sizes: list[int] = sizes.tolist()
        self.governors: tuple[Tensor, ...] = place[above[self.order]].split(self.sizes)[:-1]
        # Where each begins, for those that need the order of parts in the text.
        self.begin = first[self.order].split(self.sizes)

    def join(self, levels: list[Tensor]) -> Tensor:
        """One row a number, from the rows of each level."""
        x = torch.cat(levels)
        return torch.zeros_like(x).index_copy(0, self.order, x)
