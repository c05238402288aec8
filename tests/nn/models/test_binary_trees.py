from __future__ import annotations

import random

import pytest
import torch
from torch_geometric.data import Batch

from graphdep import Sentence, Vocab, to_data
from graphdep.nn.models.baselines.constituent_trees import BinaryLevels, BinaryTrees, binary_trees, check_rule
from graphdep.sentence import binarize
from graphdep.vocab import PhraseVocab
from tests.kit.trees import bracketed_sentence

VOCAB = Vocab("abcdefgh")
each_rule = pytest.mark.parametrize("rule", ["left", "head"])


def sentences(seed: int) -> list[Sentence]:
    rng = random.Random(seed)
    return [bracketed_sentence(rng, rng.randint(1, 9)) for _ in range(1 + seed % 3)]


def spans(trees: BinaryTrees) -> list[tuple[int, int]]:
    """First word and the word after the last one of each node."""
    found = [(word, word + 1) for word in range(trees.word.numel())]
    known = dict(enumerate(found))
    pairs = list(zip(trees.left.tolist(), trees.right.tolist()))

    def span(node: int) -> tuple[int, int]:
        if node not in known:
            left, right = map(span, pairs[node - len(found)])
            assert left[1] == right[0], "children are not side by side"
            known[node] = left[0], right[1]
        return known[node]

    return [span(node) for node in range(len(found) + len(pairs))]


@each_rule
@pytest.mark.parametrize("seed", range(8))
def test_trees_are_those_of_binarize(rule: str, seed: int) -> None:
    labels, parsed = PhraseVocab(), sentences(seed)
    examples = [to_data([one], vocab=VOCAB, phrases="spans") for one in parsed]
    for data in (Batch.from_data_list(examples), to_data(parsed, vocab=VOCAB, phrases="spans")):
        trees = binary_trees(data, rule)
        found = spans(trees)
        starts = [sum(map(len, parsed[:number])) for number in range(len(parsed))]
        expected = [
            (start + first, start + end, labels[label])
            for start, sentence in zip(starts, parsed)
            for label, first, end in binarize(sentence, rule)
            if end - first > 1
        ]
        inner = zip(found[trees.word.numel() :], trees.label.tolist())
        assert sorted((*span, label) for span, label in inner) == sorted(expected)
        whole = [(start, start + len(sentence)) for start, sentence in zip(starts, parsed)]
        assert [found[node] for node in trees.top.tolist()] == whole
        rank = {node: number for number, node in enumerate(trees.word.tolist())}
        constituents = [(rank[a], rank[b] + 1) for a, b in data.phrase_index.t().tolist()]
        assert [found[node] for node in trees.phrase.tolist()] == constituents


@each_rule
@pytest.mark.parametrize("seed", range(4))
def test_levels_go_up_and_down(rule: str, seed: int) -> None:
    data = Batch.from_data_list([to_data([one], vocab=VOCAB, phrases="spans") for one in sentences(seed)])
    trees = binary_trees(data, rule)
    levels, found = BinaryLevels(trees), spans(trees)
    size = torch.ones(trees.word.numel())
    words, last = levels.up((size, size), lambda left, right, inner: (left[0] + right[0], inner.float()))
    assert words.tolist() == [end - start for start, end in found]
    assert last[trees.word.numel() :].tolist() == list(range(trees.left.numel()))
    node = torch.arange(len(found))
    own, above, is_right = levels.down(
        node,
        lambda row: (row, -torch.ones_like(row), -torch.ones_like(row)),
        lambda row, above: (row, above[0].repeat(2), torch.arange(row.numel()) * 2 // row.numel()),
    )
    assert torch.equal(own, node)
    assert set((above == -1).nonzero().view(-1).tolist()) == set(trees.top.tolist())
    inner = node[trees.word.numel() :]
    for side, children in enumerate((trees.left, trees.right)):
        assert torch.equal(above[children], inner)
        assert set(is_right[children].tolist()) <= {side}


def test_no_words_and_no_constituents() -> None:
    whole = Sentence(["a", "b"], [2, 0], ["dep", "root"], constituents=[])
    trees = binary_trees(to_data([whole], vocab=VOCAB, phrases="spans"))
    assert PhraseVocab().label(int(trees.label)) == "ROOT"
    data = to_data([Sentence(["a"], [0], ["root"], constituents=[])], vocab=VOCAB, phrases="spans")
    for key in ("node_type", "word", "depth", "utterance"):
        data[key] = data[key][:1]
    trees = binary_trees(data)
    assert [part.numel() for part in trees] == [0] * 7


def test_errors() -> None:
    assert check_rule("head") == "head"
    with pytest.raises(ValueError, match="'binarized' must be one of left, head \\(got 'right'\\)"):
        check_rule("right")
    with pytest.raises(ValueError, match="the data has no 'phrase_index': make it with phrases='spans'"):
        binary_trees(to_data([Sentence.chain(["a"])], vocab=VOCAB))
