from __future__ import annotations

import random

import pytest
import torch

from graphdep import RelationVocab, Sentence, Vocab
from graphdep.data import EncodedUtterance, NodeType, selection_data
from graphdep.datasets.base.rows import Draw
from graphdep.datasets.selection.objectives import Dialogue, OrderRestoration
from graphdep.vocab import VocabTokens

WORDS = [f"w{number}" for number in range(12)]
TOKENS = VocabTokens(Vocab(WORDS))
WORD_OF = {TOKENS.encode([word])[0][0]: word for word in WORDS}
TURN = {word: EncodedUtterance.of(Sentence.chain([word]), TOKENS, RelationVocab()) for word in WORDS}


def make(size, right=True, form="extra", places=20, seed=0, max_length=64):
    context, response = [TURN[word] for word in WORDS[:size]], TURN["w11"]
    pair = selection_data(context, response, TOKENS, max_length=max_length, y=float(right))
    pair.group = torch.tensor([7])
    dialogue = Dialogue.of(context, response, right)
    objective = OrderRestoration(TOKENS, max_length, form, places)
    return objective.examples(pair, dialogue, dialogue, Draw(random.Random(seed)))


def said(data):
    """The words, which here are one an utterance, and what each [EOU] is asked for."""
    words = [WORD_OF[piece] for piece in data.input_ids[data.node_type == NodeType.WORD].tolist()]
    eou = data.node_type == NodeType.EOU
    assert (data.order_target[~eou] == -100).all()
    return words[:-1], words[-1], data.order_target[eou].tolist()


@pytest.mark.parametrize("form", ["extra", "same"])
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("size", "places"), [(2, 20), (5, 20), (5, 3), (10, 4)])
def test_each_utterance_is_asked_for_the_number_that_it_had(form, seed, size, places):
    *first, shuffled = made = make(size, form=form, places=places, seed=seed)
    words, response, asked = said(shuffled)
    assert sorted(words, key=WORDS.index) == WORDS[:size]
    assert response == "w11"
    for word, number in zip(words, asked):
        own = WORDS.index(word) - max(0, size - places)
        assert number == (own if own >= 0 else -100)
    assert [int(data.kind) for data in made] == ([0, 1] if form == "extra" else [0])
    if form == "extra":
        assert said(first[0]) == (WORDS[:size], "w11", [-100] * size)
        assert {*first[0].keys()} == {*shuffled.keys()}
    else:
        assert (float(shuffled.y), int(shuffled.group)) == (1.0, 7)


def test_what_was_cut_is_not_asked_for():
    words, _, asked = said(make(8, max_length=12)[-1])
    assert sorted(words, key=WORDS.index) == WORDS[4:8]
    assert [WORDS[4 + number] for number in asked] == words


def test_all_orders_come_up():
    assert len({tuple(said(make(3, seed=seed)[-1])[2]) for seed in range(100)}) == 6


def test_what_is_not_shuffled():
    assert len(make(4, right=False)) == 1  # the right pair has the same context
    assert said(make(4, right=False, form="same", seed=1)[0])[0] != WORDS[:4]
    assert len(make(1)) == 1
    assert said(make(1, form="same")[0]) == (["w0"], "w11", [-100])
