"""Random trees: the control that has everything of a parse but the parse."""

from __future__ import annotations

from torch import Tensor

from graphdep.transforms._hash import mix, unsigned
from graphdep.transforms._options import choice, count
from graphdep.transforms.tree_transform import LABELS, TreeTransform, WordTable


class RandomTree(TreeTransform):
    r"""Replaces the parse of each utterance by a random recursive tree: words are taken in random order, the
    first is the root, each other one depends on one of those before it, all equally likely.

    The tree depends on the seed and on the words of the utterance alone (on their :obj:`input_ids`; without
    them, on their number), so equal sentences have equal random trees: in both halves of a pair, in every
    pair, batch and epoch. Nothing of the parse is left in it.

    Args:
        seed: A whole number >= 0. (default: :obj:`0`)
        labels: ``"dep"``: the root word has the relation *root*, every other one *dep*. ``"keep"``: relations
            stay with their words, except that the old and the new root word exchange theirs; the labels then
            still tell what the parser thought of each word. (default: ``"dep"``)

    Raises:
        ValueError: If an argument is none of those.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import RandomTree
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> RandomTree(seed=1)(to_data([sentence], root=False)).governor_index
        tensor([2, 3, 2, 2])
    """

    def __init__(self, seed: int = 0, *, labels: str = "dep") -> None:
        self.seed = count("seed", seed)
        self.labels = choice("labels", labels, LABELS)

    def tree(self, words: WordTable) -> tuple[Tensor, Tensor]:
        chance = words.chance(self.seed)
        order = chance.argsort(stable=True)
        order = order[words.start[order].argsort(stable=True)]
        # Row k of `order` is the word at place k; it picks one of the places before it.
        earlier = words.place.clamp(min=1)
        pick = unsigned(mix(chance[order])) % earlier
        governor = words.row.index_copy(0, order, order[words.start + pick])
        return governor, words.label(governor, self.labels)
