from __future__ import annotations

import random

import pytest
import torch

from graphdep import RelationVocab, Sentence, Vocab
from graphdep.data import EncodedUtterance, NodeType, selection_data
from graphdep.datasets.base.draw import Draw
from graphdep.datasets.selection.objectives.dialogue import Dialogue
from graphdep.datasets.selection.objectives.dialogue_augmentation import DialogueAugmentation
from graphdep.vocab import VocabTokens

WORDS = [f"w{number}" for number in range(12)]
TOKENS = VocabTokens(Vocab(WORDS))
WORD_OF = {TOKENS.encode([word])[0][0]: word for word in WORDS}
TURN = {word: EncodedUtterance.of(Sentence.chain([word]), TOKENS, RelationVocab()) for word in WORDS}


def make(context, response, right=True, other=("w10", "w11"), cuts=1, seed=0):
    own = [TURN[word] for word in context]
    pair = selection_data(own, TURN[response], TOKENS, y=float(right))
    pair.group = torch.tensor([7])
    foreign = Dialogue.of([TURN[word] for word in other[:-1]], TURN[other[-1]], True)
    objective = DialogueAugmentation(TOKENS, 64, cuts)
    draw = Draw(random.Random(seed))
    return objective.examples(pair, Dialogue.of(own, TURN[response], right), foreign, draw)


def said(data):
    """Context, response and label."""
    words = [WORD_OF[piece] for piece in data.input_ids[data.node_type == NodeType.WORD].tolist()]
    return words[:-1], words[-1], int(data.y)


@pytest.mark.parametrize("cuts", [0, 1, 2, 5, 99])
@pytest.mark.parametrize("seed", range(10))
def test_earlier_turns_are_further_pairs(cuts, seed):
    context = WORDS[:6]
    first, *more = make(context, "w6", cuts=cuts, seed=seed)
    assert said(first) == (context, "w6", 1)
    assert int(first.group) == 7
    assert len(more) == 2 * min(cuts, 5)
    rights, wrongs = more[::2], more[1::2]
    ends = []
    for right, wrong in zip(rights, wrongs):
        before, response, y = said(right)
        assert (before, y) == (context[: len(before)], 1)
        assert response == context[len(before)]
        assert len(before) >= 1
        ends.append(len(before))
        other, response, y = said(wrong)
        assert (other, y) == (before, 0)
        assert response in ("w10", "w11")
    assert len({*ends}) == len(ends)  # each once
    assert {int(data.kind) for data in (first, *more)} == {0}
    assert all(int(data.group) == -1 for data in more)
    assert all({*data.keys()} == {*first.keys()} for data in more)


def test_all_cuts_come_up():
    assert {said(make(WORDS[:6], "w6", seed=seed)[1])[1] for seed in range(100)} == {*WORDS[1:6]}


def test_what_gives_no_further_pairs():
    assert len(make(["w0", "w1"], "w2", right=False)) == 1
    assert len(make(["w0"], "w1")) == 1
    assert len(make(["w0", "w1"], "w2", other=("w1", "w2"))) == 1  # nothing else to say
