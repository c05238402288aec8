from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from graphdep import Sentence, Vocab, to_data
from graphdep.nn.models import BinaryTreeLSTM
from tests.kit.trees import Pair, bracketed_sentence, nested

VOCAB = Vocab("abcdefgh")
each_leaf = pytest.mark.parametrize("leaf", ["paper", "code"])


def make(seed: int = 0, **options) -> BinaryTreeLSTM:
    torch.manual_seed(seed)
    model = BinaryTreeLSTM(len(VOCAB), **({"hidden_channels": 4} | options)).double()
    if model.bias_f is not None:
        torch.nn.init.normal_(model.bias_f)
    return model


def literal(model: BinaryTreeLSTM, sentence: Sentence) -> tuple[Tensor, list[Tensor]]:
    """Eq. 9-14 by recursion, gate by gate: the state of the whole, and those of the words."""
    size = model.hidden_channels
    ids = to_data([sentence], vocab=VOCAB).input_ids[1:]
    x = model.embedding.word.weight[ids]
    zero = x.new_zeros(size)
    w, b = model.lin_x.weight, model.lin_x.bias
    u = model.lin_h.weight.view(5, size, 2, size)
    words: list[Tensor] = [zero] * len(sentence)

    def gate(number: int, left: Tensor, right: Tensor) -> Tensor:
        bias = model.lin_h.bias.view(5, size)[number] if model.bias_f is None else zero
        return u[number, :, 0] @ left + u[number, :, 1] @ right + bias

    def own(number: int) -> Tensor:
        return torch.cat([b, model.bias_f, model.bias_f]).view(5, size)[number]

    def word(number: int) -> tuple[Tensor, Tensor]:
        rows = w.view(-1, size, w.size(1)) @ x[number] + b.view(-1, size)
        if model.leaf == "code":
            o, c = rows
        else:
            i, o, candidate = rows
            c = i.sigmoid() * candidate.tanh()
        words[number] = o.sigmoid() * c.tanh()
        return words[number], c

    def state(node: Pair | int) -> tuple[Tensor, Tensor]:
        if isinstance(node, int):
            return word(node)
        (lh, lc), (rh, rc) = state(node.left), state(node.right)
        i, o, candidate, lf, rf = (
            gate(n, lh, rh) + (own(n) if model.leaf == "paper" else 0) for n in range(5)
        )
        c = i.sigmoid() * candidate.tanh() + lf.sigmoid() * lc + rf.sigmoid() * rc
        return o.sigmoid() * c.tanh(), c

    return state(nested(sentence, model.binarized))[0], words


@each_leaf
@pytest.mark.parametrize("binarized", ["left", "head"])
def test_equals_the_equations(leaf: str, binarized: str) -> None:
    model, rng = make(leaf=leaf, binarized=binarized), random.Random(1)
    for words in (1, 2, 5, 9, 12):
        sentence = bracketed_sentence(rng, words)
        out = model(to_data([sentence], vocab=VOCAB, phrases="spans"))
        whole, each = literal(model, sentence)
        expected = torch.stack([whole, *each])
        torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
        parameters = [*model.parameters()]
        left = torch.autograd.grad(out.sin().sum(), parameters, materialize_grads=True)
        right = torch.autograd.grad(expected.sin().sum(), parameters, materialize_grads=True)
        for one, other in zip(left, right):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_sizes_of_the_paper() -> None:
    """150 channels over vectors of 300, which are not projected before."""
    model = BinaryTreeLSTM(20, hidden_channels=150, vectors=torch.randn(20, 300))
    shapes = {name: [*parameter.shape] for name, parameter in model.named_parameters()}
    assert shapes == {
        "bias_f": [150],
        "embedding.word.weight": [20, 300],
        "lin_x.weight": [450, 300],
        "lin_x.bias": [450],
        "lin_h.weight": [750, 300],
    }
    code = BinaryTreeLSTM(20, hidden_channels=150, vectors=torch.randn(20, 300), leaf="code")
    # Gates of the composer, the word's memory and its gate; the paper's code has the composer's biases twice.
    composer, words = 5 * (2 * 150 * 150 + 150), 2 * (300 * 150 + 150)
    found = sum(p.numel() for n, p in code.named_parameters() if "embedding" not in n)
    assert found == composer + words
    assert found + 5 * 150 == 316_800


def test_errors() -> None:
    assert "leaf='paper', binarized='left'" in str(make())
    with pytest.raises(ValueError, match="'leaf' must be one of paper, code \\(got 'tanh'\\)"):
        make(leaf="tanh")
