"""Controls: random, noisy, chain, reversed and unlabelled trees, random brackets, rewired edges."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import cumsum, lexsort

from graphdep.io.limits import check_choice, check_count, check_share
from graphdep.transforms.edge_set import CLIQUES, CLS, EdgeConstructor, EdgeSet
from graphdep.transforms.nodes import Nodes, arcs_to_top, ends_of, expand_ranges, write
from graphdep.transforms.options import constructor_repr, refuse_keys, require_key
from graphdep.transforms.phrases import Phrases, top_words
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import PhraseVocab

_KEYS = ("node_type", "governor_index", "deprel", "utterance", "word", "input_ids")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


_STEP, _MIX_1, _MIX_2 = map(_signed, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def mix(value: Tensor) -> Tensor:
    """SplitMix64: an integer hash of each 64-bit number, the same on every device."""
    value = value + _STEP
    value = (value ^ _shift(value, 30)) * _MIX_1
    value = (value ^ _shift(value, 27)) * _MIX_2
    return value ^ _shift(value, 31)


def _shift(value: Tensor, bits: int) -> Tensor:
    """Logical shift to the right; the shift of torch keeps the sign."""
    return (value >> bits) & ((1 << (64 - bits)) - 1)


def example_hash(nodes: Nodes, seed: int) -> Tensor:
    """A number for each example, computed from its nodes and the seed: ``[examples]``."""
    row = mix(nodes.local)
    for key in _KEYS:
        if key in nodes.data:
            value = nodes[key].long()
            row = mix(row ^ (value - nodes.ptr[nodes.example] if "index" in key else value))
    total = torch.zeros_like(nodes.ptr[:-1]).index_add(0, nodes.example, row)
    return mix(total ^ seed_key(total, seed))


def seed_key(like: Tensor, seed: int) -> Tensor:
    """The hash of a seed of any size, repeated for each entry of ``like``."""
    return mix(torch.full_like(like, _signed(seed % (1 << 64))))


def unsigned(value: Tensor) -> Tensor:
    """The upper 63 bits of a hash: a number >= 0."""
    return _shift(value, 1)


def permute(value: Tensor, size: Tensor, key: Tensor) -> Tensor:
    """Applies the permutation of 0 ... ``size`` - 1 chosen by ``key`` to ``value``, without building it: a
    Feistel network, repeated (cycle walking) until its output is below ``size``.
    """
    half = (size.double().log2().ceil().long() + 1).div(2, rounding_mode="floor").clamp(min=1)
    value = _feistel(value, half, key)
    while bool((outside := value >= size).any()):
        value = torch.where(outside, _feistel(value, half, key), value)
    return value


def _feistel(value: Tensor, half: Tensor, key: Tensor) -> Tensor:
    mask = (torch.ones_like(half) << half) - 1
    left, right = value >> half, value & mask
    for number in range(4):
        left, right = right, left ^ (mix(key ^ (right * 4 + number)) & mask)
    return (left << half) | right


TREE_LABELS = ("dep", "keep")


@dataclass(frozen=True, eq=False)
class WordTable:
    r"""The words of a batch in order, utterance by utterance; the row of a word is its id.

    Args:
        nodes: The nodes.
        node: The first piece of each word: ``[W]``.
        size: Number of words of each word's utterance: ``[W]``.
        governor: Row of each word's governor; a root word has its own row: ``[W]``.
        deprel: Relation of each word to its governor: ``[W]``.
        deprel: Relation to its governor: ``[W]``.
    """

    nodes: Nodes
    node: Tensor
    start: Tensor
    size: Tensor
    governor: Tensor
    deprel: Tensor

    @classmethod
    def of(cls, nodes: Nodes) -> WordTable:
        """Reads the words that have a place in the tree."""
        node = (nodes.in_tree & (nodes["word"] >= 0)).nonzero().view(-1)
        node = node[lexsort([nodes["word"][node], nodes.block[node]])]
        _, group, count = nodes.block[node].unique_consecutive(return_inverse=True, return_counts=True)
        row = torch.arange(node.numel(), device=node.device)
        row_of = torch.full_like(nodes.index, -1).index_copy(0, node, row)
        above = row_of[nodes.first[nodes["governor_index"][node]]]
        governor = torch.where(above < 0, row, above)
        return cls(nodes, node, cumsum(count)[group], count[group], governor, nodes["deprel"][node])

    @property
    def row(self) -> Tensor:
        """The row of each word: ``[W]``."""
        return torch.arange(self.node.numel(), device=self.node.device)

    @property
    def place(self) -> Tensor:
        """Position of each word in its utterance, from 0: ``[W]``."""
        return self.row - self.start

    @property
    def old_root(self) -> Tensor:
        """Row of the first root word of each word's utterance: ``[W]``."""
        roots = torch.where(self.governor == self.row, self.row, self.row.numel())
        first = torch.full_like(roots, roots.numel()).scatter_reduce(0, self.start, roots, "amin")[self.start]
        if bool((first == roots.numel()).any()):
            raise ValueError("'governor_index' has a cycle: an utterance has no root word")
        return first

    def chance(self, seed: int) -> Tensor:
        """A random number for each word, which depends only on the seed and on the words of its utterance:
        ``[W]``.
        """
        row = mix(self.place)
        if "input_ids" in self.nodes.data:
            row = mix(row ^ self.nodes["input_ids"][self.node])
        total = torch.zeros_like(row).index_add(0, self.start, row)
        return mix(mix(total ^ seed_key(total, seed))[self.start] ^ mix(self.place))

    def label(self, governor: Tensor, labels: str) -> Tensor:
        """Relations of a tree other than the parse: only *root* and *dep*, or the relations of the parse."""
        if labels == "keep":
            return self.swap_root(governor)
        relations = RelationVocab()
        plain = torch.full_like(self.deprel, relations["dep"])
        return plain.masked_fill(governor == self.row, relations["root"])

    def swap_root(self, governor: Tensor) -> Tensor:
        """The relations, each with its word, except that the old and the new root word swap theirs."""
        new_root = self.row[governor == self.row]
        old_root = self.old_root[new_root]
        deprel = self.deprel.index_copy(0, old_root, self.deprel[new_root])
        # If the new root was one of several roots, all relations stay.
        was_root = self.governor[new_root] == new_root
        deprel = deprel.index_copy(0, old_root[was_root], self.deprel[old_root[was_root]])
        fresh = torch.where(was_root, self.deprel[new_root], self.deprel[old_root])
        return deprel.index_copy(0, new_root, fresh)


class TreeTransform(BaseTransform):
    r"""Base class of transforms that replace the tree of each utterance by another tree over its words.

    :obj:`governor_index`, :obj:`deprel`, :obj:`depth` and, if present, :obj:`arc_index` and :obj:`arc_type`
    are replaced by those of the new tree; arcs of an enhanced graph are removed. All pieces of a word follow
    the word. The governor of a root word is that of the first old root word: ROOT, or the word itself.

    Raises:
        ValueError: If the data has edges or relation nodes, which would still describe the old tree.
    """

    carries: frozenset[str] = frozenset()

    @abstractmethod
    def tree(self, words: WordTable) -> tuple[Tensor, Tensor]:
        """Row of each word's new governor (its own row for a root word), and its new relation."""

    def forward(self, data: Data) -> Data:
        refuse_keys(data, self, ("edge_index", "clique", "arc_node_index"))
        nodes = Nodes(data)
        words = WordTable.of(nodes)
        governor, deprel = self.tree(words)
        top = nodes.first[nodes["governor_index"][words.node]][words.old_root]
        own = top == words.node[words.old_root]
        is_root = governor == words.row
        above = torch.where(is_root & ~own, top, words.node[governor])
        columns = {"governor_index": above, "deprel": deprel, "depth": arcs_to_top(governor) + 1}
        rows = {key: self._spread(nodes, words, key, column) for key, column in columns.items()}
        out = write(data, rows, nodes.ptr, nodes.ptr)
        return _write_arcs(out, words) if "arc_index" in data else out

    def _spread(self, nodes: Nodes, words: WordTable, key: str, column: Tensor) -> Tensor:
        """Copies the values of each word to all of its pieces; other nodes keep their values."""
        return nodes[key].index_copy(0, words.node, column)[nodes.first]

    def __repr__(self) -> str:
        return constructor_repr(self)


def _write_arcs(out: Data, words: WordTable) -> Data:
    node = words.node.sort().values
    governor = out["governor_index"][node]
    node, governor = node[governor != node], governor[governor != node]
    arcs = {"arc_index": torch.stack([governor, node]), "arc_type": out["deprel"][node]}
    return write(out, arcs, ends_of(words.nodes, node), words.nodes.ptr)


BRACKET_LABELS = ("drop", "keep")


class BracketTransform(BaseTransform):
    r"""Base class of transforms that replace the constituents of each utterance by another binary tree:
    :math:`n - 1` constituents of at least two words for :math:`n` words, and one for a single word.

    Args:
        labels: ``"drop"``: all constituents have the label ``X``. ``"keep"``: constituent k of an utterance
            (in preorder) has the label of constituent k of the parse, starting again at the first label after
            the last one; without constituents in the parse the label is ``X``. (default: ``"drop"``)

    Raises:
        ValueError: If :obj:`labels` is unknown, the data has no constituents, or it has phrase nodes or
            edges, which would still describe the old constituents.
    """

    carries: frozenset[str] = frozenset()

    def __init__(self, *, labels: str = "drop") -> None:
        self.labels = check_choice("labels", labels, BRACKET_LABELS)

    @abstractmethod
    def spans(self, words: WordTable) -> tuple[Tensor, Tensor]:
        """First and last row of one constituent for each gap between two words of an utterance, in the order
        of the gaps. The gap after a word belongs to its row, so the last word of an utterance has none.
        """

    def forward(self, data: Data) -> Data:
        if "phrase_node_index" in data:
            raise ValueError(
                f"{self} comes before phrase nodes: make the data with phrases='spans', and the nodes after "
                "it (PhraseNodes, or resolve('constituents'))"
            )
        refuse_keys(data, self, ("edge_index", "clique"))
        nodes = Nodes(data)
        old, words = Phrases(nodes), WordTable.of(nodes)
        first, last = self.spans(words)
        alone = words.row[words.size == 1]
        first, last = torch.cat([first, alone]), torch.cat([last, alone])
        order = last.argsort(descending=True, stable=True)
        order = order[first[order].argsort(stable=True)]  # preorder
        first, last = first[order], last[order]
        node = words.node[first]
        keys = {
            "phrase_index": torch.stack([node, words.node[last]]),
            "phrase_type": self._labels(nodes, old, words, first),
        }
        return write(data, keys, ends_of(nodes, node), nodes.ptr)

    def _labels(self, nodes: Nodes, old: Phrases, words: WordTable, first: Tensor) -> Tensor:
        plain = torch.full_like(first, PhraseVocab.UNK)
        kinds = nodes["phrase_type"]
        if self.labels == "drop" or not kinds.numel():
            return plain
        blocks = int(nodes.block.max()) + 1
        mine, theirs = nodes.block[words.node[first]], nodes.block[old.first]
        count = theirs.bincount(minlength=blocks)
        start, begin = cumsum(count), cumsum(mine.bincount(minlength=blocks))
        place = torch.arange(first.numel(), device=first.device) - begin[mine]
        taken = start[mine] + place % count[mine].clamp(min=1)
        return torch.where(count[mine] > 0, kinds[taken.clamp(max=kinds.numel() - 1)], plain)

    def __repr__(self) -> str:
        return constructor_repr(self)


class ChainTree(TreeTransform):
    r"""Replaces the parse by a chain: each word depends on the word before it, the first word is the root.

    A control with as many arcs as the parse, but no syntax.

    Args:
        labels: ``"dep"``: the first word has the relation *root*, all others *dep*. ``"keep"``: relations
            stay with their words, except that the old and the new root word swap theirs. (default: ``"dep"``)

    Raises:
        ValueError: If :obj:`labels` is unknown.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import ChainTree
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> ChainTree()(to_data([sentence], root=False)).governor_index
        tensor([0, 0, 1, 2])
    """

    def __init__(self, *, labels: str = "dep") -> None:
        self.labels = check_choice("labels", labels, TREE_LABELS)

    def tree(self, words: WordTable) -> tuple[Tensor, Tensor]:
        governor = (words.row - 1).maximum(words.start)
        return governor, words.label(governor, self.labels)


class NoisyTree(TreeTransform):
    r"""Gives a share p of the words a wrong governor: in an utterance of n words with one root, round(p (n -
    1)) arcs are wrong, and the result is still a tree. The parse is p = 0; at p = 1 none of its arcs is left.
    The loss of a method along p shows how much it needs the parse.

    Words and their wrong governors are drawn uniformly. The words are put in a random order in which each
    word that keeps its governor comes after it; every other word gets a wrong governor from the words before
    it. A word without a candidate (the first after the root, if the root was its governor) keeps its own.
    Roots stay roots, and relations stay with their words. A real parser errs in hard sentences and mostly by
    little; these errors may be anywhere.

    As in :class:`~graphdep.transforms.RandomTree`, errors depend only on the seed and on the words of the
    utterance. Words that are wrong at a smaller p are also wrong at a larger one, but may have other
    governors there.

    Args:
        p: Share of the words other than roots whose governor is wrong, from 0 to 1.
        seed: A whole number >= 0. (default: :obj:`0`)

    Raises:
        ValueError: If :obj:`p` or :obj:`seed` is out of range.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import NoisyTree
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = to_data([sentence], root=False)
        >>> data.governor_index, NoisyTree(p=0.34)(data).governor_index
        (tensor([1, 1, 3, 1]), tensor([1, 1, 1, 1]))
    """

    def __init__(self, p: float, seed: int = 0) -> None:
        check_share("p", p)
        self.p = float(p)
        self.seed = check_count("seed", seed)

    def tree(self, words: WordTable) -> tuple[Tensor, Tensor]:
        chance = words.chance(self.seed)
        wrong = self._wrong(words, unsigned(mix(chance)))
        order = _order(words, wrong, unsigned(chance))
        place = torch.empty_like(order).index_copy(0, order, words.row) - words.start
        old = place[words.governor]
        before = old < place  # the old governor is a candidate
        choices = place - before.long()
        pick = unsigned(mix(chance + 1)) % choices.clamp(min=1)
        pick = pick + (before & (pick >= old)).long()
        governor = torch.where(wrong & (choices > 0), order[words.start + pick], words.governor)
        return governor, words.deprel

    def _wrong(self, words: WordTable, chance: Tensor) -> Tensor:
        """Whether each word gets a wrong governor: round(p n) of the n words with one, by chance."""
        bound = words.governor != words.row
        order = lexsort([torch.where(bound, chance, torch.iinfo(chance.dtype).max), words.start])
        rank = torch.empty_like(order).index_copy(0, order, words.row) - words.start
        have = torch.zeros_like(rank).index_add(0, words.start, bound.long())[words.start]
        return bound & (rank < (self.p * have.double()).round().long())


def _order(words: WordTable, wrong: Tensor, chance: Tensor) -> Tensor:
    """Rows in a random order, utterance by utterance and roots first, in which every word comes after its
    governor, unless the governor is wrong.
    """
    is_root = words.governor == words.row
    above = torch.where(wrong, words.row, words.governor)
    largest, depth = chance.masked_fill(is_root, -1), (above != words.row).long()
    # The largest chance on the way to the root, by pointer jumping: no descendant has a smaller one.
    for _ in range(above.numel().bit_length()):
        further = above[above]
        if torch.equal(further, above):
            break
        largest, depth = torch.maximum(largest, largest[above]), depth + depth[above]
        above = further
    largest = torch.maximum(largest, largest[above])
    return lexsort([depth, largest, words.start])


class RandomTree(TreeTransform):
    r"""Replaces the parse of each utterance by a random recursive tree: in a random order of the words, the
    first is the root and each other word depends on a word before it, chosen uniformly.

    The tree depends only on the seed and on the words of the utterance (their :obj:`input_ids`; without ids,
    their number), so equal sentences have equal random trees: in both halves of a pair and in every pair,
    batch and epoch. Nothing of the parse is left.

    Args:
        seed: A whole number >= 0. (default: :obj:`0`)
        labels: ``"dep"``: the root word has the relation *root*, all others *dep*. ``"keep"``: relations stay
            with their words, except that the old and the new root word swap theirs; the labels then still
            show how the parser analysed each word. (default: ``"dep"``)

    Raises:
        ValueError: If :obj:`seed` or :obj:`labels` is invalid.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import RandomTree
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> RandomTree(seed=1)(to_data([sentence], root=False)).governor_index
        tensor([2, 3, 2, 2])
    """

    def __init__(self, seed: int = 0, *, labels: str = "dep") -> None:
        self.seed = check_count("seed", seed)
        self.labels = check_choice("labels", labels, TREE_LABELS)

    def tree(self, words: WordTable) -> tuple[Tensor, Tensor]:
        chance = words.chance(self.seed)
        order = lexsort([chance, words.start])
        # Row k of `order` is the word at place k; its governor is at one of the places before k.
        earlier = words.place.clamp(min=1)
        pick = unsigned(mix(chance[order])) % earlier
        governor = words.row.index_copy(0, order, order[words.start + pick])
        return governor, words.label(governor, self.labels)


class RerootedTree(TreeTransform):
    r"""Makes the top word of the first marked span the root of the tree, as `"Relational Graph Attention
    Network for Aspect-based Sentiment Analysis" <https://arxiv.org/abs/2004.12362>`_ does with the aspect.

    The arcs between that word and the old root are reversed, all others stay: the same words are joined, and
    depth is now the distance from the span. A reversed arc keeps its relation, which now belongs to its new
    dependent; the new root takes the relation of the old one. An example whose span has no word keeps its
    tree.

    The paper prunes further: only dependents of the aspect keep their relations, and all other words get
    their distance from the aspect instead. :class:`TreePathTypes` over this tree gives the same information:
    a relation at one arc from the root, and a path code :math:`(n, 0)` at :math:`n` arcs.

    Args:
        labels: ``"keep"``: a reversed arc keeps its relation. ``"inverse"``: it gets the inverse relation
            (:meth:`RelationVocab.inverse`), so that joined words have the same types in
            :class:`TreePathTypes` as before. (default: ``"keep"``)

    Raises:
        ValueError: If :obj:`labels` is unknown, or the data has no ``mark``
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
        self.labels = check_choice("labels", labels, ("keep", "inverse"))

    def tree(self, words: WordTable) -> tuple[Tensor, Tensor]:
        governor, deprel = words.governor.clone(), words.deprel.clone()
        turned = words.deprel if self.labels == "keep" else RelationVocab.inverse(words.deprel)
        root = self._new_roots(words)
        below = root
        for _ in range(words.row.numel()):  # in a tree the path ends sooner
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


class ReversedTree(TreeTransform):
    r"""Replaces the parse by its mirror image: word k of an utterance of n words takes the place of word
    n - 1 - k in the tree, with that word's relation.

    Depths, numbers of dependents, arc lengths and relations occur as often as before, but at the wrong words.
    Applying the transform twice restores the parse. (Reversing the **arcs** would not give a tree: a word has
    one governor but any number of dependents. To read the same tree in the other direction, use
    ``DependencyEdges("dependent")`` instead of ``DependencyEdges("governor")``.)

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


class RandomBrackets(BracketTransform):
    r"""Replaces the constituents of each utterance by those of a random binary tree: the words are split at a
    random gap, all gaps equally likely, and so is each part, down to single words.

    As in :class:`RandomTree`, the brackets depend only on the seed and on the words of the utterance.

    Args:
        seed: A whole number >= 0. (default: :obj:`0`)
        labels: ``"drop"`` or ``"keep"``, see :class:`BracketTransform`. (default: ``"drop"``)

    Raises:
        ValueError: As :class:`BracketTransform`, or if :obj:`seed` is invalid.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import RandomBrackets
        >>> tree = ["big", "dogs", "bark"], [2, 3, 0], ["amod", "nsubj", "root"]
        >>> data = to_data([Sentence(*tree, constituents=[])], root=False, phrases="spans")
        >>> RandomBrackets(seed=1)(data).phrase_index.size(1)
        2
    """

    def __init__(self, seed: int = 0, *, labels: str = "drop") -> None:
        self.seed = check_count("seed", seed)
        self.labels = check_choice("labels", labels, BRACKET_LABELS)

    def spans(self, words: WordTable) -> tuple[Tensor, Tensor]:
        # Gaps have random ranks, and words are split at their highest gap, so the span of a gap reaches to
        # the next higher gap on either side. The last rows of utterances are above all gaps.
        chance, row = unsigned(words.chance(self.seed)), words.row
        order = chance.argsort(descending=True, stable=True)
        is_gap = row < words.start + words.size - 1
        rank = torch.empty_like(row).index_copy(0, order, row).masked_fill(~is_gap, -1)
        first, last = row.numel() - _next_higher(rank.flip(0)).flip(0), _next_higher(rank)
        return first[is_gap], last[is_gap]


def _next_higher(rank: Tensor) -> Tensor:
    """The next row of a smaller rank for each row, or of rank -1, as if such a row followed the last one."""
    lowest = [F.pad(rank, (0, 1), value=-1)]  # minima of the 1, 2, 4, ... rows from each row on
    while bool((lowest[-1] >= 0).any()):
        step = 1 << (len(lowest) - 1)
        lowest.append(torch.minimum(lowest[-1], F.pad(lowest[-1][step:], (0, step), value=-1)))
    row = torch.arange(1, rank.numel() + 1, device=rank.device)
    for level in reversed(range(len(lowest))):
        row = torch.where(lowest[level][row] > rank, row + (1 << level), row)
    return row


class RightBrackets(BracketTransform):
    r"""Replaces the constituents of each utterance by right-branching ones: all words, all but the first, and
    so on, down to the last two.

    A control without syntax, but close to the brackets of English.

    Args:
        labels: ``"drop"`` or ``"keep"``, see :class:`BracketTransform`. (default: ``"drop"``)

    Raises:
        ValueError: As :class:`BracketTransform`.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import RightBrackets
        >>> tree = ["big", "dogs", "bark"], [2, 3, 0], ["amod", "nsubj", "root"]
        >>> data = to_data([Sentence(*tree, constituents=[])], root=False, phrases="spans")
        >>> RightBrackets()(data).phrase_index
        tensor([[0, 1],
                [2, 2]])
    """

    def spans(self, words: WordTable) -> tuple[Tensor, Tensor]:
        last = words.start + words.size - 1
        inner = words.row < last
        return words.row[inner], last[inner]


class RewiredEdges(EdgeConstructor):
    r"""Masks a share of the right pairs and adds as many wrong ones: the parsing errors of appendix C of
    `"Modeling Compositionality with Dependency Graph for Dialogue Generation"
    <https://aclanthology.org/2022.suki-1.2/>`_.

    Of the R pairs of an example, round(p R) are removed, and as many pairs outside the set are added (fewer
    if the scope has fewer). This is one reading: the paper says neither how many wrong pairs are added nor
    where they are drawn from. Self loops and pairs with a ROOT node are neither counted nor removed nor
    added: ROOT sees its utterance (Eq. 2, u = 0) whatever the parse. The choice of pairs depends only on the
    seed and on the content of the example, not on its place in a batch or on time.

    Args:
        edges: The right edges.
        p: Share of the pairs to replace, from 0 to 1.
        seed: A whole number >= 0. (default: :obj:`0`)
        scope: Wrong pairs are drawn within each ``"utterance"`` or in the whole ``"example"``.
            (default: ``"utterance"``)

    Raises:
        ValueError: If an argument is invalid.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import DependencyEdges, RewiredEdges
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = to_data([sentence], root=False)
        >>> DependencyEdges("governor")(data).edge_index.tolist()
        [[0, 3, 2], [1, 1, 3]]
        >>> RewiredEdges(DependencyEdges("governor"), p=0.5)(data).edge_index.tolist()
        [[1, 0, 2], [0, 3, 3]]
    """

    def __init__(self, edges: EdgeConstructor, p: float, seed: int = 0, *, scope: str = "utterance") -> None:
        check_share("p", p)
        self.edges = edges
        self.p = float(p)
        self.seed = check_count("seed", seed)
        self.scope = check_choice("scope", scope, ("utterance", "example"))

    @property
    def carries(self) -> frozenset[str] | None:
        right = self.edges.carries
        # A wrong pair may have [CLS] as its target, but never ROOT.
        return None if right is None or CLS in right else right - {CLIQUES}

    def build(self, nodes: Nodes) -> EdgeSet:
        source, target = self.edges.edge_set(nodes).materialize().edge_index
        root = nodes.is_type(("ROOT",))
        kept = (source == target) | root[source] | root[target]
        always = source[kept], target[kept]
        source, target = source[~kept], target[~kept]
        chance = example_hash(nodes, self.seed)
        example = nodes.example[target]
        size = example.bincount(minlength=chance.numel())
        errors = (self.p * size.double()).round().long()
        kept = _rank(nodes, chance, source, target, cumsum(size)) >= errors[example]
        wrong_source, wrong_target = self._wrong(nodes, chance, source, target, errors)
        source = torch.cat([always[0], source[kept], wrong_source])
        return EdgeSet(nodes, source, torch.cat([always[1], target[kept], wrong_target]))

    def _wrong(
        self, nodes: Nodes, chance: Tensor, source: Tensor, target: Tensor, errors: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Pairs outside the set, drawn by their rank among all such pairs, which are never listed."""
        group = nodes.block if self.scope == "utterance" else nodes.example
        # A ROOT node is a group of its own, so no wrong pair contains one.
        alone = group.max() + 1 + nodes.index
        group = torch.where(nodes.is_type(("ROOT",)), alone, group).unique(return_inverse=True)[1]
        pairs = _PairNumbers(nodes, group)
        inside = pairs.group[source] == pairs.group[target]
        source, target = torch.cat([source[inside], nodes.index]), torch.cat([target[inside], nodes.index])
        taken = pairs.number(source, target).sort().values
        used = nodes.example[target].bincount(minlength=chance.numel())
        free = pairs.per_example - used
        example, rank = expand_ranges(torch.zeros_like(free), errors.minimum(free))
        rank = permute(rank, free[example], mix(chance)[example])
        rank = rank + cumsum(free)[example]
        # Before taken[k] there are taken[k] - k free numbers.
        before = torch.searchsorted(
            taken - torch.arange(taken.numel(), device=taken.device), rank, right=True
        )
        return pairs.pair(rank + before)


class _PairNumbers:
    """Numbers all pairs of nodes of the same group, group by group, then target by target."""

    def __init__(self, nodes: Nodes, group: Tensor) -> None:
        self.group = group
        self.size = group.bincount()
        self.order = group.argsort(stable=True)
        self.start = cumsum(self.size)
        self.place = torch.empty_like(self.order).index_copy(0, self.order, nodes.index) - self.start[group]
        self.base = cumsum(self.size * self.size)
        totals = torch.zeros_like(nodes.ptr[:-1])
        self.per_example = totals.index_add(0, nodes.example, self.size[group])

    def number(self, source: Tensor, target: Tensor) -> Tensor:
        group = self.group[target]
        return self.base[group] + self.place[target] * self.size[group] + self.place[source]

    def pair(self, number: Tensor) -> tuple[Tensor, Tensor]:
        group = torch.searchsorted(self.base, number, right=True) - 1
        within, size = number - self.base[group], self.size[group]
        target = within.div(size, rounding_mode="floor")
        start = self.start[group]
        return self.order[start + within - target * size], self.order[start + target]


def _rank(nodes: Nodes, chance: Tensor, source: Tensor, target: Tensor, start: Tensor) -> Tensor:
    """Rank of each pair in a random order of the pairs of its example."""
    example = nodes.example[target]
    number = mix(mix(nodes.local[target]) ^ nodes.local[source])
    order = lexsort([unsigned(mix(chance[example] ^ number)), example])
    place = torch.arange(order.numel(), device=order.device)
    return torch.empty_like(order).index_copy(0, order, place - start[example[order]])


class ShuffledPositions(BaseTransform):
    r"""Permutes the positions of the words of each utterance: the control that keeps everything of a text but
    its word order. The pieces of a word stay together; ROOT, [CLS] and other nodes keep their positions, and
    trees and edges, which refer to nodes, do not change.

    The order depends only on the seed and on the words of the utterance, so equal sentences are shuffled
    alike. Models that read words in node order, such as an LSTM, do not notice the shuffle.

    Args:
        seed: A whole number >= 0. (default: :obj:`0`)

    Raises:
        ValueError: If :obj:`seed` is invalid, or the data has no positions.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import ShuffledPositions
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> ShuffledPositions()(to_data([sentence])).position
        tensor([0, 4, 1, 3, 2])
    """

    carries: frozenset[str] = frozenset()

    def __init__(self, seed: int = 0) -> None:
        self.seed = check_count("seed", seed)

    def forward(self, data: Data) -> Data:
        nodes = Nodes(data)
        words = WordTable.of(nodes)
        row = torch.full_like(nodes.index, -1).index_copy(0, words.node, words.row)[nodes.first]
        moved = (row >= 0).nonzero().view(-1)
        block, old = nodes.block[moved], nodes["position"][moved]
        chance = unsigned(words.chance(self.seed))[row[moved]]
        places = lexsort([old, block])
        # By utterance, then by the chance of the word, then by the order of the pieces.
        order = lexsort([old, row[moved], chance, block])
        position = nodes["position"].index_copy(0, moved[order], old[places])
        return write(data, {"position": position}, nodes.ptr, nodes.ptr)

    def __repr__(self) -> str:
        return constructor_repr(self)


class Unlabelled(BaseTransform):
    r"""Gives all arcs the label ``dep``: the ablation that keeps only the shape of a parse.

    :obj:`deprel` and, if present, :obj:`arc_type` are merged by :meth:`RelationVocab.merge(labels=False)
    <graphdep.RelationVocab.merge>`: ``root`` is merged like any other label, even on a root word without a
    ROOT node, which has no arc. NONE, SELF and UNK are not labels, so they stay. Apply it before the
    transforms that read labels: :class:`RelationNodes`, :class:`TreePathTypes`.

    Raises:
        ValueError: If the data has no :obj:`deprel`, or has relation nodes or edge types, which would keep
            their labels.

    Example:
        >>> from graphdep import RelationVocab, Sentence, to_data
        >>> from graphdep.transforms import Unlabelled
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = Unlabelled()(to_data([sentence]))
        >>> [RelationVocab().label(int(r)) for r in data.deprel]
        ['[SELF]', 'dep', 'dep', 'dep', 'dep']
    """

    carries: frozenset[str] = frozenset()

    def forward(self, data: Data) -> Data:
        refuse_keys(data, self, ("edge_type", "arc_node_index"))
        require_key(data, "deprel", "Unlabelled merges labels")
        out = copy.copy(data)  # for callers of forward(); sizes, and so a batch's slices, stay
        for key in ("deprel", "arc_type"):
            if key in data:
                out[key] = RelationVocab.merge(data[key], labels=False)
        return out

    def __repr__(self) -> str:
        return constructor_repr(self)
