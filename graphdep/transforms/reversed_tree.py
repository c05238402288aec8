"""The mirrored tree: the right shape over the wrong words."""

from __future__ import annotations

from torch import Tensor

from graphdep.transforms.tree_transform import TreeTransform, WordTable


class ReversedTree(TreeTransform):
    r"""Replaces the parse by its mirror image: word k of an utterance of n words takes the place of word
    n - 1 - k in the tree, with that word's relation.

    Depths, numbers of dependents, arc lengths and relations occur as often as before, and applying it twice
    gives the parse back, but the words sit in wrong places. (Reversing the **arcs** would leave no tree:
    a word has one governor but any number of dependents. For the same tree read in the other direction use
    ``DependencyEdges("dependent")`` for ``DependencyEdges("governor")``.)

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import ReversedTree
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> ReversedTree()(to_data([sentence], root=False)).governor_index
        tensor([2, 0, 2, 2])
    """

    def tree(self, words: WordTable) -> tuple[Tensor, Tensor]:
        mirror = 2 * words.start + words.size - 1 - words.row
        return mirror[words.governor[mirror]], words.deprel[mirror]
