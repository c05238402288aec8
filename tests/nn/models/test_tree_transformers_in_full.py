"""The Tree-Transformer with branches, over dependency trees and over constituents."""

from __future__ import annotations

import math
import random

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep import Sentence, Vocab, to_data
from graphdep.nn.models import ConstituencyTreeTransformer, DependencyTreeTransformer
from graphdep.nn.models.baselines.tree_transformer import BranchAttention
from tests.kit.trees import bracketed_sentence, random_sentence

VOCAB = Vocab("abcdefgh")
SIZES = {"hidden_channels": 6, "heads": 2, "ff_channels": 8}
each_form = pytest.mark.parametrize("form", ["paper", "code"])
each_codes = pytest.mark.parametrize("codes", [False, True])
KINDS = [DependencyTreeTransformer, ConstituencyTreeTransformer]


def make(kind: type, **options):
    torch.manual_seed(0)
    model = kind(len(VOCAB), **(SIZES | options)).double()
    for name, parameter in model.named_parameters():
        if "block" in name and parameter.dim() == 1:
            torch.nn.init.normal_(parameter)
    return model


def code_of(place: int, channels: int) -> Tensor:
    angles = [place / 10000 ** (2 * (c // 2) / channels) for c in range(channels)]
    return torch.tensor([(math.sin, math.cos)[c % 2](a) for c, a in enumerate(angles)], dtype=torch.double)


def composed(block: BranchAttention, members: list[Tensor], residual: list[Tensor]) -> Tensor:
    """The formulas, branch by branch."""
    codes = [code_of(place, block.channels) for place in range(len(members))]
    x = torch.stack(members) + (torch.stack(codes) if block.position_codes else 0)
    q, k, v = (block.lin_in(x)[:, i * block.channels :][:, : block.channels] for i in range(3))
    size = block.channels // block.branches
    heads, out = [], torch.zeros_like(x)
    for branch in range(block.branches):
        part = slice(branch * size, (branch + 1) * size)
        scores = q[:, part] @ k[:, part].T / math.sqrt(size)
        heads.append(scores.softmax(dim=1 if block.form == "paper" else 0) @ v[:, part])
        if block.form == "paper":
            kappa, alpha = block.kappa.softmax(0)[branch], block.alpha.softmax(0)[branch]
            b = kappa * block.norm(heads[-1] @ block.branch[branch] + x)
            hidden = torch.relu(b @ block.ff_in[branch] + block.ff_in_bias[branch])
            out = out + alpha * (hidden @ block.ff_out[branch] + block.ff_out_bias[branch])
    if block.form == "code":
        return torch.tanh((torch.cat(heads, dim=1) + torch.stack(residual)).sum(dim=0))
    return torch.tanh(block.lin_out(out + x)).sum(dim=0)


def of_dependencies(model: DependencyTreeTransformer, sentence: Sentence) -> list[Tensor]:
    x = model.embedding.word.weight[to_data([sentence], vocab=VOCAB).input_ids[1:]]

    def state(word: int) -> Tensor:
        below = [k for k, head in enumerate(sentence.head) if head == word + 1]
        if not below:
            return x[word]
        members = sorted([word, *below])
        states = [x[m] if m == word else state(m) for m in members]
        return composed(model.block, states, [x[m] for m in members])

    roots = [word for word, head in enumerate(sentence.head) if head == 0]
    return [sum(state(word) for word in roots), *(state(word) for word in range(len(sentence)))]


def of_constituents(model: ConstituencyTreeTransformer, sentence: Sentence) -> list[Tensor]:
    x = model.embedding.word.weight[to_data([sentence], vocab=VOCAB).input_ids[1:]]
    spans = {(start, end) for _, start, end in sentence.constituents} | {(0, len(sentence))}

    def state(start: int, end: int) -> Tensor:
        if end - start == 1:
            return x[start]
        inside = {s for s in spans if start <= s[0] and s[1] <= end and s != (start, end)}
        inside |= {(word, word + 1) for word in range(start, end)}
        parts = [s for s in inside if not any(o != s and o[0] <= s[0] and s[1] <= o[1] for o in inside)]
        states = [state(*part) for part in sorted(parts)]
        return composed(model.block, states, states)

    return [state(0, len(sentence)), *x]


@each_form
@each_codes
@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_formulas(kind: type, form: str, codes: bool) -> None:
    model, rng = make(kind, form=form, position_codes=codes), random.Random(1)
    for words in (1, 2, 5, 9):
        sentence = bracketed_sentence(rng, words)
        out = model(to_data([sentence], vocab=VOCAB, phrases="spans"))
        literal = of_dependencies if kind is DependencyTreeTransformer else of_constituents
        expected = torch.stack(literal(model, sentence))
        torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
        parameters = [*model.parameters()]
        left = torch.autograd.grad(out.sin().sum(), parameters, materialize_grads=True)
        right = torch.autograd.grad(expected.sin().sum(), parameters, materialize_grads=True)
        for one, other in zip(left, right):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def example(seed: int) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 8)) for _ in range(1 + seed % 3)], vocab=VOCAB)


def test_several_root_words_add_up() -> None:
    model = make(DependencyTreeTransformer)
    data = to_data([Sentence(list("abc"), [0, 1, 0], ["root"] * 3, multiroot=True)], vocab=VOCAB)
    out = model(data)
    torch.testing.assert_close(out[0], out[1] + out[3], rtol=0, atol=1e-15)


def test_sizes() -> None:
    for kind in KINDS:
        own = [p.numel() for n, p in kind(20).named_parameters() if "embedding" not in n]
        branches = 6 * (50 * 300 + 300 * 50 + 50 + 50 * 300 + 300) + 2 * 6
        assert sum(own) == 3 * 300 * 300 + branches + 2 * 300 + 300 * 300 + 300
        code = [p.numel() for n, p in kind(20, form="code").named_parameters() if "embedding" not in n]
        assert sum(code) == 3 * 300 * 300


def test_weights_of_branches_are_equal_at_first_and_reset() -> None:
    model = make(DependencyTreeTransformer)
    model.reset_parameters()
    assert model.block.kappa.softmax(0).tolist() == [0.5, 0.5]
    for parameter in model.parameters():
        torch.nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())


@pytest.mark.parametrize("kind", KINDS)
def test_errors(kind: type) -> None:
    assert "form='paper', position_codes=False" in str(make(kind))
    with pytest.raises(ValueError, match="'form' must be one of paper, code \\(got 'text'\\)"):
        make(kind, form="text")
    with pytest.raises(ValueError, match="'heads' \\(4\\) must divide 'hidden_channels' \\(6\\)"):
        make(kind, heads=4)
    with pytest.raises(ValueError, match="'ff_channels' must be at least 2 \\(got 1\\)"):
        make(kind, ff_channels=1)
