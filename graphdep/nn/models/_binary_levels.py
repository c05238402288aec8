"""Binary trees level by level, for encoders that go up or down them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from graphdep.nn.models._binary_trees import BinaryTrees

States = tuple[Tensor, ...]


class _Level(NamedTuple):
    """The nodes of one depth, those with children first, then words."""

    inner: Tensor  # numbers among the inner nodes
    words: Tensor
    left: Tensor  # places of the children in the level below
    right: Tensor


class BinaryLevels:
    """All nodes of the same depth form a level, over the whole batch, so that the children of a level are
    just the level below it, as in :class:`TreeLevels`.

    Args:
        trees: The trees of a batch.

    Attributes:
        levels: From the deepest to the nodes at the top.
    """

    def __init__(self, trees: BinaryTrees) -> None:
        self.num_words, inner = trees.word.numel(), trees.left.numel()
        node = torch.arange(self.num_words + inner, device=trees.word.device)
        is_word = node < self.num_words
        depth = _depth(trees, node)
        order = (2 * depth.neg() + is_word).argsort(stable=True)
        sizes = torch.bincount(depth).flip(0)
        place = torch.empty_like(node)
        place[order] = node - (sizes.cumsum(0) - sizes).flip(0)[depth[order]]
        self.back = torch.empty_like(node)
        self.back[order] = node
        words = torch.bincount(depth[: self.num_words], minlength=sizes.numel()).flip(0)
        self.levels = [
            _Level(
                nodes[:count] - self.num_words,
                nodes[count:],
                place[trees.left[nodes[:count] - self.num_words]],
                place[trees.right[nodes[:count] - self.num_words]],
            )
            for nodes, count in zip(order.split(sizes.tolist()), (sizes - words).tolist())
        ]

    def up(self, leaves: States, compose: Callable[[States, States, Tensor], States]) -> States:
        """The states of all nodes, in their order, from those of the words.

        Args:
            leaves: States of the words: each ``[n, ...]``.
            compose: Gives the states of inner nodes from those of their left and right children and the
                numbers of the nodes among the inner ones.
        """
        states: list[States] = []
        for level, words in zip(self.levels, self._words(leaves)):
            if level.inner.numel():
                left, right = (_rows(states[-1], places) for places in (level.left, level.right))
                words = tuple(map(torch.cat, zip(compose(left, right, level.inner), words)))
            states.append(words)
        return self._join(states)

    def down(self, x: Tensor, first: Callable, step: Callable) -> States:
        """The states of all nodes, in their order, from those of the nodes above.

        Args:
            x: What the nodes have of their own: ``[nodes, ...]``.
            first: Gives the states of nodes at the top from their rows of ``x``.
            step: Gives the states of left children and then of their sisters from their rows of ``x`` and
                the states of the nodes above, half as many.
        """
        top = torch.arange(_size(self.levels[-1]), device=x.device)
        # Which nodes of each level stand where, from the top.
        order = [top, *(torch.cat([above.left, above.right]) for above in reversed(self.levels[1:]))]
        levels = list(zip(reversed(self.levels), order))
        nodes = [torch.cat([level.inner + self.num_words, level.words])[places] for level, places in levels]
        rows = x.index_select(0, torch.cat(nodes)).split([places.numel() for places in order])
        states = [first(rows[0])]
        for (above, places), row in zip(levels, rows[1:]):
            inner = places.argsort()[: above.inner.numel()]
            states.append(step(row, _rows(states[-1], inner)))
        back = torch.cat(nodes).argsort()
        return tuple(torch.cat(parts).index_select(0, back) for parts in zip(*states))

    def _words(self, leaves: States) -> list[States]:
        """The rows of the words of each level; split once, since slices that are taken one by one would each
        send back a gradient of full size.
        """
        order = torch.cat([level.words for level in self.levels])
        sizes = [level.words.numel() for level in self.levels]
        return list(zip(*(leaf.index_select(0, order).split(sizes) for leaf in leaves)))

    def _join(self, states: list[States]) -> States:
        return tuple(torch.cat(parts).index_select(0, self.back) for parts in zip(*states))


def _size(level: _Level) -> int:
    return level.inner.numel() + level.words.numel()


def _rows(states: States, places: Tensor) -> States:
    return tuple(state.index_select(0, places) for state in states)


def _depth(trees: BinaryTrees, node: Tensor) -> Tensor:
    """How far each node is below the top."""
    above = node.clone()
    above[trees.left] = above[trees.right] = node[trees.word.numel() :]
    depth = (above != node).long()
    while not torch.equal(above, above[above]):  # twice as far at each step
        depth = depth + depth[above]
        above = above[above]
    return depth
