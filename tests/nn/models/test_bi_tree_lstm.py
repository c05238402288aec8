from __future__ import annotations

import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from graphdep import Sentence, Vocab, to_data
from graphdep.nn.models import BiTreeLSTM
from tests.kit.trees import Pair, bracketed_sentence, nested

VOCAB = Vocab("abcdefgh")


def make(seed: int = 0, **options) -> BiTreeLSTM:
    torch.manual_seed(seed)
    return BiTreeLSTM(len(VOCAB), **({"hidden_channels": 4} | options)).double()


def literal(model: BiTreeLSTM, sentence: Sentence) -> list[Tensor]:
    """The formulas by recursion: the state of the whole, then those of the words."""
    size, up, down = model.hidden_channels, model.up, model.down
    words = model.embedding.word.weight[to_data([sentence], vocab=VOCAB).input_ids[1:]]
    below: dict[int, Tensor] = {}
    found: dict[int, Tensor] = {}

    def head(node: Pair | int) -> Tensor:
        if isinstance(node, int):
            return words[node]
        left, right = head(node.left), head(node.right)
        z = torch.sigmoid(model.lin_head(torch.cat([left, right])))
        return z * left + (1 - z) * right

    def upward(node: Pair | int) -> tuple[Tensor, Tensor]:
        xi, xf, xg, xo = (up.lin_x.weight @ head(node)).split(size)
        bi, bl, br, bg, bo = up.lin_h.bias.split(size)
        if isinstance(node, int):
            c = torch.sigmoid(xi + bi) * torch.tanh(xg + bg)
            return torch.sigmoid(xo + bo) * torch.tanh(c), c
        (lh, lc), (rh, rc) = upward(node.left), upward(node.right)
        hi, hl, hr, hg, ho = (up.lin_h.weight @ torch.cat([lh, rh])).split(size)
        ci, cl, cr = (up.lin_c.weight @ torch.cat([lc, rc])).split(size)
        i = torch.sigmoid(xi + hi + ci + bi)
        left_f, right_f = torch.sigmoid(xf + hl + cl + bl), torch.sigmoid(xf + hr + cr + br)
        c = i * torch.tanh(xg + hg + bg) + left_f * lc + right_f * rc
        return torch.sigmoid(xo + ho + up.lin_o.weight @ c + bo) * torch.tanh(c), c

    def downward(node: Pair | int, above: tuple[Tensor, Tensor] | None, side: int) -> Tensor:
        i, f, g, o = F.linear(head(node), down.lin_x.weight, down.lin_x.bias).split(size)
        if above is None:
            c = torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        else:
            part = slice(side * size, (side + 1) * size)
            hi, hf, hg, ho = (down.lin_h.weight[:, part] @ above[0]).split(size)
            ci, cf = (down.lin_c.weight[:, part] @ above[1]).split(size)
            c = torch.sigmoid(i + hi + ci) * torch.tanh(g + hg) + torch.sigmoid(f + hf + cf) * above[1]
            h = torch.sigmoid(o + ho + down.lin_o.weight @ c) * torch.tanh(c)
        if isinstance(node, int):
            below[node] = h
        else:
            downward(node.left, (h, c), 0)
            downward(node.right, (h, c), 1)
        return h

    tree = nested(sentence, model.binarized)
    top = downward(tree, None, 0)
    mean = torch.stack([*below.values()]).mean(dim=0)
    found = {word: torch.cat([upward(word)[0], below[word], below[word]]) for word in below}
    rows = [torch.cat([upward(tree)[0], mean, top]), *(found[word] for word in sorted(found))]
    return [torch.relu(model.lin_state(row)) for row in rows]


@pytest.mark.parametrize("binarized", ["left", "head"])
def test_equals_the_formulas(binarized: str) -> None:
    model, rng = make(binarized=binarized), random.Random(1)
    for words in (1, 2, 5, 9):
        sentence = bracketed_sentence(rng, words)
        out = model(to_data([sentence], vocab=VOCAB, phrases="spans"))
        expected = torch.stack(literal(model, sentence))
        torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
        parameters = [*model.parameters()]
        left = torch.autograd.grad(out.sin().sum(), parameters, materialize_grads=True)
        right = torch.autograd.grad(expected.sin().sum(), parameters, materialize_grads=True)
        for one, other in zip(left, right):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_number_of_parameters() -> None:
    """As many as the code's list of them has, of vectors of 300 and states of 150, all of one size."""
    model = BiTreeLSTM(20, vectors=torch.randn(20, 300))
    d, h = 300, 150
    heads = 2 * d * d + d
    up = 4 * d * h + (5 * 2 + 3 * 2 + 1) * h * h + 5 * h
    down = 4 * d * h + (4 * 2 + 2 * 2 + 1) * h * h + 4 * h
    state = 3 * h * h + h
    own = sum(p.numel() for n, p in model.named_parameters() if "embedding" not in n)
    assert own == heads + up + down + state


def test_errors() -> None:
    for value in (2.5, 0):
        with pytest.raises(
            ValueError, match=f"'hidden_channels' must be a whole number .* \\(got {value}\\)"
        ):
            make(hidden_channels=value)
