from __future__ import annotations

import itertools
import math
import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.data import Batch

from graphdep.nn.models import IOI
from tests.kit.word_dialogues import VOCAB, attend, gru_by_hand, random_dialogue, vectors_of, word_dialogue


def make(**options) -> IOI:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 4, "num_layers": 3, "max_words": 5, "dropout": 0.0}
    return IOI(len(VOCAB), **{**sizes, **options}).double().eval()


def convolved(conv: torch.nn.Conv2d, image: Tensor) -> Tensor:
    """The convolution place by place, zeros around the image, ReLU, and the largest of each window of three;
    the last windows may be smaller.
    """
    high, wide = image.shape[1:]
    out = image.new_zeros(conv.out_channels, high, wide)
    for i, j in itertools.product(range(high), range(wide)):
        total = conv.bias
        for a, b in itertools.product(range(3), range(3)):
            if 0 <= i + a - 1 < high and 0 <= j + b - 1 < wide:
                total = total + conv.weight[:, :, a, b] @ image[:, i + a - 1, j + b - 1]
        out[:, i, j] = total.clamp(min=0)
    pooled = out.new_zeros(conv.out_channels, math.ceil(high / 3), math.ceil(wide / 3))
    for i, j in itertools.product(range(pooled.size(1)), range(pooled.size(2))):
        pooled[:, i, j] = out[:, 3 * i : 3 * i + 3, 3 * j : 3 * j + 3].flatten(1).amax(dim=1)
    return pooled


def literal(model: IOI, context: list[str], response: str) -> list[Tensor]:
    """The logits of all blocks by the formulas, utterance by utterance and word by word."""
    logits, channels = [], 4
    vectors: list[list[Tensor]] = [[] for _ in model.blocks]
    for text in context:
        start = texts = [vectors_of(model, text), vectors_of(model, response)]
        for number, block in enumerate(model.blocks):
            own = [attend(block.own[side], texts[side], texts[side]) for side in range(2)]
            crossed = [attend(block.crossed[side], texts[side], texts[1 - side]) for side in range(2)]
            image = torch.zeros(3, model.max_words, model.max_words).double()
            for channel, (u, r) in enumerate((texts, own, crossed)):
                for i, j in itertools.product(range(len(u)), range(len(r))):
                    image[channel, i, j] = u[i] @ r[j] / channels**0.5
            features = convolved(block.conv2, convolved(block.conv1, image))
            vectors[number].append(torch.tanh(block.lin_match(features.flatten())))
            following = []
            for side, x in enumerate(texts if block is not model.blocks[-1] else []):
                found = torch.cat([x, own[side], crossed[side], x * crossed[side]], dim=1)
                total = x + block.compress[side](found).clamp(min=0)
                total = total + start[side] if number > 0 else total
                following.append(block.norm[side](total))
            texts = following
    for block, found in zip(model.blocks, vectors):
        logits.append(block.lin(gru_by_hand(block.turns.gru, torch.stack(found))[-1])[0])
    return logits


@pytest.mark.parametrize("form", ["paper", "code"])
def test_equals_the_formulas(form: str) -> None:
    model, rng = make(form=form), random.Random(1)
    parameters = [*model.parameters()]
    for turns, words in ((1, 1), (2, 7)):
        dialogue = random_dialogue(rng, turns, words)
        found, expected = model.trained(word_dialogue(*dialogue))[0], torch.stack(literal(model, *dialogue))
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
        left = torch.autograd.grad(found.sin().sum(), parameters, materialize_grads=True)
        right = torch.autograd.grad(expected.sin().sum(), parameters, materialize_grads=True)
        for one, other in zip(left, right):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-8)


def test_ranks_by_the_mean_of_all_blocks_and_each_learns() -> None:
    model, data = make(), word_dialogue(["a b", "c"], "d")
    logits = model.trained(data)
    torch.testing.assert_close(model(data).sigmoid(), logits.sigmoid().mean(dim=-1))
    y = torch.ones(1).double()
    losses = [F.binary_cross_entropy_with_logits(logits[:, k], y) for k in range(3)]
    torch.testing.assert_close(model.loss(data, y), sum(losses).float())


def test_blocks_are_combined_in_32_bits() -> None:
    """The difference of two sums that are nearly one would have no digit left in 16."""
    model, batch = make(num_layers=7).bfloat16(), []
    for response in "abcdefghij":
        batch.append(word_dialogue(["a b", "c"], response))
    data = Batch.from_data_list(batch)
    mean = model.trained(data).double().sigmoid().mean(dim=-1)
    torch.testing.assert_close(model(data).double(), mean.logit(), rtol=0, atol=1e-5)


def test_the_global_objective_is_of_the_sum() -> None:
    model, data = make(objective="global"), word_dialogue(["a b", "c"], "d")
    expected = torch.stack(literal(model, ["a b", "c"], "d")).sum()
    torch.testing.assert_close(model(data)[0], expected)
    y = torch.zeros(1).double()
    torch.testing.assert_close(
        model.loss(data, y), F.binary_cross_entropy_with_logits(expected[None], y).float()
    )


def test_published_sizes() -> None:
    block = IOI(20).blocks[0]
    module = 2 * (200 * 200 + 200) + 4 * 200
    images = 9 * (3 * 32 + 32 * 16) + 32 + 16 + 576 * 200 + 200
    rest = 2 * (800 * 200 + 200 + 2 * 200) + 3 * (2 * 200 * 200 + 2 * 200) + 201
    assert sum(p.numel() for p in block.parameters()) == 4 * module + images + rest


def test_dropout_is_for_training() -> None:
    model, data = make(dropout=0.5), word_dialogue(["a b", "c"], "d")
    assert torch.equal(model(data), model(data))
    model.train()
    assert not torch.equal(model(data), model(data))


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"'form' must be one of paper, code \(got 'text'\)"):
        make(form="text")
    with pytest.raises(ValueError, match=r"'objective' must be one of local, global \(got 'all'\)"):
        make(objective="all")
    with pytest.raises(ValueError, match=r"'num_layers' must be a whole number of at least 1 \(got 0\)"):
        make(num_layers=0)
    with pytest.raises(ValueError, match=r"'num_layers' must be a whole number of at least 1 \(got 1.5\)"):
        make(num_layers=1.5)
