"""Trees with a share of wrong arcs: simulated errors of a parser."""

from __future__ import annotations

import torch
from torch import Tensor

from graphdep.transforms._hash import mix, unsigned
from graphdep.transforms._options import count
from graphdep.transforms.tree_transform import TreeTransform, WordTable


class NoisyTree(TreeTransform):
    r"""Gives a share of the words another governor, so that an utterance of n words with one root has
    round(p (n - 1)) arcs wrong and is still a tree: from the parse (p = 0) to a tree without any of its arcs
    (p = 1). What a method loses along p is what it needs of the parse.

    Which words, and under which ones, is drawn evenly: words are put in an order in which each word that
    keeps its governor stands behind it, and the others go under a word before them that was not their
    governor. A word that has none such (the first behind the root, if the root was its governor) keeps its
    own. Roots stay roots, relations stay with their words. A parser errs where sentences are hard, and
    mostly by a little; these errors are anywhere.

    Errors depend on the seed and on the words of the utterance alone, as those of
    :class:`~graphdep.transforms.RandomTree`, and those of a smaller p are among those of a larger one, but
    not with the same wrong governors.

    Args:
        p: Share of the words that are not roots whose governor is wrong, from 0 to 1.
        seed: A whole number >= 0. (default: :obj:`0`)

    Raises:
        ValueError: If an argument is none of those.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import NoisyTree
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = to_data([sentence], root=False)
        >>> data.governor_index, NoisyTree(p=0.34)(data).governor_index
        (tensor([1, 1, 3, 1]), tensor([1, 1, 1, 1]))
    """

    def __init__(self, p: float, seed: int = 0) -> None:
        if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 <= p <= 1:
            raise ValueError(f"'p' must be from 0 to 1 (got {p!r})")
        self.p = float(p)
        self.seed = count("seed", seed)

    def tree(self, words: WordTable) -> tuple[Tensor, Tensor]:
        chance = words.chance(self.seed)
        wrong = self._wrong(words, unsigned(mix(chance)))
        order = _order(words, wrong, unsigned(chance))
        place = torch.empty_like(order).index_copy(0, order, words.row) - words.start
        old = place[words.governor]
        before = old < place  # the old governor is among the words to choose from
        choices = place - before.long()
        pick = unsigned(mix(chance + 1)) % choices.clamp(min=1)
        pick = pick + (before & (pick >= old)).long()
        governor = torch.where(wrong & (choices > 0), order[words.start + pick], words.governor)
        return governor, words.deprel

    def _wrong(self, words: WordTable, chance: Tensor) -> Tensor:
        """Which words get another governor: round(p times the words that have one), those of least chance."""
        bound = words.governor != words.row
        order = _by_utterance(words, torch.where(bound, chance, torch.iinfo(chance.dtype).max))
        rank = torch.empty_like(order).index_copy(0, order, words.row) - words.start
        have = torch.zeros_like(rank).index_add(0, words.start, bound.long())[words.start]
        return bound & (rank < (self.p * have.double()).round().long())


def _order(words: WordTable, wrong: Tensor, chance: Tensor) -> Tensor:
    """Rows utterance by utterance in a random order that begins with the roots, in which every word stands
    behind its governor, unless that is wrong.
    """
    is_root = words.governor == words.row
    above = torch.where(wrong, words.row, words.governor)
    largest, depth = chance.masked_fill(is_root, -1), (above != words.row).long()
    # The largest chance on the way up, by pointer jumping: nothing below has a smaller one.
    for _ in range(above.numel().bit_length()):
        further = above[above]
        if torch.equal(further, above):
            break
        largest, depth = torch.maximum(largest, largest[above]), depth + depth[above]
        above = further
    largest = torch.maximum(largest, largest[above])
    order = depth.argsort(stable=True)
    order = order[largest[order].argsort(stable=True)]
    return order[words.start[order].argsort(stable=True)]


def _by_utterance(words: WordTable, key: Tensor) -> Tensor:
    order = key.argsort(stable=True)
    return order[words.start[order].argsort(stable=True)]
