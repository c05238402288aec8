"""The chain: a tree that holds nothing but word order."""

from __future__ import annotations

from torch import Tensor

from graphdep.transforms.tree_transform import TreeTransform, WordTable


class ChainTree(TreeTransform):
    r"""Replaces the parse: the first word of each utterance is the root, each other depends on the previous.

    Relations stay with their words, except that the old and the new root word exchange theirs. A control:
    as many arcs, but no syntax.
    """

    def tree(self, words: WordTable) -> tuple[Tensor, Tensor]:
        governor = (words.row - 1).maximum(words.start)
        return governor, words.swap_root(governor)
