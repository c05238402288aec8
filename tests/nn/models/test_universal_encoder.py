from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep import Sentence, Vocab, to_data
from graphdep.nn.models import UniversalEncoder
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")
each = pytest.mark.parametrize("variant", ["transformer", "dan"])


def make(variant: str = "transformer", **options) -> UniversalEncoder:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 6, "heads": 2, "ff_channels": 8, "num_layers": 2, "buckets": 11}
    return UniversalEncoder(len(VOCAB), variant=variant, **(sizes | options)).double()


def example(seed: int) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 8)) for _ in range(1 + seed % 3)], vocab=VOCAB)


def attended(layer, x: Tensor) -> Tensor:
    """A block of a Transformer, head by head."""
    conv = layer.conv
    q, k, v = conv.lin_query(x), conv.lin_key(x), conv.lin_value(x)
    heads = []
    for part in (slice(0, 3), slice(3, 6)):
        weights = (q[:, part] @ k[:, part].T / math.sqrt(3)).softmax(dim=1)
        heads.append(weights @ v[:, part])
    x = layer.norm_attention(x + layer.lin_out(torch.cat(heads, dim=1)))
    return layer.norm_feed_forward(x + layer.feed_forward(x))


def literal(model: UniversalEncoder, sentence: Sentence) -> Tensor:
    ids = to_data([sentence], vocab=VOCAB).input_ids[1:].tolist()
    words = [model.embedding.word.weight[number] for number in ids]
    if model.variant == "transformer":
        x = torch.stack([w + model.embedding.position.weight[1 + p] for p, w in enumerate(words)])
        for layer in model.layers:
            x = attended(layer, x)
        return torch.stack([x.sum(dim=0) / math.sqrt(len(ids)), *x])
    pairs = [model.pair.weight[(a * 1_000_003 + b * 8_191) % 11] for a, b in pairwise(ids)]
    mean = torch.stack([*words, *pairs]).mean(dim=0)
    for layer in model.layers:
        mean = torch.relu(layer(mean))
    return torch.stack([mean, *words])


@each
def test_equals_the_formulas(variant: str) -> None:
    model, rng = make(variant), random.Random(1)
    for words in (1, 2, 5, 9):
        sentence = random_sentence(rng, words)
        out, expected = model(to_data([sentence], vocab=VOCAB)), literal(model, sentence)
        torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
        parameters = [*model.parameters()]
        left = torch.autograd.grad(out.sin().sum(), parameters, materialize_grads=True)
        right = torch.autograd.grad(expected.sin().sum(), parameters, materialize_grads=True)
        for one, other in zip(left, right):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_order_counts() -> None:
    """In the second form by pairs alone."""
    for variant in ("transformer", "dan"):
        one, other = (to_data([Sentence.chain(list(text))], vocab=VOCAB) for text in ("abc", "acb"))
        model = make(variant)
        assert not torch.allclose(model(one)[0], model(other)[0])


def test_sizes() -> None:
    block = 4 * (300 * 300 + 300) + 2 * (300 * 300 + 300) + 4 * 300
    found = sum(p.numel() for p in UniversalEncoder(20).parameters())
    assert found == 20 * 300 + 512 * 300 + 3 * block
    dan = sum(p.numel() for p in UniversalEncoder(20, variant="dan").parameters())
    assert dan == 20 * 300 + 20_000 * 300 + 3 * (300 * 300 + 300)


def test_errors() -> None:
    assert "variant='dan'" in str(make("dan"))
    with pytest.raises(ValueError, match="'variant' must be one of transformer, dan \\(got 'cnn'\\)"):
        make("cnn")
    for name in ("hidden_channels", "num_layers", "heads", "ff_channels", "buckets"):
        for value in (0, 1.5, True):
            with pytest.raises(ValueError, match=f"'{name}' must be a whole number .* 1 \\(got {value}\\)"):
                make(**{name: value})
    with pytest.raises(ValueError, match="'max_positions' must be a whole number of at least 0 \\(got -1\\)"):
        make(max_positions=-1)
    with pytest.raises(ValueError, match="'heads' \\(4\\) must divide 'hidden_channels' \\(6\\)"):
        make(heads=4)
    assert make("dan", heads=4).hidden_channels == 6  # has no heads
    with pytest.raises(ValueError, match="no ROOT nodes: call to_data\\(..., root=True\\)"):
        make()(to_data([Sentence.chain(["a"])], vocab=VOCAB, root=False))
