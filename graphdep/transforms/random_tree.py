"""Random trees: the control that has everything of a parse but the parse."""

from __future__ import annotations

from torch import Tensor

from graphdep.transforms._hash import example_hash, mix, unsigned
from graphdep.transforms._options import count
from graphdep.transforms.tree_transform import TreeTransform, WordTable


class RandomTree(TreeTransform):
    r"""Replaces the parse of each utterance by a random recursive tree: words are taken in random order, the
    first is the root, each other one depends on one of those before it, all equally likely.

    Relations stay with their words, except that the old and the new root word exchange theirs. The tree
    depends on the seed and on what the example holds, not on its place in a batch nor on the time, so a
    sentence has the same random tree in every epoch.

    Args:
        seed: A whole number >= 0. (default: :obj:`0`)

    Raises:
        ValueError: If :obj:`seed` is no such number.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = count("seed", seed)

    def tree(self, words: WordTable) -> tuple[Tensor, Tensor]:
        nodes = words.nodes
        chance = mix(example_hash(nodes, self.seed)[nodes.example[words.node]] ^ mix(nodes.local[words.node]))
        order = chance.argsort(stable=True)
        order = order[words.start[order].argsort(stable=True)]
        # Row k of `order` is the word at place k; it picks one of the places before it.
        earlier = words.place.clamp(min=1)
        pick = unsigned(mix(chance[order])) % earlier
        governor = words.row.index_copy(0, order, order[words.start + pick])
        return governor, words.swap_root(governor)
