"""Encoders over constituents: RNTN, binary Tree-LSTM and BiTree-LSTM."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data

from graphdep.io.limits import check_choice, check_count
from graphdep.nn.attention.layout import TensorContainer
from graphdep.nn.models.embedding import word_embedding
from graphdep.nn.models.transformer import TextEncoder, root_nodes, utterance_of, words_of
from graphdep.nn.prepared import kept
from graphdep.transforms.nodes import arcs_to_top, expand_ranges
from graphdep.transforms.options import require_key
from graphdep.vocab.vocab import PhraseVocab

WHOLE = PhraseVocab()["ROOT"]
"""Label of the constituent that is added around all words of an utterance if there is none."""


class BinaryTrees(NamedTuple):
    r"""Binary trees over the words of each utterance. The :math:`n` words are nodes 0 to :math:`n - 1`, in
    order, followed by the inner nodes.

    Args:
        word: The node of each word in the node table: ``[n]``.
        left, right: The children of each inner node: ``[inner]``.
        label: The label of each inner node; binarization copies the label of the constituent: ``[inner]``.
        top: The top node of each utterance that has words.
        root: The ROOT node of each of these utterances in the node table.
        phrase: The tree node of each constituent of the data.
    """

    word: Tensor
    left: Tensor
    right: Tensor
    label: Tensor
    top: Tensor
    root: Tensor
    phrase: Tensor


RULES = ("left", "head")


def check_rule(rule: str) -> str:
    """Returns the rule, or raises :class:`ValueError` if it is unknown."""
    check_choice("binarized", rule, RULES)
    return rule


def binary_trees(data: Data, rule: str = "left") -> BinaryTrees:
    """The binary trees of each utterance, as :class:`ConstituentEncoder` describes them."""
    return BinaryTrees(*_made_trees(data, rule))


@kept
def _made_trees(data: Data, rule: str) -> tuple[Tensor, ...]:
    word, words, roots = words_and_roots(data)
    spans = Spans(data, word, words)
    joined = spans.joined(_in_text_order(spans) if rule == "left" else _from_heads(spans, data.depth[word]))
    some = words > 0
    top = (words.cumsum(0) - words)[some]  # the first word of utterances with words
    top = top.masked_scatter(words[some] > 1, joined.node_of_span[spans.mother == -1])
    label, phrase = spans.label[joined.span], spans.node_of(joined.node_of_span)
    return word, joined.left, joined.right, label, top, roots[some], phrase


@kept
def _levels(data: Data, rule: str) -> BinaryLevels:
    return BinaryLevels(binary_trees(data, rule))


def words_and_roots(data: Data) -> tuple[Tensor, Tensor, Tensor]:
    """The nodes of all words, the number of words in each utterance, and its ROOT node."""
    require_key(
        data,
        "phrase_index",
        "make it with phrases='spans', of sentences with constituents "
        "(resolve_parser('bundled', constituents=True))",
    )
    roots, utterance = root_nodes(data), utterance_of(data)
    word = words_of(data)
    return word, torch.bincount(utterance[word], minlength=roots.numel()), roots


class _Joined(NamedTuple):
    left: Tensor
    right: Tensor
    span: Tensor
    node_of_span: Tensor


class Spans:
    """The constituents over several words, each span once, in preorder, with their children: words by their
    numbers, and spans by theirs, counted from the number of words.

    Attributes:
        above: The parent of each word, then of each span; -1 at the top.
        of_phrase: The number of the span or word of each constituent of the data.
    """

    def __init__(self, data: Data, word: Tensor, words: Tensor) -> None:
        self.num_words = n = word.numel()
        rank = torch.full_like(data.node_type, -1)
        rank[word] = torch.arange(n, device=word.device)
        start = words.cumsum(0) - words
        whole = words > 1
        first = torch.cat([rank[data.phrase_index[0]], start[whole]])
        last = torch.cat([rank[data.phrase_index[1]], (start + words - 1)[whole]])
        label = torch.cat([data.phrase_type, torch.full_like(start[whole], WHOLE)])
        self._keep(first, last, label, data.phrase_type.numel())
        self._nest()

    def _keep(self, first: Tensor, last: Tensor, label: Tensor, phrases: int) -> None:
        """Keeps each span of several words once, with the label of its topmost constituent."""
        n = self.num_words
        order = (first * (n + 1) + n - last).argsort(stable=True)
        order = order[last[order] > first[order]]
        key = first[order] * (n + 1) + n - last[order]
        new = torch.cat([key.new_ones(min(1, key.numel()), dtype=torch.bool), key[1:] != key[:-1]])
        self.first, self.last = first[order][new], last[order][new]
        self.label = label[order][new]
        # The span of each constituent; a constituent over one word is that word.
        of_phrase = first.clone()
        of_phrase[order] = n + new.cumsum(0) - 1
        self.of_phrase = of_phrase[:phrases]

    def _nest(self) -> None:
        n = self.num_words
        self.owner, self.member = expand_ranges(self.first, self.last - self.first + 1)
        order = self.member.argsort(stable=True)  # outermost span of a word first
        span, word = self.owner[order], self.member[order]
        same = word[1:] == word[:-1]
        none = span.new_full((min(1, span.numel()),), -1)
        above = torch.cat([none, torch.where(same, span[:-1], -1)])
        mine = word == self.first[span]
        self.mother = torch.full_like(self.first, -1).index_copy(0, span[mine], above[mine])
        innermost = torch.cat([~same, same.new_ones(none.numel())])
        mother_of_word = span.new_full((n,), -1).index_copy(0, word[innermost], span[innermost])
        mother = torch.cat([mother_of_word, self.mother])
        self.above = torch.where(mother >= 0, mother + n, -1)
        part = (mother >= 0).nonzero().view(-1)
        begin = torch.cat([torch.arange(n, device=word.device), self.first])
        self.part = part[(mother[part] * (n + 1) + begin[part]).argsort()]
        self.within = mother[self.part]
        self.parts = torch.bincount(self.within, minlength=self.first.numel())
        count_before = self.parts.cumsum(0) - self.parts
        self.rank = torch.arange(self.part.numel(), device=word.device) - count_before[self.within]

    def node_of(self, node_of_span: Tensor) -> Tensor:
        """The tree node of each constituent."""
        return _nodes(self.of_phrase, node_of_span, self.num_words)

    def joined(self, turn_and_after: tuple[Tensor, Tensor]) -> _Joined:
        """The inner nodes: each child after the first joins the children taken before it.

        Args:
            turn_and_after: When each child is taken, from 0, and whether it stands after those taken before.
        """
        turn, after = turn_and_after
        order = (self.within * (self.num_words + 1) + turn).argsort()
        part, span, turn, after = (x[order] for x in (self.part, self.within, turn, after))
        joins = turn > 0
        made = torch.where(joins, self.num_words - 1 + joins.cumsum(0), -1)
        last = turn == self.parts[span] - 1
        node_of_span = made[last]  # in the order of the spans
        node = _nodes(part, node_of_span, self.num_words)
        place = joins.nonzero().view(-1)
        before = torch.where(made[place - 1] >= 0, made[place - 1], node[place - 1])
        one, other, after = before, node[place], after[place]
        left, right = torch.where(after, one, other), torch.where(after, other, one)
        return _Joined(left, right, span[place], node_of_span)


def _nodes(part: Tensor, node_of_span: Tensor, num_words: int) -> Tensor:
    """The tree nodes of words and spans."""
    is_span = part >= num_words
    return part.masked_scatter(is_span, node_of_span[part[is_span] - num_words])


def _in_text_order(spans: Spans) -> tuple[Tensor, Tensor]:
    return spans.rank, torch.ones_like(spans.rank, dtype=torch.bool)


def _from_heads(spans: Spans, depth: Tensor) -> tuple[Tensor, Tensor]:
    """The head first, then the children to its right, nearest first, then those to its left."""
    n = spans.num_words
    key = depth * n + torch.arange(n, device=depth.device)  # among words of equal depth the first
    least = torch.full_like(spans.first, int(key.max()) + 1 if n else 0)
    least = least.scatter_reduce(0, spans.owner, key[spans.member], "amin")
    is_head = torch.cat([key, least])[spans.part] == least[spans.within]
    head = torch.empty_like(spans.first)
    head[spans.within[is_head]] = spans.rank[is_head]
    head, parts = head[spans.within], spans.parts[spans.within]
    after = spans.rank > head
    return torch.where(spans.rank >= head, spans.rank - head, parts - 1 - spans.rank), after


class SpanLevels:
    """Words and constituents (one per span) in levels of equal depth, across the batch: the children of a
    level are exactly the level below it, as in :class:`TreeLevels`.

    Words are numbered first, then constituents.

    Args:
        data: A node table with ROOT nodes and constituents.

    Attributes:
        word: The node of each word.
        phrase: The number of each constituent of the data.
        top: The number of the top constituent or word of each utterance that has words.
        root: The ROOT node of each of these utterances.
        order: The numbers, level by level, deepest first.
        sizes: Number of members of each level.
        governors: For each level but the last, the index of each member's parent in the next level.
    """

    def __init__(self, data: Data) -> None:
        self.word, words, roots = words_and_roots(data)
        spans = Spans(data, self.word, words)
        self.phrase, self.root = spans.of_phrase, roots[words > 0]
        number = torch.arange(spans.above.numel(), device=self.word.device)
        above = torch.where(spans.above >= 0, spans.above, number)
        self.top = (above == number).nonzero().view(-1)
        # Single words stand before spans; restore the order of the utterances.
        first = torch.cat([number[: self.word.numel()], spans.first])
        self.top = self.top[first[self.top].argsort()]
        depth = arcs_to_top(above)
        self.order = depth.argsort(descending=True, stable=True)
        sizes = torch.bincount(depth).flip(0)
        place = torch.empty_like(number)
        place[self.order] = number - (sizes.cumsum(0) - sizes).flip(0)[depth[self.order]]
        self.sizes: list[int] = sizes.tolist()
        self.governors: tuple[Tensor, ...] = place[above[self.order]].split(self.sizes)[:-1]
        # The first word of each member, for encoders that need the text order of the children.
        self.begin = first[self.order].split(self.sizes)

    def join(self, levels: list[Tensor]) -> Tensor:
        """One row per number, from the rows of each level."""
        x = torch.cat(levels)
        return torch.zeros_like(x).index_copy(0, self.order, x)


States = tuple[Tensor, ...]


class _Level(NamedTuple):
    """The nodes of one depth, first those with children, then words."""

    inner: Tensor  # numbers among the inner nodes
    words: Tensor
    left: Tensor  # indices of the children in the level below
    right: Tensor


class BinaryLevels(TensorContainer):
    """The nodes of each depth form a level, across the batch: the children of a level are exactly the level
    below it, as in :class:`TreeLevels`.

    Args:
        trees: The trees of a batch.

    Attributes:
        levels: The levels, from the deepest to the top.
    """

    def __init__(self, trees: BinaryTrees) -> None:
        self.num_words, inner = trees.word.numel(), trees.left.numel()
        node = torch.arange(self.num_words + inner, device=trees.word.device)
        is_word = node < self.num_words
        above = node.clone()
        above[trees.left] = above[trees.right] = node[self.num_words :]
        depth = arcs_to_top(above)
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
        """The states of all nodes, in order, computed upwards from the words.

        Args:
            leaves: States of the words: each ``[n, ...]``.
            compose: Computes the states of inner nodes from those of their left and right children and the
                indices of the inner nodes.
        """
        states: list[States] = []
        for level, words in zip(self.levels, self._words(leaves)):
            if level.inner.numel():
                left, right = (_rows(states[-1], places) for places in (level.left, level.right))
                words = tuple(map(torch.cat, zip(compose(left, right, level.inner), words)))
            states.append(words)
        return self._join(states)

    def down(self, x: Tensor, first: Callable, step: Callable) -> States:
        """The states of all nodes, in order, computed downwards from the top.

        Args:
            x: The input of the nodes: ``[nodes, ...]``.
            first: Computes the states of the top nodes from their rows of ``x``.
            step: Computes the states of left children, then of right children, from their rows of ``x`` and
                the states of their parents, half as many.
        """
        top = torch.arange(_size(self.levels[-1]), device=x.device)
        # The nodes in the order of the computed levels, from the top.
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
        """The rows of the words of each level; split once, since the backward pass of every single slice
        would allocate a gradient of full size.
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


class ConstituentEncoder(TextEncoder):
    r"""Base class of encoders that compose the constituents of a text from two parts at a time.

    A constituent :math:`L` (``to_data(..., phrases="spans")``) with parts :math:`p_1 \ldots p_n` becomes for
    ``binarized="left"``

    .. math::
        (L\ (L\ \ldots (L\ p_1\ p_2)\ \ldots\ p_{n-1})\ p_n)

    and for ``"head"`` the head :math:`p_h` first takes the parts to its right, nearest first, then those to
    its left: :math:`(L\ p_1\ (L\ \ldots (L\ (L\ p_h\ p_{h+1})\ \ldots\ p_n)))`. The head is the part whose
    word governs the other parts in the dependency tree. Of several constituents over the same words the
    topmost counts. Several top constituents, or words outside all of them, become parts of one with the label
    ``ROOT``. A subclass defines
    :meth:`node_states`, which should compute all nodes of one depth at once, across the batch. ROOT has the
    state of the top node. All nodes other than words and ROOT have zeros, and so has the ROOT of an utterance
    without words.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states.
        in_channels: Size of the word vectors from :attr:`embedding`. (default: that of :obj:`vectors`, or
            else :obj:`hidden_channels`)
        binarized: Binarization of constituents with more than two parts: ``"left"``, or from the ``"head"``,
            given by the dependency tree. (default: ``"left"``)
        dropout: Dropout probability of the word vectors. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes, ``phrase_index`` and ``phrase_type``; output
          :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`binarized` is unknown, the data has no constituents, or no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import RNTN, ConstituentEncoder
        >>> phrases = [("S", 0, 3), ("NP", 0, 2)]
        >>> tree = ["big", "dogs", "bark"], [2, 3, 0], ["amod", "nsubj", "root"]
        >>> vocab = Vocab(["dogs", "bark"])
        >>> data = to_data([Sentence(*tree, constituents=phrases)], vocab=vocab, phrases="spans")
        >>> encoder: ConstituentEncoder = RNTN(len(vocab), hidden_channels=8)
        >>> nodes, constituents = encoder.states(data)
        >>> nodes.shape, constituents.shape, bool((nodes[0] == constituents[0]).all())
        (torch.Size([4, 8]), torch.Size([2, 8]), True)
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int,
        in_channels: int | None = None,
        binarized: str = "left",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.hidden_channels = check_count("hidden_channels", hidden_channels, 1)
        self.binarized = check_rule(binarized)
        if in_channels is None:
            in_channels = hidden_channels if vectors is None else vectors.size(-1)
        self.in_channels = in_channels
        self.embedding = word_embedding(num_words, in_channels, vectors, dropout)

    @abstractmethod
    def node_states(self, data: Data, trees: BinaryTrees, levels: BinaryLevels) -> Tensor:
        """The states of all nodes of the binary trees, ``[words + inner, C]``; there is at least one word."""

    def prepare_batch(self, data: Data, device: torch.device) -> None:
        if binary_trees(data, self.binarized).word.numel():
            _levels(data, self.binarized)

    def forward(self, data: Data) -> Tensor:
        return self.states(data)[0]

    def states(self, data: Data) -> tuple[Tensor, Tensor]:
        r"""The states of the nodes of the table, and of its constituents, in order: :math:`(|\mathcal{V}|,
        C)` and :math:`(|\mathcal{P}|, C)`.
        """
        trees = binary_trees(data, self.binarized)
        num_words = trees.word.numel()
        if num_words == 0:
            x = self.embedding(data).new_zeros(data.node_type.numel(), self.hidden_channels)
            return x, x[:0]
        x = self.node_states(data, trees, _levels(data, self.binarized))
        node = torch.cat([trees.word, trees.root])
        rows = torch.cat([x[:num_words], x.index_select(0, trees.top)])
        table = x.new_zeros(data.node_type.numel(), x.size(-1)).index_copy(0, node, rows)
        return table, x.index_select(0, trees.phrase)

    def extra_repr(self) -> str:
        return f"binarized={self.binarized!r}"


class BiTreeLSTM(ConstituentEncoder):
    r"""Bidirectional Tree-LSTM with a head word for each constituent, from `"Head-Lexicalized Bidirectional
    Tree LSTMs" <https://aclanthology.org/Q17-1012/>`_.

    The head word of a constituent is a soft, elementwise choice between those of its children:

    .. math::
        \mathbf{z}_j = \sigma(\mathbf{W}^z [\mathbf{x}_l; \mathbf{x}_r] + \mathbf{b}^z), \quad
        \mathbf{x}_j = \mathbf{z}_j \odot \mathbf{x}_l + (1 - \mathbf{z}_j) \odot \mathbf{x}_r

    The upward pass is a binary Tree-LSTM whose gates also see the memory cells,

    .. math::
        [\mathbf{i}; \mathbf{f}^l; \mathbf{f}^r] &= \sigma(\mathbf{W} \mathbf{x}_j + \mathbf{U} [\mathbf{h}_l;
        \mathbf{h}_r] + \mathbf{V} [\mathbf{c}_l; \mathbf{c}_r] + \mathbf{b}), \\
        \mathbf{g} &= \tanh(\mathbf{W}^g \mathbf{x}_j + \mathbf{U}^g [\mathbf{h}_l; \mathbf{h}_r] +
        \mathbf{b}^g), \\
        \mathbf{c}_j &= \mathbf{i} \odot \mathbf{g} + \mathbf{f}^l \odot \mathbf{c}_l + \mathbf{f}^r \odot
        \mathbf{c}_r, \\
        \mathbf{o} &= \sigma(\mathbf{W}^o \mathbf{x}_j + \mathbf{U}^o [\mathbf{h}_l; \mathbf{h}_r] +
        \mathbf{V}^o \mathbf{c}_j + \mathbf{b}^o), \quad \mathbf{h}_j = \mathbf{o} \odot \tanh(\mathbf{c}_j)

    where both forget gates share :math:`\mathbf{W}`; a word only sees :math:`\mathbf{x}_j`. The downward pass
    is an LSTM whose previous state is that of the parent :math:`p`, with separate matrices :math:`s` for left
    and right children:

    .. math::
        [\mathbf{i}; \mathbf{f}] &= \sigma(\mathbf{W}^{\downarrow} \mathbf{x}_j + \mathbf{U}^{\downarrow}_s
        \mathbf{h}^{\downarrow}_p + \mathbf{V}^{\downarrow}_s \mathbf{c}^{\downarrow}_p +
        \mathbf{b}^{\downarrow}), \\
        \mathbf{c}^{\downarrow}_j &= \mathbf{i} \odot \tanh(\mathbf{W}^{\downarrow g} \mathbf{x}_j +
        \mathbf{U}^{\downarrow g}_s \mathbf{h}^{\downarrow}_p + \mathbf{b}^{\downarrow g}) + \mathbf{f} \odot
        \mathbf{c}^{\downarrow}_p, \\
        \mathbf{h}^{\downarrow}_j &= \sigma(\mathbf{W}^{\downarrow o} \mathbf{x}_j +
        \mathbf{U}^{\downarrow o}_s \mathbf{h}^{\downarrow}_p + \mathbf{V}^{\downarrow o}
        \mathbf{c}^{\downarrow}_j + \mathbf{b}^{\downarrow o}) \odot \tanh(\mathbf{c}^{\downarrow}_j)

    and only from :math:`\mathbf{x}` at the top. The state of a node combines both and the mean of
    :math:`\mathbf{h}^{\downarrow}` over its words,

    .. math::
        \mathbf{s}_j = \mathrm{ReLU}(\mathbf{R} [\mathbf{h}_j; \overline{\mathbf{h}^{\downarrow}_w};
        \mathbf{h}^{\downarrow}_j] + \mathbf{b}^s)

    and ROOT has the state of the top node. The formulas, including the reduced terms of words and of the top,
    the shared :math:`\mathbf{W}` and :math:`\mathbf{s}_j`, follow the authors' `code
    <https://github.com/zeeeyang/lexicalized_bitreelstm>`_; the paper's text was not available, so they are
    not verified against it. In the code :math:`\mathbf{s}_j` has 128 channels and the states 150; here both
    have one size. Dropout is on the word vectors, as in the code, where it is .5; the paper uses the trees of
    the sentiment treebank. :math:`\mathbf{x}` has the size of the vectors. All nodes of one depth are
    computed at once, across the batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the states of each direction, and of :math:`\mathbf{s}_j`. (default:
            :obj:`150`)
        binarized: As in :class:`ConstituentEncoder`. (default: ``"left"``)
        dropout: Dropout probability of the embeddings. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes and constituents; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`hidden_channels` is not a whole number >= 1, :obj:`binarized` is unknown, or the
            data has no constituents or no ROOT nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import BiTreeLSTM
        >>> tree = ["She", "sings"], [2, 0], ["nsubj", "root"]
        >>> sentence = Sentence(*tree, constituents=[("S", 0, 2)])
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([sentence], vocab=vocab, phrases="spans")
        >>> BiTreeLSTM(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 150,
        binarized: str = "left",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__(
            num_words,
            hidden_channels=hidden_channels,
            binarized=binarized,
            dropout=dropout,
            vectors=vectors,
        )
        in_channels = self.in_channels
        self.lin_head = nn.Linear(2 * in_channels, in_channels)
        self.up = _UpwardCell(in_channels, hidden_channels)
        self.down = _DownwardCell(in_channels, hidden_channels)
        self.lin_state = nn.Linear(3 * hidden_channels, hidden_channels)

    def node_states(self, data: Data, trees: BinaryTrees, levels: BinaryLevels) -> Tensor:
        (x,) = levels.up((self.embedding(data).index_select(0, trees.word),), self._heads)
        words, inner = x[: trees.word.numel()], x[trees.word.numel() :]
        own = self.up.inputs(inner)
        h, _ = levels.up(
            self.up.word(words),
            lambda left, right, nodes: self.up.inner(own.index_select(0, nodes), left, right),
        )
        below, _ = levels.down(self.down.lin_x(x), self.down.top, self.down.step())
        counts = words.new_ones(words.size(0), 1)
        total, count = levels.up((below[: words.size(0)], counts), _add)
        return torch.relu(self.lin_state(torch.cat([h, total / count, below], dim=-1)))

    def _heads(self, left: States, right: States, inner: Tensor) -> States:
        choice = torch.sigmoid(self.lin_head(torch.cat([left[0], right[0]], dim=-1)))
        return (torch.lerp(right[0], left[0], choice.to(left[0].dtype)),)


def _add(left: States, right: States, inner: Tensor) -> States:
    return left[0] + right[0], left[1] + right[1]


class _UpwardCell(nn.Module):
    """Gates in the order i, left f, right f, g, o."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.lin_x = nn.Linear(in_channels, 4 * channels, bias=False)  # i, f, g, o
        self.lin_h = nn.Linear(2 * channels, 5 * channels)
        self.lin_c = nn.Linear(2 * channels, 3 * channels, bias=False)
        self.lin_o = nn.Linear(channels, channels, bias=False)

    def inputs(self, x: Tensor) -> Tensor:
        """The terms of the head words in all five gates."""
        i, f, g, o = self.lin_x(x).chunk(4, dim=-1)
        return torch.cat([i, f, f, g, o], dim=-1)

    def word(self, x: Tensor) -> States:
        gates = self.inputs(x) + self.lin_h.bias
        i, _, _, g, o = gates.chunk(5, dim=-1)
        c = torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def inner(self, inputs: Tensor, left: States, right: States) -> States:
        gates = inputs + self.lin_h(torch.cat([left[0], right[0]], dim=-1))
        size = self.lin_o.in_features
        seen, g, o = gates.split([3 * size, size, size], dim=-1)
        seen = torch.sigmoid(seen + self.lin_c(torch.cat([left[1], right[1]], dim=-1)))
        i, left_f, right_f = seen.chunk(3, dim=-1)
        c = i * torch.tanh(g) + left_f * left[1] + right_f * right[1]
        return torch.sigmoid(o + self.lin_o(c)) * torch.tanh(c), c


class _DownwardCell(nn.Module):
    """Gates in the order i, f, g, o; matrices of the left child, then of the right one."""

    def __init__(self, in_channels: int, channels: int) -> None:
        super().__init__()
        self.lin_x = nn.Linear(in_channels, 4 * channels)
        self.lin_h = nn.Linear(2 * channels, 4 * channels, bias=False)
        self.lin_c = nn.Linear(2 * channels, 2 * channels, bias=False)
        self.lin_o = nn.Linear(channels, channels, bias=False)

    def top(self, gates: Tensor) -> States:
        i, _, g, o = gates.chunk(4, dim=-1)
        c = torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def step(self) -> Callable[[Tensor, States], States]:
        """The step from nodes to their left children, then to the right ones, with shared products."""
        of_h, of_c = (torch.cat(lin.weight.chunk(2, dim=1)) for lin in (self.lin_h, self.lin_c))
        size = self.lin_o.in_features

        def step(gates: Tensor, above: States) -> States:
            h, c = above
            gates = gates + _of_both(F.linear(h, of_h))
            seen, g, o = gates.split([2 * size, size, size], dim=-1)
            i, f = torch.sigmoid(seen + _of_both(F.linear(c, of_c))).chunk(2, dim=-1)
            c = i * torch.tanh(g) + f * c.repeat(2, 1)
            return torch.sigmoid(o + self.lin_o(c)) * torch.tanh(c), c

        return step


def _of_both(x: Tensor) -> Tensor:
    """Left halves of the rows, followed by the right halves."""
    return torch.cat(x.chunk(2, dim=-1))


LEAVES = ("paper", "code")


class BinaryTreeLSTM(ConstituentEncoder):
    r"""N-ary Tree-LSTM with :math:`N = 2`, the Constituency Tree-LSTM of `"Improved Semantic Representations
    From Tree-Structured Long Short-Term Memory Networks" <https://aclanthology.org/P15-1150/>`_ (Eq. 9-14).

    .. math::
        [\mathbf{i}_j; \mathbf{o}_j; \mathbf{u}_j] &= [\sigma; \sigma; \tanh] \Big(\mathbf{W}^{iou}
        \mathbf{x}_j + \sum_{l = 1}^{2} \mathbf{U}^{iou}_l \mathbf{h}_{jl} + \mathbf{b}^{iou}\Big), \\
        \mathbf{f}_{jk} &= \sigma \Big(\mathbf{W}^f \mathbf{x}_j + \sum_{l = 1}^{2} \mathbf{U}^f_{kl}
        \mathbf{h}_{jl} + \mathbf{b}^f\Big), \\
        \mathbf{c}_j &= \mathbf{i}_j \odot \mathbf{u}_j + \sum_{k = 1}^{2} \mathbf{f}_{jk} \odot
        \mathbf{c}_{jk}, \quad \mathbf{h}_j = \mathbf{o}_j \odot \tanh(\mathbf{c}_j)

    where :math:`\mathbf{h}_{j1}, \mathbf{h}_{j2}` are the states of the left and right child; words have
    zeros as children, and other nodes zeros as :math:`\mathbf{x}_j`, so :math:`\mathbf{W}^f` is unused and
    left out. The authors' `code <https://github.com/stanfordnlp/treelstm>`_ differs: a word has no gates
    :math:`\mathbf{i}` and :math:`\mathbf{u}`,

    .. math::
        \mathbf{c}_j = \mathbf{W}^c \mathbf{x}_j + \mathbf{b}^c, \quad
        \mathbf{h}_j = \sigma(\mathbf{W}^o \mathbf{x}_j + \mathbf{b}^{o'}) \odot \tanh(\mathbf{c}_j),

    and separate biases; and each forget gate has its own bias. ``leaf="code"`` implements this, and the
    paper's 316,800 parameters for sentiment refer to it: the code has the bias of each composing gate twice,
    which is the same function, and here there is one (316,050). Its models of relatedness (SICK: 205,190
    parameters) also lack :math:`\mathbf{o}`, :math:`\mathbf{h} = \tanh(\mathbf{c})`, for which there is no
    option here. The paper's trees are those of the treebank, or of the Stanford parser, which binarises
    around the head: ``binarized="head"`` gives that shape, with heads from the dependency tree. ROOT has the
    state of the top node. Pretrained vectors keep their size. All nodes of one depth are computed at once,
    across the batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states; the paper has 150 for sentiment and 142 for relatedness.
            (default: :obj:`300`)
        leaf: ``"paper"`` or ``"code"``, see above. (default: ``"paper"``)
        binarized: As in :class:`ConstituentEncoder`. (default: ``"left"``)
        dropout: Dropout probability of the embeddings. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes and constituents; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`leaf` or :obj:`binarized` is unknown, or the data has no constituents or no ROOT
            nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import BinaryTreeLSTM
        >>> tree = ["She", "sings"], [2, 0], ["nsubj", "root"]
        >>> sentence = Sentence(*tree, constituents=[("S", 0, 2)])
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([sentence], vocab=vocab, phrases="spans")
        >>> BinaryTreeLSTM(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 300,
        leaf: str = "paper",
        binarized: str = "left",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__(
            num_words,
            hidden_channels=hidden_channels,
            binarized=binarized,
            dropout=dropout,
            vectors=vectors,
        )
        check_choice("leaf", leaf, LEAVES)
        self.leaf = leaf
        paper = leaf == "paper"
        # The paper has one bias for words and other nodes: that of lin_x.
        self.lin_x = nn.Linear(self.in_channels, (3 if paper else 2) * hidden_channels)
        self.lin_h = nn.Linear(2 * hidden_channels, 5 * hidden_channels, bias=not paper)
        self.bias_f = nn.Parameter(torch.zeros(hidden_channels)) if paper else None

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if self.bias_f is not None:
            nn.init.zeros_(self.bias_f)

    def node_states(self, data: Data, trees: BinaryTrees, levels: BinaryLevels) -> Tensor:
        x = self.embedding(data).index_select(0, trees.word)
        return levels.up(self._leaves(self.lin_x(x)), self._compose)[0]

    def _leaves(self, x: Tensor) -> States:
        if self.leaf == "code":
            o, c = x.chunk(2, dim=-1)
        else:
            i, o, u = x.chunk(3, dim=-1)
            c = torch.sigmoid(i) * torch.tanh(u)
        return torch.sigmoid(o) * torch.tanh(c), c

    def _compose(self, left: States, right: States, inner: Tensor) -> States:
        gates = self.lin_h(torch.cat([left[0], right[0]], dim=-1))
        if self.bias_f is not None:
            gates = gates + torch.cat([self.lin_x.bias, self.bias_f, self.bias_f])
        i, o, u, left_f, right_f = gates.chunk(5, dim=-1)
        c = torch.sigmoid(i) * torch.tanh(u)
        c = c + torch.sigmoid(left_f) * left[1] + torch.sigmoid(right_f) * right[1]
        return torch.sigmoid(o) * torch.tanh(c), c

    def extra_repr(self) -> str:
        return f"leaf={self.leaf!r}, {super().extra_repr()}"


class RNTN(ConstituentEncoder):
    r"""Recursive Neural Tensor Network, from `"Recursive Deep Models for Semantic Compositionality Over a
    Sentiment Treebank" <https://aclanthology.org/D13-1170/>`_ (section 4.3).

    .. math::
        \mathbf{p} = \tanh \Bigg(\begin{bmatrix} \mathbf{b} \\ \mathbf{c} \end{bmatrix}^\top
        \mathbf{V}^{[1:d]} \begin{bmatrix} \mathbf{b} \\ \mathbf{c} \end{bmatrix} + \mathbf{W}
        \begin{bmatrix} \mathbf{b} \\ \mathbf{c} \end{bmatrix} + \mathbf{a}\Bigg)

    where :math:`\mathbf{b}, \mathbf{c}` are the states of the left and right child, each slice of
    :math:`\mathbf{V} \in \mathbb{R}^{2d \times 2d \times d}` gives one number, and the state of a word is its
    vector. The bias :math:`\mathbf{a}` is not in the paper's formula but in Stanford CoreNLP, which also
    applies :math:`\tanh` to the word vectors: ``leaf="code"``. With :math:`4d^3` parameters in the tensor,
    :math:`d` must be small: the paper found 25 to 35 best. The paper does not give the initialization;
    tensor, bias and :math:`\mathbf{W}` (close to two identities) follow CoreNLP. Word vectors have the usual
    standard deviation :math:`d^{-1/2}`, but are within .0001 of 0 in the paper and within .001 in CoreNLP.
    The paper's labels at all nodes are those of :class:`~graphdep.datasets.SST` with ``trees=True``; other
    corpora have binarised parses and a label at ROOT, which has the state of the top node. Pretrained
    vectors, which the paper does not use, are projected to :math:`d`. All nodes of one depth are computed at
    once, across the batch.

    Args:
        num_words: Size of the vocabulary.
        hidden_channels: Size of the node states :math:`d`. (default: :obj:`30`)
        leaf: ``"paper"``: the word vectors; ``"code"``: their :math:`\tanh`. (default: ``"paper"``)
        binarized: As in :class:`ConstituentEncoder`. (default: ``"left"``)
        dropout: Dropout probability of the embeddings. (default: :obj:`0.0`)
        vectors: Pretrained word vectors ``[num_words, dim]``. (default: :obj:`None`)

    Shapes:
        - data: a node table with ROOT nodes and constituents; output :math:`(|\mathcal{V}|, C)`

    Raises:
        ValueError: If :obj:`leaf` or :obj:`binarized` is unknown, or the data has no constituents or no ROOT
            nodes.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import RNTN
        >>> tree = ["She", "sings"], [2, 0], ["nsubj", "root"]
        >>> sentence = Sentence(*tree, constituents=[("S", 0, 2)])
        >>> vocab = Vocab(["She", "sings"])
        >>> data = to_data([sentence], vocab=vocab, phrases="spans")
        >>> RNTN(len(vocab), hidden_channels=8)(data).shape
        torch.Size([3, 8])
    """

    def __init__(
        self,
        num_words: int,
        *,
        hidden_channels: int = 30,
        leaf: str = "paper",
        binarized: str = "left",
        dropout: float = 0.0,
        vectors: Tensor | None = None,
    ) -> None:
        super().__init__(
            num_words,
            hidden_channels=hidden_channels,
            in_channels=hidden_channels,
            binarized=binarized,
            dropout=dropout,
            vectors=vectors,
        )
        check_choice("leaf", leaf, LEAVES)
        self.leaf = leaf
        size = 2 * hidden_channels
        self.tensor = nn.Parameter(torch.empty(size, size * hidden_channels))
        self.lin = nn.Linear(size, hidden_channels)
        self._reset_composition()

    def reset_parameters(self) -> None:
        super().reset_parameters()
        self._reset_composition()

    def _reset_composition(self) -> None:
        size = self.hidden_channels
        nn.init.uniform_(self.tensor, -1 / (4 * size), 1 / (4 * size))
        nn.init.uniform_(self.lin.weight, -0.5 * size**-0.5, 0.5 * size**-0.5)
        nn.init.zeros_(self.lin.bias)
        with torch.no_grad():
            self.lin.weight += torch.eye(size).repeat(1, 2)

    def node_states(self, data: Data, trees: BinaryTrees, levels: BinaryLevels) -> Tensor:
        x = self.embedding(data).index_select(0, trees.word)
        return levels.up((x if self.leaf == "paper" else torch.tanh(x),), self._compose)[0]

    def _compose(self, left: States, right: States, inner: Tensor) -> States:
        pair = torch.cat([left[0], right[0]], dim=-1)
        # First over one side of all slices, the large product, then over the other side.
        half = (pair @ self.tensor).view(pair.size(0), pair.size(1), self.hidden_channels)
        product = torch.einsum("ni,nik->nk", pair, half.to(pair.dtype))
        return (torch.tanh(product + self.lin(pair)),)

    def extra_repr(self) -> str:
        return f"leaf={self.leaf!r}, {super().extra_repr()}"
