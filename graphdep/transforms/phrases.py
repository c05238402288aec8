"""What edge constructors read of constituents."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from graphdep.transforms._ranges import expand_ranges
from graphdep.transforms.nodes import Nodes


class Phrases:
    r"""A view of the constituents of a graph, in preorder, example by example; each is named by its number.

    Args:
        nodes: The nodes, with :obj:`phrase_index`.

    Raises:
        ValueError: If the data has no constituents, or, where :attr:`node` is asked for, no phrase nodes.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import Nodes, Phrases
        >>> tree = ["She", "sings"], [2, 0], ["nsubj", "root"]
        >>> sentence = Sentence(*tree, constituents=[("S", 0, 2), ("NP", 0, 1)])
        >>> phrases = Phrases(Nodes(to_data([sentence], phrases=True, root=False)))
        >>> phrases.node, phrases.mother, phrases.height
        (tensor([2, 3]), tensor([-1,  0]), tensor([2, 1]))
    """

    def __init__(self, nodes: Nodes) -> None:
        if "phrase_index" not in nodes.data:
            raise ValueError(
                "the data has no 'phrase_index': make it with phrases=True, of sentences with constituents "
                "(resolve_parser('bundled', constituents=True))"
            )
        self.nodes = nodes
        self.first, self.last = nodes.first[nodes["phrase_index"]]

    @property
    def number(self) -> Tensor:
        """The numbers themselves: ``[P]``."""
        return torch.arange(self.first.numel(), device=self.first.device)

    @property
    def node(self) -> Tensor:
        """The node of each: ``[P]``."""
        if "phrase_node_index" not in self.nodes.data:
            raise ValueError("the constituents have no nodes: put PhraseNodes() before these edges")
        return self.nodes["phrase_node_index"]

    @cached_property
    def inside(self) -> tuple[Tensor, Tensor]:
        """Constituents and the first pieces of the words in them, by word and then from the outermost
        inwards: ``[C]`` each.
        """
        nodes = self.nodes
        phrase, word = expand_ranges(self.first, self.last - self.first + 1)
        is_word = (nodes.first[word] == word) & (nodes["word"][word] >= 0)
        phrase, word = phrase[is_word], word[is_word]
        order = word.argsort(stable=True)  # of a word, the phrases stay in preorder
        return phrase[order], word[order]

    @cached_property
    def mother(self) -> Tensor:
        """The constituent that each is directly in, -1 at the top: ``[P]``."""
        phrase, word = self.inside
        # Those that have the first word of a phrase are nested: the one before it there is its mother.
        before = torch.where(word[1:] == word[:-1], phrase[:-1], -1)
        before = torch.cat([before.new_full((min(1, phrase.numel()),), -1), before])
        mine = word == self.first[phrase]
        return torch.full_like(self.first, -1).index_copy(0, phrase[mine], before[mine])

    @cached_property
    def innermost(self) -> Tensor:
        """The constituent that each word, at its first piece, is directly in; -1 for none: ``[N]``."""
        phrase, word = self.inside
        found = torch.full_like(self.nodes.index, -1)
        return found.scatter_reduce(0, word, phrase, "amax")

    @cached_property
    def height(self) -> Tensor:
        """1 for a constituent of words alone, else one more than the highest in it: ``[P]``."""
        height = torch.ones_like(self.first)
        inner = self.mother >= 0
        while True:
            above = height.scatter_reduce(0, self.mother[inner], height[inner] + 1, "amax")
            if torch.equal(above, height):
                return height
            height = above
