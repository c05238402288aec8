"""The chain: a tree that holds nothing but word order."""

from __future__ import annotations

from torch import Tensor

from graphdep.transforms._options import choice
from graphdep.transforms.tree_transform import LABELS, TreeTransform, WordTable


class ChainTree(TreeTransform):
    r"""Replaces the parse: the first word of each utterance is the root, each other depends on the previous.

    A control: as many arcs, but no syntax.

    Args:
        labels: ``"dep"``: the first word has the relation *root*, every other one *dep*. ``"keep"``:
            relations stay with their words, except that the old and the new root word exchange theirs.
            (default: ``"dep"``)

    Raises:
        ValueError: If :obj:`labels` is neither.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import ChainTree
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> ChainTree()(to_data([sentence], root=False)).governor_index
        tensor([0, 0, 1, 2])
    """

    def __init__(self, *, labels: str = "dep") -> None:
        self.labels = choice("labels", labels, LABELS)

    def tree(self, words: WordTable) -> tuple[Tensor, Tensor]:
        governor = (words.row - 1).maximum(words.start)
        return governor, words.label(governor, self.labels)
