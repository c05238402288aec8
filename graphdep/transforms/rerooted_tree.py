"""The tree as it hangs from a marked span."""

from __future__ import annotations

import torch
from torch import Tensor

from graphdep.transforms._options import choice
from graphdep.transforms._span_path import top_words
from graphdep.transforms.tree_transform import TreeTransform, WordTable
from graphdep.vocab import RelationVocab


class RerootedTree(TreeTransform):
    r"""Hangs the tree of each example from the top word of its first marked span, as `"Relational Graph
    Attention Network for Aspect-based Sentiment Analysis" <https://arxiv.org/abs/2004.12362>`_ does with the
    aspect.

    The arcs between that word and the old root are turned round, all others stay: the same words are joined,
    and what is depth now is distance from the span. A turned arc takes its relation along, to the word that
    is the dependent now; the new root has the relation of the old one. An example without a word of the span
    keeps its tree.

    The paper prunes further: it keeps the relations of the aspect's own dependents and gives all other words
    the distance to it in place of one. Types that tell this much are those of :class:`TreePathTypes` over
    this tree: a relation one arc from the root, and a path code :math:`(n, 0)` at :math:`n` arcs.

    Args:
        labels: ``"keep"``: a turned arc has the relation that it had. ``"inverse"``: its inverse
            (:meth:`RelationVocab.inverse`), so that every two words that are joined have the same
            types in :class:`TreePathTypes` as before. (default: ``"keep"``)

    Raises:
        ValueError: If :obj:`labels` is neither, or the data has no ``mark``
            (:func:`~graphdep.data.node_table`: bit 1 in the first span).

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.data import mark_words
        >>> from graphdep.transforms import RerootedTree
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = mark_words(to_data([sentence], root=False), [0, 0, 1, 1])
        >>> RerootedTree()(data).governor_index
        tensor([1, 3, 3, 3])
    """

    def __init__(self, *, labels: str = "keep") -> None:
        self.labels = choice("labels", labels, ("keep", "inverse"))

    def tree(self, words: WordTable) -> tuple[Tensor, Tensor]:
        governor, deprel = words.governor.clone(), words.deprel.clone()
        turned = words.deprel if self.labels == "keep" else RelationVocab.inverse(words.deprel)
        root = self._new_roots(words)
        below = root
        for _ in range(words.row.numel()):  # in a tree the way ends sooner
            above = words.governor[below]
            up = above != below
            root_done, old_root = root[~up], below[~up]
            deprel[root_done] = words.deprel[old_root]
            root, below, above = root[up], below[up], above[up]
            if not below.numel():
                break
            governor[above], deprel[above] = below, turned[below]
            below = above
        new = self._new_roots(words)
        governor[new] = new
        return governor, deprel

    def _new_roots(self, words: WordTable) -> Tensor:
        row_of = torch.full_like(words.nodes.index, -1).index_copy(0, words.node, words.row)
        top = top_words(words.nodes, 1)
        return row_of[top[top >= 0]]
