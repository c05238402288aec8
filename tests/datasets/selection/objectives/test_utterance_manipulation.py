from __future__ import annotations

import random

import pytest
import torch

from graphdep import RelationVocab, Sentence, Vocab
from graphdep.data import EncodedUtterance, selection_data
from graphdep.datasets.base.rows import Draw
from graphdep.datasets.selection.objectives import Dialogue, UtteranceManipulation
from graphdep.vocab import VocabTokens

WORDS = [f"w{number}" for number in range(12)]
TOKENS = VocabTokens(Vocab(WORDS))
ID_OF = {word: TOKENS.encode([word])[0][0] for word in WORDS}
TURN = {word: EncodedUtterance.of(Sentence.chain([word]), TOKENS, RelationVocab()) for word in WORDS}
EMPTY = EncodedUtterance.of(None, TOKENS, RelationVocab())


def make(context, response, right=True, other=("w10", "w11"), turns=5, seed=0, max_length=64):
    own = [TURN.get(word, EMPTY) for word in context]
    pair = selection_data(own, TURN[response], TOKENS, y=float(right))
    pair.group = torch.tensor([7])
    dialogue = Dialogue.of(own, TURN[response], right)
    foreign = Dialogue.of([TURN[word] for word in other[:-1]], TURN[other[-1]], True)
    objective = UtteranceManipulation(TOKENS, max_length, turns)
    return objective.examples(pair, dialogue, foreign, Draw(random.Random(seed)))


def said(data):
    """The words of an example, which here are one an utterance, and the place of the answer."""
    word_of = {number: word for word, number in ID_OF.items()}
    words = [word_of[piece] for piece in data.input_ids.tolist() if piece in word_of]
    return words, data.mark_target[data.mark > 0].tolist().index(1.0)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("size", [2, 3, 4, 9])
def test_each_example_says_what_was_done(seed, size):
    dialogue = WORDS[:size]
    pair, insertion, deletion, search = make(dialogue[:-1], dialogue[-1], seed=seed)
    assert [int(data.kind) for data in (pair, insertion, deletion, search)] == [0, 1, 2, 3]
    assert float(pair.y) == 1.0
    assert int(pair.group) == 7
    assert not pair.mark.any()

    words, place = said(insertion)
    *rest, target = words
    restored = [*rest[:place], target, *rest[place:]]
    assert restored == dialogue[WORDS.index(restored[0]) :][: min(size, 5)]

    words, place = said(deletion)
    assert words[place] in ("w10", "w11")
    left = words[:place] + words[place + 1 :]
    assert left == dialogue[WORDS.index(left[0]) :][: min(size, 4)]
    assert place < len(left)  # never behind all, as in the public code

    *shuffled, last = words = said(search)[0]
    window = sorted(shuffled, key=WORDS.index)
    assert [*window, last] == dialogue[WORDS.index(window[0]) :][: min(size, 5)]
    assert shuffled[said(search)[1]] == window[-1]
    assert {*map(int, (d.kind for d in (insertion, deletion, search)))} == {1, 2, 3}
    keys = {*pair.keys()}
    assert all({*data.keys()} == keys for data in (insertion, deletion, search))


def test_all_windows_and_places_come_up():
    found = [make(WORDS[:6], "w6", seed=seed) for seed in range(300)]
    assert {said(made[1])[1] for made in found} == {*range(5)}
    assert {said(made[2])[1] for made in found} == {*range(4)}
    assert {said(made[3])[1] for made in found} == {*range(4)}
    assert {said(made[3])[0][-1] for made in found} == {"w4", "w5", "w6"}  # the last window among them


def test_what_gives_no_examples():
    assert [int(data.kind) for data in make(["w0", "w1"], "w2", right=False)] == [0]
    assert [int(data.kind) for data in make(["-", ""], "w2")] == [0]  # without a context of words
    assert [int(data.kind) for data in make(["w0", "w1"], "w2", max_length=10)] == [0]
    # the other dialogue says nothing else
    assert [int(data.kind) for data in make(["w0", "w1"], "w2", other=("w1", "w0"))] == [0, 1, 3]


def test_two_utterances_leave_search_one_place():
    words, place = said(make(["w0"], "w1")[-1])
    assert (words, place) == (["w0", "w1"], 0)
