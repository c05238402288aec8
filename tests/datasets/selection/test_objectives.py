from __future__ import annotations

import random

import pytest
import torch

from graphdep import RelationVocab, Sentence, Vocab
from graphdep.data import EncodedUtterance, NodeType, selection_data
from graphdep.datasets import Ubuntu
from graphdep.datasets.base.rows import Draw
from graphdep.datasets.selection.objectives import (
    Dialogue,
    DialogueAugmentation,
    Objective,
    ObjectivePairs,
    OrderRestoration,
    UtteranceManipulation,
    as_kind,
)
from graphdep.tasks.selection.model import Speakers
from graphdep.vocab import VocabTokens
from tests.kit.tiny_corpora import write_tiny_selection


class Telling(Objective):
    """Adds a second example, with the random number and the sizes of both dialogues."""

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


def test_a_draw_depends_on_seed_epoch_and_number_only(corpus):
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
    alone = ObjectivePairs(corpus[:2], Telling(), seed=0)  # a single pool
    assert alone._others([0, 1], [source] * 2) == [0, 1]


@pytest.fixture(scope="module")
def beginnings(tmp_path_factory):
    """Pools that are beginnings of dialogues, two of which have the same first utterance."""
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
    for number in [*range(len(beginnings))] * 2:
        assert beginnings.context(pairs._others([number], [source])[0])[0] != beginnings.context(number)[0]
    part = beginnings[:6]  # a single dialogue
    alone = ObjectivePairs(part, Telling(), seed=0)
    assert alone._others(range(6), [source] * 6) == [*range(6)]


def test_further_negative_pairs_are_not_true(beginnings):
    """Further true pairs are pairs of the corpus."""
    pairs = ObjectivePairs(beginnings, DialogueAugmentation(beginnings.tokens, 64, cuts=3), seed=0)

    def said(data):
        return data.input_ids.tolist()

    right = [said(data) for data in beginnings if float(data.y)]
    for epoch in range(3):
        for number in range(len(beginnings)):
            for data in pairs[epoch, number][1:]:
                assert (said(data) in right) == bool(data.y)


def test_a_batch_has_all_examples(corpus):
    pairs = ObjectivePairs(corpus, Telling(), seed=0)
    batch = pairs.collate(pairs.__getitems__([(0, 0), (0, 1), (0, 2)]))
    assert batch.num_graphs == 6
    assert batch.kind.tolist() == [0, 1] * 3
    assert batch.y[batch.kind == 0].tolist() == [float(corpus[n].y) for n in range(3)]


WORDS = [f"w{number}" for number in range(12)]
TOKENS = VocabTokens(Vocab(WORDS))
ID_OF = {word: TOKENS.encode([word])[0][0] for word in WORDS}
TURN = {word: EncodedUtterance.of(Sentence.chain([word]), TOKENS, RelationVocab()) for word in WORDS}
EMPTY = EncodedUtterance.of(None, TOKENS, RelationVocab())


def manipulated(context, response, right=True, other=("w10", "w11"), turns=5, seed=0, max_length=64):
    own = [TURN.get(word, EMPTY) for word in context]
    pair = selection_data(own, TURN[response], TOKENS, y=float(right))
    pair.group = torch.tensor([7])
    dialogue = Dialogue.of(own, TURN[response], right)
    foreign = Dialogue.of([TURN[word] for word in other[:-1]], TURN[other[-1]], True)
    objective = UtteranceManipulation(TOKENS, max_length, turns)
    return objective.examples(pair, dialogue, foreign, Draw(random.Random(seed)))


def words_and_place(data):
    """The words of an example, one per utterance, and the place of the answer."""
    word_of = {number: word for word, number in ID_OF.items()}
    words = [word_of[piece] for piece in data.input_ids.tolist() if piece in word_of]
    return words, data.mark_target[data.mark > 0].tolist().index(1.0)


def test_each_example_has_its_answer():
    for size in [2, 3, 4, 9]:
        for seed in range(12):
            dialogue = WORDS[:size]
            pair, insertion, deletion, search = manipulated(dialogue[:-1], dialogue[-1], seed=seed)
            assert [int(data.kind) for data in (pair, insertion, deletion, search)] == [0, 1, 2, 3]
            assert float(pair.y) == 1.0
            assert int(pair.group) == 7
            assert not pair.mark.any()

            words, place = words_and_place(insertion)
            *rest, target = words
            restored = [*rest[:place], target, *rest[place:]]
            assert restored == dialogue[WORDS.index(restored[0]) :][: min(size, 5)]

            words, place = words_and_place(deletion)
            assert words[place] in ("w10", "w11")
            left = words[:place] + words[place + 1 :]
            assert left == dialogue[WORDS.index(left[0]) :][: min(size, 4)]
            assert place < len(left)  # never at the end, as in the public code

            *shuffled, last = words = words_and_place(search)[0]
            window = sorted(shuffled, key=WORDS.index)
            assert [*window, last] == dialogue[WORDS.index(window[0]) :][: min(size, 5)]
            assert shuffled[words_and_place(search)[1]] == window[-1]
            assert {*map(int, (d.kind for d in (insertion, deletion, search)))} == {1, 2, 3}
            keys = {*pair.keys()}
            assert all({*data.keys()} == keys for data in (insertion, deletion, search))


def test_all_windows_and_places_are_drawn():
    found = [manipulated(WORDS[:6], "w6", seed=seed) for seed in range(120)]
    assert {words_and_place(made[1])[1] for made in found} == {*range(5)}
    assert {words_and_place(made[2])[1] for made in found} == {*range(4)}
    assert {words_and_place(made[3])[1] for made in found} == {*range(4)}
    assert {words_and_place(made[3])[0][-1] for made in found} == {
        "w4",
        "w5",
        "w6",
    }  # the last window can be drawn


def test_pairs_without_examples():
    assert [int(data.kind) for data in manipulated(["w0", "w1"], "w2", right=False)] == [0]
    assert [int(data.kind) for data in manipulated(["-", ""], "w2")] == [0]  # no words in the context
    assert [int(data.kind) for data in manipulated(["w0", "w1"], "w2", max_length=10)] == [0]
    # the other dialogue has no other words
    assert [int(data.kind) for data in manipulated(["w0", "w1"], "w2", other=("w1", "w0"))] == [0, 1, 3]


def test_two_utterances_leave_search_one_place():
    words, place = words_and_place(manipulated(["w0"], "w1")[-1])
    assert (words, place) == (["w0", "w1"], 0)


WORD_OF = {TOKENS.encode([word])[0][0]: word for word in WORDS}


def shuffled(size, right=True, form="extra", places=20, seed=0, max_length=64):
    context, response = [TURN[word] for word in WORDS[:size]], TURN["w11"]
    pair = selection_data(context, response, TOKENS, max_length=max_length, y=float(right))
    pair.group = torch.tensor([7])
    dialogue = Dialogue.of(context, response, right)
    objective = OrderRestoration(TOKENS, max_length, form, places)
    return objective.examples(pair, dialogue, dialogue, Draw(random.Random(seed)))


def words_and_order(data):
    """The words, one per utterance, and the target of each [EOU]."""
    words = [WORD_OF[piece] for piece in data.input_ids[data.node_type == NodeType.WORD].tolist()]
    eou = data.node_type == NodeType.EOU
    assert (data.order_target[~eou] == -100).all()
    return words[:-1], words[-1], data.order_target[eou].tolist()


def test_each_utterance_predicts_its_original_position():
    for size, places in [(2, 20), (5, 20), (5, 3), (10, 4)]:
        for seed in range(10):
            for form in ["extra", "same"]:
                *first, last = made = shuffled(size, form=form, places=places, seed=seed)
                words, response, asked = words_and_order(last)
                assert sorted(words, key=WORDS.index) == WORDS[:size]
                assert response == "w11"
                for word, number in zip(words, asked):
                    own = WORDS.index(word) - max(0, size - places)
                    assert number == (own if own >= 0 else -100)
                assert [int(data.kind) for data in made] == ([0, 1] if form == "extra" else [0])
                if form == "extra":
                    assert words_and_order(first[0]) == (WORDS[:size], "w11", [-100] * size)
                    assert {*first[0].keys()} == {*last.keys()}
                else:
                    assert (float(last.y), int(last.group)) == (1.0, 7)


def test_truncated_utterances_are_not_predicted():
    words, _, asked = words_and_order(shuffled(8, max_length=12)[-1])
    assert sorted(words, key=WORDS.index) == WORDS[4:8]
    assert [WORDS[4 + number] for number in asked] == words


def test_all_orders_are_drawn():
    assert len({tuple(words_and_order(shuffled(3, seed=seed)[-1])[2]) for seed in range(100)}) == 6


def test_unshuffled_pairs():
    assert len(shuffled(4, right=False)) == 1  # a true pair has the same context
    assert words_and_order(shuffled(4, right=False, form="same", seed=1)[0])[0] != WORDS[:4]
    assert len(shuffled(1)) == 1
    assert words_and_order(shuffled(1, form="same")[0]) == (["w0"], "w11", [-100])


def augmented(context, response, right=True, other=("w10", "w11"), cuts=1, seed=0):
    own = [TURN.get(word, EMPTY) for word in context]
    pair = selection_data(own, TURN[response], TOKENS, y=float(right))
    pair.group = torch.tensor([7])
    foreign = Dialogue.of([TURN[word] for word in other[:-1]], TURN[other[-1]], True)
    objective = DialogueAugmentation(TOKENS, 64, cuts)
    draw = Draw(random.Random(seed))
    return objective.examples(pair, Dialogue.of(own, TURN[response], right), foreign, draw)


def words_and_label(data):
    """Context, response and label of an example."""
    words = [WORD_OF[piece] for piece in data.input_ids[data.node_type == NodeType.WORD].tolist()]
    return words[:-1], words[-1], int(data.y)


def test_earlier_turns_are_further_pairs():
    for seed in range(10):
        for cuts in [0, 1, 2, 5, 99]:
            context = WORDS[:6]
            first, *more = augmented(context, "w6", cuts=cuts, seed=seed)
            assert words_and_label(first) == (context, "w6", 1)
            assert int(first.group) == 7
            assert len(more) == 2 * min(cuts, 5)
            rights, wrongs = more[::2], more[1::2]
            ends = []
            for right, wrong in zip(rights, wrongs):
                before, response, y = words_and_label(right)
                assert (before, y) == (context[: len(before)], 1)
                assert response == context[len(before)]
                assert len(before) >= 1
                ends.append(len(before))
                other, response, y = words_and_label(wrong)
                assert (other, y) == (before, 0)
                assert response in ("w10", "w11")
            assert len({*ends}) == len(ends)  # without replacement
            assert {int(data.kind) for data in (first, *more)} == {0}
            assert all(int(data.group) == -1 for data in more)
            assert all({*data.keys()} == {*first.keys()} for data in more)


def test_blank_turns_do_not_change_speakers():
    """In further pairs, each utterance has the same speaker as in the pair."""
    for seed in range(5):
        context = ["-", "w0", "-", "w1", "w2", "-", "-", "w3"]
        first, *more = augmented(context, "w4", cuts=9, seed=seed)
        said_by = {}
        for data in (first, *more[::2]):
            marked = Speakers("added")(data.clone())
            words = data.node_type == NodeType.WORD
            names = [WORD_OF[piece] for piece in data.input_ids[words].tolist()]
            said_by[len(names)] = dict(zip(names, marked.mark[words].tolist()))
        assert sorted(said_by) == [2, 3, 4, 5]
        whole = said_by[5]
        for speakers in said_by.values():
            flipped = speakers["w0"] != whole["w0"]
            assert speakers == {name: 3 - whole[name] if flipped else whole[name] for name in speakers}


def test_all_cuts_are_drawn():
    assert {words_and_label(augmented(WORDS[:6], "w6", seed=seed)[1])[1] for seed in range(100)} == {
        *WORDS[1:6]
    }


def test_pairs_without_further_pairs():
    assert len(augmented(["w0", "w1"], "w2", right=False)) == 1
    assert len(augmented(["w0"], "w1")) == 1
    assert len(augmented(["w0", "w1"], "w2", other=("w1", "w2"))) == 1  # no utterance with other words
