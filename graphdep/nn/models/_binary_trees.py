"""The constituents of a batch as trees of two children each, in tensors."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.nn.models._utterances import root_nodes, utterance_of, words_of
from graphdep.sentence.sentence import RULES
from graphdep.transforms.nodes import expand_ranges
from graphdep.vocab import PhraseVocab

WHOLE = PhraseVocab()["ROOT"]
"""The label of what holds all words of an utterance where no constituent does."""


class BinaryTrees(NamedTuple):
    r"""Binary trees over the words of each utterance. The :math:`n` words are nodes 0 to :math:`n - 1`, in
    their order, the inner nodes follow.

    Args:
        word: The node of the node table of each word: ``[n]``.
        left, right: The children of each inner node: ``[inner]``.
        label: Its label; one that binarizing has made has that of its constituent: ``[inner]``.
        top: The node above all words of each utterance that has words.
        root: The ROOT node of the node table of the same.
        phrase: The node of each constituent of the data.
    """

    word: Tensor
    left: Tensor
    right: Tensor
    label: Tensor
    top: Tensor
    root: Tensor
    phrase: Tensor


def check_rule(rule: str) -> str:
    """The rule, if it is known, else :class:`ValueError`."""
    if rule not in RULES:
        raise ValueError(f"'binarized' must be one of {', '.join(RULES)} (got {rule!r})")
    return rule


def binary_trees(data: Data, rule: str = "left") -> BinaryTrees:
    """The binary trees that :func:`~graphdep.sentence.sentence` makes of the constituents of each utterance;
    of those over the same words the topmost counts.

    Args:
        data: A node table with ROOT nodes and :obj:`phrase_index`.
        rule: ``"left"`` or ``"head"``, as there. (default: ``"left"``)

    Raises:
        ValueError: If the data has no constituents, or not every utterance has a ROOT node.
    """
    word, words, roots = words_and_roots(data)
    spans = Spans(data, word, words)
    joined = spans.joined(_in_text_order(spans) if rule == "left" else _from_heads(spans, data.depth[word]))
    some = words > 0
    top = (words.cumsum(0) - words)[some]  # the word of those that have one
    top = top.masked_scatter(words[some] > 1, joined.node_of_span[spans.mother == -1])
    label, phrase = spans.label[joined.span], spans.node_of(joined.node_of_span)
    return BinaryTrees(word, joined.left, joined.right, label, top, roots[some], phrase)


def words_and_roots(data: Data) -> tuple[Tensor, Tensor, Tensor]:
    """The nodes of all words, their number in each utterance, and the ROOT node of each.

    Raises:
        ValueError: If the data has no constituents, or not every utterance has a ROOT node.
    """
    if "phrase_index" not in data:
        raise ValueError(
            "the data has no 'phrase_index': make it with phrases='spans', of sentences with constituents "
            "(resolve_parser('bundled', constituents=True))"
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
    """The constituents over several words, each span once, in preorder, and what lies directly in each: its
    parts, words by their numbers and spans by theirs, from the number of words on.

    Attributes:
        above: What each word and then each span lies directly in, as such a number; -1 at the top.
        of_phrase: The number of each constituent of the data.
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
        """Each span of several words once, with the label of the topmost constituent."""
        n = self.num_words
        order = (first * (n + 1) + n - last).argsort(stable=True)
        order = order[last[order] > first[order]]
        key = first[order] * (n + 1) + n - last[order]
        new = torch.cat([key.new_ones(min(1, key.numel()), dtype=torch.bool), key[1:] != key[:-1]])
        self.first, self.last = first[order][new], last[order][new]
        self.label = label[order][new]
        # Of each constituent its span; those over one word are that word.
        of_phrase = first.clone()
        of_phrase[order] = n + new.cumsum(0) - 1
        self.of_phrase = of_phrase[:phrases]

    def _nest(self) -> None:
        n = self.num_words
        self.owner, self.member = expand_ranges(self.first, self.last - self.first + 1)
        order = self.member.argsort(stable=True)  # of a word, the outermost span first
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
        """The node of each constituent."""
        return _nodes(self.of_phrase, node_of_span, self.num_words)

    def joined(self, turn_and_after: tuple[Tensor, Tensor]) -> _Joined:
        """The inner nodes: each part but the first to be taken is joined with those before it.

        Args:
            turn_and_after: When each part is taken, from 0, and whether it stands after those before it.
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
    """The nodes of words and spans."""
    is_span = part >= num_words
    return part.masked_scatter(is_span, node_of_span[part[is_span] - num_words])


def _in_text_order(spans: Spans) -> tuple[Tensor, Tensor]:
    return spans.rank, torch.ones_like(spans.rank, dtype=torch.bool)


def _from_heads(spans: Spans, depth: Tensor) -> tuple[Tensor, Tensor]:
    """The head first, then what is to its right from the nearest on, then what is to its left."""
    n = spans.num_words
    key = depth * n + torch.arange(n, device=depth.device)  # of words of one depth the first
    least = torch.full_like(spans.first, int(key.max()) + 1 if n else 0)
    least = least.scatter_reduce(0, spans.owner, key[spans.member], "amin")
    is_head = torch.cat([key, least])[spans.part] == least[spans.within]
    head = torch.empty_like(spans.first)
    head[spans.within[is_head]] = spans.rank[is_head]
    head, parts = head[spans.within], spans.parts[spans.within]
    after = spans.rank > head
    return torch.where(spans.rank >= head, spans.rank - head, parts - 1 - spans.rank), after
