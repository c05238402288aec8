from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from graphdep.nn.models import DUA
from tests.kit.word_dialogues import (
    VOCAB,
    gru_by_hand,
    matched_by_hand,
    random_dialogue,
    vectors_of,
    word_dialogue,
)


def make(**options) -> DUA:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 4, "match_channels": 3, "max_words": 6}
    return DUA(len(VOCAB), **{**sizes, **options}).double().eval()


def aggregated(model: DUA, own: Tensor, last: Tensor) -> Tensor:
    """The states of a text's words, from those of the first GRU of it and of the last utterance."""
    size = own.size(1)
    rows = []
    for back in range(len(own), 0, -1):
        beside = last[-back] if back <= len(last) else own.new_zeros(size)
        rows.append(torch.cat([own[-back], beside]))
    seen = []
    for row in rows:
        weights = [
            model.lin_weight(torch.tanh(model.lin_other(other) + model.lin_own(row)))[0].exp()
            for other in rows
        ]
        total = sum(weights) if model.form == "paper" else 1
        seen.append(sum(weight * other for weight, other in zip(weights, rows)) / total)
    return gru_by_hand(model.gru_seen, torch.cat([torch.stack(rows), torch.stack(seen)], dim=1))


def literal(model: DUA, context: list[str], response: str) -> Tensor:
    """The formulas, utterance by utterance and word by word."""
    turns = model.turns
    texts = [vectors_of(model, text) for text in (*context, response)]
    first = [gru_by_hand(model.gru, x) for x in texts]
    states = [aggregated(model, own, first[-2]) for own in first]
    pairs = zip(texts[:-1], states[:-1])
    vectors = [matched_by_hand(model.images, u, texts[-1], pu, states[-1]) for u, pu in pairs]
    contexts = gru_by_hand(turns.gru, torch.stack(vectors))
    weights = torch.stack(
        [
            turns.lin_weight(torch.tanh(turns.lin_word(own[-1]) + turns.lin_turn(state)))[0].exp()
            for own, state in zip(states, contexts)
        ]
    )
    return model.lin(sum(weight * state for weight, state in zip(weights / weights.sum(), contexts)))[0]


@pytest.mark.parametrize("form", ["paper", "code"])
def test_equals_the_formulas(form: str) -> None:
    model, rng = make(form=form), random.Random(1)
    parameters = [*model.parameters()]
    for turns, words in ((1, 1), (3, 9)):
        dialogue = random_dialogue(rng, turns, words)
        found, expected = model(word_dialogue(*dialogue))[0], literal(model, *dialogue)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
        left = torch.autograd.grad(found, parameters, materialize_grads=True)
        right = torch.autograd.grad(expected, parameters, materialize_grads=True)
        for one, other in zip(left, right):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_every_text_reads_the_last_utterance() -> None:
    """The words of an utterance that ends beside another last one have other states."""
    model = make()
    torch.nn.init.zeros_(model.lin_other.weight)
    first = model(word_dialogue(["a b", "c d"], "e"))
    model.gru_seen.weight_ih_l0.data[:, 4:8] = 0  # the last utterance in f
    model.gru_seen.weight_ih_l0.data[:, 12:] = 0  # and in what is seen
    assert not torch.allclose(first, model(word_dialogue(["a b", "c d"], "e")))


def test_published_sizes() -> None:
    model = DUA(20)
    own = sum(p.numel() for n, p in model.named_parameters() if "encoder" not in n)
    first = 3 * (200 * 200 + 200 * 200 + 2 * 200)
    second = 3 * (800 * 200 + 200 * 200 + 2 * 200)
    attention = 2 * 400 * 400 + 400
    images = 200 * 200 + 2 * 8 * 9 + 8 + 2048 * 50 + 50
    turns = 3 * (50 * 50 + 50 * 50 + 2 * 50) + 200 * 50 + 50 + 50 * 50 + 50
    assert own == first + second + attention + images + turns + 51


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"'form' must be one of paper, code \(got 'text'\)"):
        make(form="text")
