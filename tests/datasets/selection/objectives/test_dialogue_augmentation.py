from __future__ import annotations

import random

import pytest
import torch

from graphdep import RelationVocab, Sentence, Vocab
from graphdep.data import EncodedUtterance, NodeType, selection_data
from graphdep.datasets.base.rows import Draw
from graphdep.datasets.selection.objectives import Dialogue, DialogueAugmentation
from graphdep.tasks.selection.model import Speakers
from graphdep.vocab import VocabTokens

WORDS = [f"w{number}" for number in range(12)]
TOKENS = VocabTokens(Vocab(WORDS))
WORD_OF = {TOKENS.encode([word])[0][0]: word for word in WORDS}
TURN = {word: EncodedUtterance.of(Sentence.chain([word]), TOKENS, RelationVocab()) for word in WORDS}


EMPTY = EncodedUtterance.of(None, TOKENS, RelationVocab())


def make(context, response, right=True, other=("w10", "w11"), cuts=1, seed=0):
    own = [TURN.get(word, EMPTY) for word in context]
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


@pytest.mark.parametrize("seed", range(5))
def test_blank_turns_change_nobodys_speaker(seed):
    """Whoever said something in the pair is with the same people in what is cut of it."""
    context = ["-", "w0", "-", "w1", "w2", "-", "-", "w3"]
    first, *more = make(context, "w4", cuts=9, seed=seed)
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


def test_all_cuts_come_up():
    assert {said(make(WORDS[:6], "w6", seed=seed)[1])[1] for seed in range(100)} == {*WORDS[1:6]}


def test_what_gives_no_further_pairs():
    assert len(make(["w0", "w1"], "w2", right=False)) == 1
    assert len(make(["w0"], "w1")) == 1
    assert len(make(["w0", "w1"], "w2", other=("w1", "w2"))) == 1  # nothing else to say
