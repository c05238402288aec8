from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from graphdep.nn.models import SMN
from tests.kit.word_dialogues import (
    VOCAB,
    gru_by_hand,
    matched_by_hand,
    random_dialogue,
    vectors_of,
    word_dialogue,
)


def make(**options) -> SMN:
    torch.manual_seed(0)
    model = SMN(len(VOCAB), **{"hidden_channels": 4, "match_channels": 3, "max_words": 8, **options})
    return model.double().eval()


def literal(model: SMN, context: list[str], response: str) -> Tensor:
    """The formulas, utterance by utterance."""
    turns, words = model.turns, []
    r = vectors_of(model, response)
    hr, vectors = gru_by_hand(model.gru, r), []
    for text in context[-model.max_turns :]:
        u = vectors_of(model, text)
        hu = gru_by_hand(model.gru, u)
        vectors.append(matched_by_hand(model.images, u, r, hu, hr))
        words.append(hu[-1])
    states = gru_by_hand(turns.gru, torch.stack(vectors))
    if turns.accumulation == "last":
        whole = states[-1]
    elif turns.accumulation == "static":
        weights = turns.weight.flip(0)
        last = len(weights) - 1
        whole = sum(weights[min(n, last)] * state for n, state in enumerate(states.flip(0)))
    else:
        scores = torch.stack(
            [
                turns.lin_weight(torch.tanh(turns.lin_word(word) + turns.lin_turn(state)))[0]
                for word, state in zip(words, states)
            ]
        )
        weights = scores.exp() / scores.exp().sum()
        whole = sum(weight * state for weight, state in zip(weights, states))
    return model.lin(whole)[0]


@pytest.mark.parametrize("accumulation", ["dynamic", "static", "last"])
def test_equals_the_formulas(accumulation: str) -> None:
    model, rng = make(accumulation=accumulation, max_turns=2), random.Random(1)
    if accumulation == "static":
        torch.nn.init.normal_(model.turns.weight)
    parameters = [*model.parameters()]
    for turns, words in ((1, 1), (3, 11)):
        dialogue = random_dialogue(rng, turns, words)
        found, expected = model(word_dialogue(*dialogue))[0], literal(model, *dialogue)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
        left = torch.autograd.grad(found, parameters, materialize_grads=True)
        right = torch.autograd.grad(expected, parameters, materialize_grads=True)
        for one, other in zip(left, right):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_published_sizes() -> None:
    """The layer behind the pooling reads 2,048 numbers, as in the code."""
    model = SMN(20)
    assert tuple(model.images.lin.weight.shape) == (50, 2048)
    own = sum(p.numel() for n, p in model.named_parameters() if "encoder" not in n)
    gru = 3 * (200 * 200 + 200 * 200 + 2 * 200)
    images = 200 * 200 + 2 * 8 * 9 + 8 + 2048 * 50 + 50
    turns = 3 * (50 * 50 + 50 * 50 + 2 * 50) + 200 * 50 + 50 + 50 * 50 + 50
    assert own == gru + images + turns + 51


def test_vectors_keep_their_size() -> None:
    model = SMN(len(VOCAB), hidden_channels=4, max_words=8, vectors=torch.randn(len(VOCAB), 7))
    assert (model.gru.input_size, model.gru.hidden_size, model.images.form.shape) == (7, 4, (4, 4))
    assert model(word_dialogue(["a b"], "c")).shape == (1,)


def test_errors() -> None:
    for name, value in (("match_channels", 0), ("match_channels", 2.5), ("hidden_channels", 0)):
        with pytest.raises(
            ValueError, match=rf"'{name}' must be a whole number of at least 1 \(got {value}\)"
        ):
            make(**{name: value})
