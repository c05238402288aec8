from __future__ import annotations

import math
import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from graphdep.nn.models import DeepAttentionMatching
from tests.kit.word_dialogues import VOCAB, attend, random_dialogue, vectors_of, word_dialogue


def make(**options) -> DeepAttentionMatching:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 4, "num_layers": 2, "max_words": 5, "max_turns": 4}
    return DeepAttentionMatching(len(VOCAB), **{**sizes, **options}).double().eval()


def convolved(conv: torch.nn.Conv3d, cube: Tensor) -> Tensor:
    """The convolution place by place, zeros around the cube, and ELU."""
    out = cube.new_zeros(conv.out_channels, *cube.shape[1:])
    for t, i, j in torch.cartesian_prod(*(torch.arange(size) for size in cube.shape[1:])).tolist():
        total = conv.bias
        for a, b, c in torch.cartesian_prod(*[torch.arange(3)] * 3).tolist():
            place = (t + a - 1, i + b - 1, j + c - 1)
            if all(0 <= at < size for at, size in zip(place, cube.shape[1:])):
                total = total + conv.weight[:, :, a, b, c] @ cube[:, place[0], place[1], place[2]]
        out[:, t, i, j] = F.elu(total)
    return out


def pooled(cube: Tensor) -> Tensor:
    """The largest of each window of three; the last windows may be smaller."""
    sizes = [math.ceil(size / 3) for size in cube.shape[1:]]
    out = cube.new_zeros(cube.size(0), *sizes)
    for t, i, j in torch.cartesian_prod(*(torch.arange(size) for size in sizes)).tolist():
        window = cube[:, 3 * t : 3 * t + 3, 3 * i : 3 * i + 3, 3 * j : 3 * j + 3]
        out[:, t, i, j] = window.flatten(1).amax(dim=1)
    return out


def literal(model: DeepAttentionMatching, context: list[str], response: str) -> Tensor:
    """The formulas, utterance by utterance and word by word."""
    layers, side = len(model.own), model.max_words
    cube = torch.zeros(2 * (layers + 1), model.max_turns, side, side).double()
    for turn, text in enumerate(context[-model.max_turns :]):
        u, r = vectors_of(model, text), vectors_of(model, response)
        for layer in range(layers + 1):
            crossed_u = attend(model.turn_at_response[layer], u, r)
            crossed_r = attend(model.response_at_turn[layer], r, u)
            for channel, (left, right) in ((layer, (u, r)), (layers + 1 + layer, (crossed_u, crossed_r))):
                for i in range(len(u)):
                    for j in range(len(r)):
                        product = left[i] @ right[j]
                        cube[channel, turn, i, j] = product / 2 if model.form == "code" else product
            if layer < layers:
                u, r = attend(model.own[layer], u, u), attend(model.own[layer], r, r)
    features = pooled(convolved(model.conv2, pooled(convolved(model.conv1, cube))))
    return model.lin(features.flatten())[0]


@pytest.mark.parametrize("form", ["paper", "code"])
def test_equals_the_formulas(form: str) -> None:
    model, rng = make(form=form), random.Random(1)
    parameters = [*model.parameters()]
    for turns, words in ((1, 1), (6, 4)):
        dialogue = random_dialogue(rng, turns, words)
        found, expected = model(word_dialogue(*dialogue))[0], literal(model, *dialogue)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
        left = torch.autograd.grad(found, parameters, materialize_grads=True)
        right = torch.autograd.grad(expected, parameters, materialize_grads=True)
        for one, other in zip(left, right):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-8)


def test_published_sizes() -> None:
    model = DeepAttentionMatching(20)
    module = 2 * (200 * 200 + 200) + 4 * 200
    convolutions = 27 * (12 * 32 + 32 * 16) + 32 + 16
    own = sum(p.numel() for n, p in model.named_parameters() if "encoder" not in n)
    assert own == (5 + 2 * 6) * module + convolutions + 16 * 6 * 6 + 1


def test_without_layers_and_without_the_former_turns() -> None:
    model = make(num_layers=0, max_turns=2)
    torch.testing.assert_close(
        model(word_dialogue(["c", "a b", "d"], "e")), model(word_dialogue(["a b", "d"], "e"))
    )


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"'form' must be one of paper, code \(got 'text'\)"):
        make(form="text")
    with pytest.raises(ValueError, match=r"'max_turns' must be a whole number of at least 1 \(got 0\)"):
        make(max_turns=0)
    with pytest.raises(ValueError, match=r"'num_layers' must be a whole number of at least 0 \(got -1\)"):
        make(num_layers=-1)
    with pytest.raises(ValueError, match=r"'num_layers' must be a whole number of at least 0 \(got 1.5\)"):
        make(num_layers=1.5)
