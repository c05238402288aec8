from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from graphdep import Sentence, Vocab, to_data
from graphdep.nn.models import RNTN
from tests.kit.trees import Pair, bracketed_sentence, nested

VOCAB = Vocab("abcdefgh")


def make(seed: int = 0, **options) -> RNTN:
    torch.manual_seed(seed)
    model = RNTN(len(VOCAB), **({"hidden_channels": 4} | options)).double()
    torch.nn.init.normal_(model.lin.bias)
    return model


def literal(model: RNTN, sentence: Sentence) -> Tensor:
    """The formula by recursion, number by number."""
    d = model.hidden_channels
    x = model.embedding.word.weight[to_data([sentence], vocab=VOCAB).input_ids[1:]]
    # One matrix a slice; both sides of the tensor take the pair.
    slices = model.tensor.view(2 * d, 2 * d, d).permute(2, 0, 1)

    def state(node: Pair | int) -> Tensor:
        if isinstance(node, int):
            return x[node] if model.leaf == "paper" else torch.tanh(x[node])
        pair = torch.cat([state(node.left), state(node.right)])
        products = torch.stack([pair @ matrix @ pair for matrix in slices])
        return torch.tanh(products + model.lin.weight @ pair + model.lin.bias)

    return state(nested(sentence, model.binarized))


@pytest.mark.parametrize("leaf", ["paper", "code"])
@pytest.mark.parametrize("binarized", ["left", "head"])
def test_equals_the_formula(leaf: str, binarized: str) -> None:
    model, rng = make(leaf=leaf, binarized=binarized), random.Random(1)
    for words in (1, 2, 5, 9, 12):
        sentence = bracketed_sentence(rng, words)
        out = model(to_data([sentence], vocab=VOCAB, phrases="spans"))[0]
        expected = literal(model, sentence)
        torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
        parameters = [*model.parameters()]
        left = torch.autograd.grad(out.sin().sum(), parameters, materialize_grads=True)
        right = torch.autograd.grad(expected.sin().sum(), parameters, materialize_grads=True)
        for one, other in zip(left, right):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_sizes_and_start() -> None:
    model = RNTN(20)
    shapes = {name: [*parameter.shape] for name, parameter in model.named_parameters()}
    assert shapes == {
        "tensor": [60, 60 * 30],
        "embedding.word.weight": [20, 30],
        "lin.weight": [30, 60],
        "lin.bias": [30],
    }
    assert model.tensor.abs().max() <= 1 / 120
    near = model.lin.weight - torch.eye(30).repeat(1, 2)
    assert near.abs().max() <= 0.5 * 30**-0.5
    assert not model.lin.bias.any()


def test_errors() -> None:
    assert "leaf='paper', binarized='left'" in str(make())
    with pytest.raises(ValueError, match="'leaf' must be one of paper, code \\(got 'relu'\\)"):
        make(leaf="relu")
