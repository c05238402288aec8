"""Attention in groups of families of similar width, against one family at a time."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from graphdep.nn.models.baselines.tree_transformer import BranchAttention, _slots

WIDTHS = [1, 40, 2, 3, 17, 1, 5, 8, 9, 3, 33]
BRANCHES = 2


def make(form: str) -> BranchAttention:
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
    block, (family, place) = make(form), members(widths)
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
    block, (family, place) = make(form), members(widths)
    x = torch.randn(family.numel(), block.channels, dtype=torch.double, requires_grad=True)
    with Largest() as largest:
        block(x, x, family, place, len(widths)).sum().backward()
    assert largest.numel == BRANCHES * 200 * 200  # the scores of that family alone
