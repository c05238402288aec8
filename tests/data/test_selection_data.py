from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.loader import DataLoader

from graphdep import RelationVocab, Sentence
from graphdep.data import EncodedUtterance, selection_data
from graphdep.sentence.sentence import truncate
from graphdep.testing import assert_batch_law
from graphdep.transforms import resolve
from tests.kit.strategies import sentences
from tests.kit.trees import attended

RELATIONS = RelationVocab()

utterances = st.none() | sentences(max_words=5)
contexts = st.lists(utterances, max_size=4)
PRESETS = ["sia", "sia-intra", "sia-inter", "dra", "dt"]


def encoded(tokens, sentence):
    return EncodedUtterance.of(sentence, tokens, RELATIONS)


def example(tokens, context, response, **options):
    return selection_data([encoded(tokens, u) for u in context], encoded(tokens, response), tokens, **options)


def num_words(*utterances):
    return sum(len(u) for u in utterances if u is not None)


@given(contexts, utterances)
def test_the_layout_row_by_row(tokens, selection_rows, context, response):
    data = example(tokens, context, response)
    data.validate()
    selection_rows(context, response).check(data)
    assert data.cut_words.tolist() == [[0, 0]]
    assert "y" not in data


def slow_cut(tokens, context, response, max_length):
    """Words dropped one by one: from the left of the context, then from the right of the response."""

    def size(sentence):
        return sum(map(len, tokens.encode(sentence.form))) if sentence else 0

    context = list(context)
    while context and 3 + sum(size(u) + 1 for u in context) + size(response) > max_length:
        left = num_words(context[0]) - 1
        context[:1] = [truncate(context[0], left, "left")] if left > 0 else []
    while response and 3 + size(response) > max_length and len(response) > 1:
        response = truncate(response, len(response) - 1)
    return context, response


@given(contexts, utterances, st.integers(6, 40))
def test_truncation_word_by_word(tokens, selection_rows, context, response, max_length):
    data = example(tokens, context, response, max_length=max_length)
    kept, kept_response = slow_cut(tokens, context, response, max_length)
    selection_rows(kept, kept_response).check(data)
    cut, cut_response = data.cut_words[0].tolist()
    assert cut == num_words(*context) - num_words(*kept)
    assert cut_response == num_words(response) - num_words(kept_response)
    # What the rule promises, in words of its own.
    assert data.num_nodes <= max_length
    assert not cut_response or not kept
    words = {(u, w) for u, w in zip(data.utterance.tolist(), data.word.tolist()) if w >= 0}
    assert len(words) + cut + cut_response == num_words(*context, response)


def test_no_more_is_cut_than_must_be(tokens):
    context, response = [Sentence.chain(["a", "a"]), Sentence.chain(["a", "a"])], Sentence.chain(["a", "a"])
    cut = [example(tokens, context, response, max_length=length) for length in range(4, 12)]
    # With the last word of an utterance goes its [EOU].
    lost = [[4, 1], [4, 0], [4, 0], [3, 0], [2, 0], [2, 0], [1, 0], [0, 0]]
    assert [data.cut_words[0].tolist() for data in cut] == lost
    assert [data.num_nodes for data in cut] == [4, 5, 5, 7, 8, 8, 10, 11]


def test_empty_turns_keep_their_end_where_it_fits(tokens):
    data = example(tokens, [Sentence.chain(["a"]), None], None, max_length=4)
    assert data.input_ids.tolist() == [2, 4, 3, 3]
    assert data.utterance.tolist() == [0, 0, 0, 1]
    assert data.cut_words.tolist() == [[1, 0]]


def test_a_first_word_longer_than_the_room_is_cut_in_two(tokens):
    response = Sentence(["c", "a"], [2, 0], ["nsubj", "root"])
    data = example(tokens, [Sentence.chain(["a"])], response, max_length=5)
    assert data.input_ids.tolist() == [2, 3, 990, 991, 3]
    assert data.governor_index.tolist() == [0, 1, 2, 2, 4]
    assert data.depth.tolist() == [-1, -1, 1, 1, -1]
    assert RELATIONS.label(int(data.deprel[2])) == "root"
    assert data.cut_words.tolist() == [[1, 2]]  # the first word is not there as a whole


def test_the_label_and_lengths_that_leave_no_room(tokens):
    assert example(tokens, [], None, y=1).y.tolist() == [1.0]
    assert example(tokens, [], None, y=0).y.dtype == torch.float
    assert example(tokens, [], None, max_length=4).num_nodes == 3
    with pytest.raises(ValueError, match=r"'max_length' must be at least 4 \(got 3\)"):
        example(tokens, [], None, max_length=3)


def test_examples_share_no_memory_with_their_utterances(tokens):
    response = encoded(tokens, Sentence.chain(["a", "b"]))
    before = selection_data([], response, tokens).to_dict()
    data = selection_data([], response, tokens)
    for value in data.to_dict().values():
        if isinstance(value, torch.Tensor):
            value.fill_(7)
    after = selection_data([], response, tokens).to_dict()
    assert all(torch.equal(torch.as_tensor(before[key]), torch.as_tensor(after[key])) for key in before)


# -- transforms on the layout, against pairs of words read off the sentences -----------------------------


class SlowPairs:
    """What one word of an example is to another, by walking from governor to governor."""

    def __init__(self, sentences: list[Sentence | None], rows) -> None:
        self.sentences, self.rows = sentences, rows
        self.utterance = [row["utterance"] for row in rows.rows]
        self.first = [rows.owner.index(owner) if owner else n for n, owner in enumerate(rows.owner)]

    def upwards(self, node: int) -> list[tuple[int, int]]:
        """The word of a node, its governor, and so on."""
        utterance, word = self.rows.owner[node]
        path = [(utterance, word)]
        while head := self.sentences[utterance].head[path[-1][1]]:
            path.append((utterance, head - 1))
        return path

    def depth(self, node: int) -> int:
        return len(self.upwards(node))

    def is_special(self, node: int) -> bool:
        return self.rows.owner[node] is None

    def is_first(self, *nodes: int) -> bool:
        return all(self.first[node] == node for node in nodes)

    def related(self, preset: str, source: int, target: int) -> bool:
        """Whether the word of ``target`` attends to that of ``source``."""
        down, up = self.upwards(target), self.upwards(source)
        if preset == "dra":
            return len(up) > 1 and up[1] == down[0]
        intra, inter = up[0] in down, self.depth(source) + self.depth(target) <= 4
        return (intra and preset != "sia-inter") or (inter and preset != "sia-intra")

    def attends(self, preset: str, pieces: str, source: int, target: int) -> bool:
        special = self.is_special(source) or self.is_special(target)
        if special:
            return source == target or preset != "dra"
        if pieces == "first":
            related = self.is_first(source, target) and self.related(preset, source, target)
            return related or source == target
        return self.first[source] == self.first[target] or self.related(preset, source, target)

    def kind(self, pieces: str, source: int, target: int) -> int:
        """The type of a pair in the relation matrix with paths of at most two arcs."""
        if source == target:
            return RELATIONS.SELF
        if self.is_special(source) or self.is_special(target):
            return RELATIONS.NONE
        if pieces == "first" and not self.is_first(source, target):
            return RELATIONS.NONE
        down, up = self.upwards(target), self.upwards(source)
        common = [word for word in down if word in up]
        if not common:
            return RELATIONS.NONE
        a, b = down.index(common[0]), up.index(common[0])
        if (a, b) == (1, 0):
            return int(self.rows.rows[target]["deprel"])
        if (a, b) == (0, 1):
            return int(RELATIONS.inverse(torch.tensor(self.rows.rows[source]["deprel"])))
        return RELATIONS.path(a, b) if a + b <= 2 else RELATIONS.NONE


@given(contexts, utterances, st.sampled_from(PRESETS), st.sampled_from(["all", "first"]))
def test_transforms_relate_words_and_their_pieces(tokens, selection_rows, context, response, preset, pieces):
    got = attended(resolve(preset, pieces=pieces)(example(tokens, context, response)))
    slow = SlowPairs([*context, response], selection_rows(context, response))
    pairs = product(range(len(slow.first)), repeat=2)
    if preset == "dt":
        whole = [(s, t) for s, t in pairs if slow.utterance[s] == slow.utterance[t]]
        assert got == {pair: slow.kind(pieces, *pair) for pair in whole}
    else:
        assert set(got) == {pair for pair in pairs if slow.attends(preset, pieces, *pair)}


@given(
    st.lists(st.tuples(contexts, utterances), min_size=1, max_size=3),
    st.integers(6, 25),
    st.sampled_from(PRESETS),
    st.sampled_from(["all", "first"]),
)
def test_batches_are_transformed_as_each_example_alone(tokens, drawn, max_length, preset, pieces):
    examples = [example(tokens, *pair, max_length=max_length, y=1) for pair in drawn]
    assert_batch_law(resolve(preset, pieces=pieces), examples)


def test_examples_go_through_a_loader(tokens):
    examples = [example(tokens, [Sentence.chain(["b"] * n)], None, y=n % 2) for n in range(1, 4)]
    (batch,) = DataLoader(examples, batch_size=3)
    assert batch.y.tolist() == [1.0, 0.0, 1.0]
    assert batch.cut_words.tolist() == [[0, 0]] * 3
    assert batch.governor_index.max() == batch.num_nodes - 1
