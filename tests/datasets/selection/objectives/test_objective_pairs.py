from __future__ import annotations

import random

import pytest
import torch

from graphdep.datasets import Ubuntu
from graphdep.datasets.base.rows import Draw
from graphdep.datasets.selection.objectives import DialogueAugmentation, Objective, ObjectivePairs, as_kind
from tests.kit.tiny_corpora import write_tiny_selection


class Telling(Objective):
    """A second example that has what was drawn, and of whom."""

    def examples(self, pair, dialogue, other, draw):
        second = as_kind(pair.clone(), 1)
        second.drawn = torch.tensor([draw.source.random()], dtype=torch.double)
        second.sizes = torch.tensor([[len(dialogue.turns), len(other.turns)]])
        first = as_kind(pair, 0)
        first.drawn, first.sizes = torch.zeros(1, dtype=torch.double), torch.zeros(1, 2, dtype=torch.long)
        assert dialogue.right == bool(pair.y)
        return [first, second]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return Ubuntu(split="train", **write_tiny_selection(tmp_path_factory.mktemp("pools")))


def drawn(examples):
    return [float(second.drawn) for _, second in examples]


def test_a_draw_depends_on_seed_epoch_and_number_alone(corpus):
    pairs = ObjectivePairs(corpus, Telling(), seed=3)
    one = drawn(pairs.__getitems__([(2, 5), (2, 0), (2, 7)]))
    assert one == drawn([pairs[2, 5], pairs[2, 0], pairs[2, 7]])
    assert one == drawn(ObjectivePairs(corpus, Telling(), seed=3).__getitems__([(2, 5), (2, 0), (2, 7)]))
    assert len({*one, *drawn([pairs[1, 5], ObjectivePairs(corpus, Telling(), seed=4)[2, 5]])}) == 5


def test_pairs_are_those_of_the_dataset_and_of_a_slice(corpus):
    pairs = ObjectivePairs(corpus[4:12], Telling(), seed=0)
    assert len(pairs) == 8
    for number in range(8):
        first, _ = pairs[0, number]
        expected = corpus[4 + number]
        for key in expected.keys():  # noqa: SIM118
            assert torch.equal(torch.as_tensor(first[key]), torch.as_tensor(expected[key]))


def test_the_other_dialogue_is_of_another_pool(corpus):
    pairs, source = ObjectivePairs(corpus, Telling(), seed=0), Draw(random.Random(0))
    for number in range(len(corpus)):
        assert pairs.groups[pairs._others([number], [source])[0]] != pairs.groups[number]
    alone = ObjectivePairs(corpus[:2], Telling(), seed=0)  # a pool
    assert alone._others([0, 1], [source] * 2) == [0, 1]


@pytest.fixture(scope="module")
def beginnings(tmp_path_factory):
    """Pools that are the beginnings of dialogues, of which two begin alike."""
    dialogues = ["hi|how are you|fine|good", "hi|what is up|nothing|ok", "stop|why|so|well", "go|where|on|no"]
    rows = []
    for turns in (text.split("|") for text in dialogues):
        for end in range(1, len(turns)):
            rows += [["1", *turns[: end + 1]], ["0", *turns[:end], "never said"]]
    root = tmp_path_factory.mktemp("beginnings")
    folder = root / "raw" / "ubuntu-v1"
    folder.mkdir(parents=True)
    (folder / "train.txt").write_text("".join("\t".join(row) + "\n" for row in rows))
    return Ubuntu(root, "train", parser="chain", pool_size=None)


def test_the_other_dialogue_begins_otherwise(beginnings):
    pairs, source = ObjectivePairs(beginnings, Telling(), seed=0), Draw(random.Random(0))
    for number in [*range(len(beginnings))] * 5:
        assert beginnings.context(pairs._others([number], [source])[0])[0] != beginnings.context(number)[0]
    part = beginnings[:6]  # of one dialogue alone
    alone = ObjectivePairs(part, Telling(), seed=0)
    assert alone._others(range(6), [source] * 6) == [*range(6)]


def test_further_wrong_pairs_are_not_right(beginnings):
    """And further right ones are there already."""
    pairs = ObjectivePairs(beginnings, DialogueAugmentation(beginnings.tokens, 64, cuts=3), seed=0)

    def said(data):
        return data.input_ids.tolist()

    right = [said(data) for data in beginnings if float(data.y)]
    for epoch in range(10):
        for number in range(len(beginnings)):
            for data in pairs[epoch, number][1:]:
                assert (said(data) in right) == bool(data.y)


def test_a_batch_has_all_examples(corpus):
    pairs = ObjectivePairs(corpus, Telling(), seed=0)
    batch = pairs.collate(pairs.__getitems__([(0, 0), (0, 1), (0, 2)]))
    assert batch.num_graphs == 6
    assert batch.kind.tolist() == [0, 1] * 3
    assert batch.y[batch.kind == 0].tolist() == [float(corpus[n].y) for n in range(3)]
