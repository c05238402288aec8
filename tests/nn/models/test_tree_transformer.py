from __future__ import annotations

import math
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch_geometric.data import Batch, Data

from graphdep import NodeType, Sentence, Vocab, to_data
from graphdep.nn.models import ConstituencyTreeTransformer, DependencyTreeTransformer, TreeTransformer
from graphdep.nn.models.baselines.tree_transformer import BranchAttention, _slots
from tests.kit.slow import assert_formulas, assert_same_gradients, slow_block
from tests.kit.strategies import example_lists
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")


def make(seed: int = 0, num_words: int = len(VOCAB), **options) -> TreeTransformer:
    torch.manual_seed(seed)
    sizes = {"hidden_channels": 6, "heads": 2, "ff_channels": 5}
    model = TreeTransformer(num_words, **(sizes | options)).double()
    for parameter in model.parameters():  # nothing at zero or one, or its place would not show
        nn.init.normal_(parameter, std=0.5)
    return model


def example(seed: int, sentences: int = 2) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 7)) for _ in range(sentences)], vocab=VOCAB)


def literal(model: TreeTransformer, data: Data) -> Tensor:
    """Node by node, leaves first."""
    word = model.embedding.project(model.embedding.word.weight[data.input_ids])
    governor, depth = data.governor_index.tolist(), data.depth.tolist()
    states = [word.new_zeros(model.hidden_channels)] * len(depth)
    for node in sorted(range(len(depth)), key=lambda node: -depth[node]):
        children = [states[k] for k, g in enumerate(governor) if g == node != k]
        if depth[node] > 0:
            states[node] = word[node]
            if children:
                x = torch.stack([word[node], *children])
                states[node] = model.lin_out(slow_block(model.layer, x) + x).tanh().sum(dim=0)
        elif children:
            states[node] = torch.stack(children).sum(dim=0)
    return torch.stack(states)


def test_equals_the_recursion() -> None:
    model, data = make(), example(3, 3)
    out, expected = model(data), literal(model, data)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    root = data.node_type == NodeType.ROOT
    assert torch.equal(model.readout(data, out), out[root])
    assert_same_gradients(out[root], expected[root], model)


@settings(max_examples=20)
@given(examples=example_lists(root=True))
def test_every_forest(examples: list[Data]) -> None:
    model, data = make(num_words=50), Batch.from_data_list(examples)
    expected = torch.cat([literal(model, one) for one in examples])
    torch.testing.assert_close(model(data), expected, rtol=0, atol=1e-12)


# -- branches --------------------------------------------------------------------------------------------


SIZES = {"hidden_channels": 6, "heads": 2, "ff_channels": 8}
each_form = pytest.mark.parametrize("form", ["paper", "code"])
each_codes = pytest.mark.parametrize("codes", [False, True])
KINDS = [DependencyTreeTransformer, ConstituencyTreeTransformer]


def make_branches(kind: type, **options):
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
    literal = of_dependencies if kind is DependencyTreeTransformer else of_constituents
    assert_formulas(make_branches(kind, form=form, position_codes=codes), VOCAB, literal)


def test_several_root_words_add_up() -> None:
    model = make_branches(DependencyTreeTransformer)
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


def test_weights_of_branches_are_equal_at_first() -> None:
    model = make_branches(DependencyTreeTransformer)
    model.reset_parameters()
    assert model.block.kappa.softmax(0).tolist() == [0.5, 0.5]


# -- attention -------------------------------------------------------------------------------------------


WIDTHS = [1, 40, 2, 3, 17, 1, 5, 8, 9, 3, 33]
BRANCHES = 2


def make_attention(form: str) -> BranchAttention:
    torch.manual_seed(0)
    return BranchAttention(6, BRANCHES, 8, form, position_codes=True, dropout=0.0).double()


def members(widths: list[int]) -> tuple[Tensor, Tensor]:
    """Family and place of the members, in any order."""
    family = torch.arange(len(widths)).repeat_interleave(torch.tensor(widths))
    place = torch.cat([torch.arange(width) for width in widths])
    order = torch.randperm(family.numel(), generator=torch.Generator().manual_seed(1))
    return family[order], place[order]


def one_by_one(block: BranchAttention, x: Tensor, family: Tensor) -> Tensor:
    """What :meth:`BranchAttention._attend` gives, family by family and branch by branch."""
    out = torch.zeros(x.size(0), block.branches, block.channels // block.branches, dtype=x.dtype)
    for number in family.unique():
        mine = (family == number).nonzero().view(-1)
        query, key, value = block.lin_in(x[mine]).view(mine.numel(), 3, block.branches, -1).unbind(dim=1)
        for branch in range(block.branches):
            scores = query[:, branch] @ key[:, branch].T / math.sqrt(query.size(-1))
            weights = scores.softmax(dim=1 if block.form == "paper" else 0)
            where = (mine, torch.full_like(mine, branch))
            out = out.index_put(where, weights @ value[:, branch])
    return out


@pytest.mark.parametrize("form", ["paper", "code"])
@pytest.mark.parametrize("widths", [WIDTHS, [4] * 5, [1], [100, *[2] * 10]])
def test_groups_equal_one_family_at_a_time(form: str, widths: list[int], monkeypatch) -> None:
    block, (family, place) = make_attention(form), members(widths)
    x, residual = torch.randn(2, family.numel(), block.channels, dtype=torch.double, requires_grad=True)
    inputs = [x, residual, *block.parameters()]

    def run() -> list[Tensor]:
        out = block(x, residual, family, place, len(widths))
        weight = torch.arange(out.numel(), dtype=out.dtype).view_as(out).sin()
        return [out, *torch.autograd.grad((out * weight).sum(), inputs, materialize_grads=True)]

    grouped = run()
    monkeypatch.setattr(block, "_attend", lambda x, family, place, families: one_by_one(block, x, family))
    for got, expected in zip(grouped, run(), strict=True):
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)


@given(st.lists(st.integers(1, 40) | st.sampled_from([1, 2, 4, 8, 64, 65, 300]), min_size=1, max_size=30))
def test_slots_follow_the_sum_over_families(widths: list[int]) -> None:
    family, place = members(widths)
    slot, shapes = _slots(family, place, len(widths))
    assert sum(families for families, _ in shapes) == len(widths)
    assert sum(families * places for families, places in shapes) < 2 * sum(widths)
    assert sum(families * places**2 for families, places in shapes) < 4 * sum(w * w for w in widths)
    if len(set(widths)) == 1:
        assert shapes == [(len(widths), widths[0])]
    rows, start = [], 0  # slots of each row of each block
    for families, places in shapes:
        rows += torch.arange(start, start + families * places).view(families, places).tolist()
        start += families * places
    mine = [
        slot[family == number][place[family == number].argsort()].tolist() for number in range(len(widths))
    ]
    assert sorted(mine) == [row[: len(one)] for row, one in zip(rows, sorted(mine))]


class Largest(TorchDispatchMode):
    """Keeps the size of the largest tensor that an operation gives."""

    numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (list, tuple)) else [out]:
            self.numel = max(self.numel, tensor.numel() if isinstance(tensor, Tensor) else 0)
        return out


@pytest.mark.parametrize("form", ["paper", "code"])
def test_a_wide_family_does_not_widen_the_others(form: str) -> None:
    widths = [3] * 30 + [200] + [5] * 33
    block, (family, place) = make_attention(form), members(widths)
    x = torch.randn(family.numel(), block.channels, dtype=torch.double, requires_grad=True)
    with Largest() as largest:
        block(x, x, family, place, len(widths)).sum().backward()
    assert largest.numel == BRANCHES * 200 * 200  # the scores of that family alone
