from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from graphdep.nn.dropout import Dropout, scaled_mask, take_over_dropout

SIZE = 200_003  # no multiple of four


@pytest.mark.parametrize(
    ("p", "dtype"),
    [(0.1, torch.float32), (0.5, torch.float64), (0.9, torch.bfloat16), (1e-3, torch.float32)],
)
def test_as_many_are_dropped_as_asked_for_and_the_mean_stays(p, dtype):
    torch.manual_seed(0)
    mask = scaled_mask(torch.zeros(SIZE, dtype=dtype), p)
    assert mask.dtype == dtype
    kept = (mask > 0).double().mean().item()
    assert abs(kept - (1 - p)) < 4 * math.sqrt(p * (1 - p) / SIZE) + 2**-16
    assert set(mask.unique().tolist()) == {0.0, mask.max().item()}
    assert mask.max().item() == pytest.approx(1 / (1 - p), rel=1e-2 if dtype == torch.bfloat16 else 1e-3)


def test_neighbours_are_dropped_independently():
    """A random number makes four of them."""
    torch.manual_seed(0)
    kept = scaled_mask(torch.zeros(SIZE), 0.5) > 0
    for apart in (1, 2, 3, 4):
        both = (kept[:-apart] & kept[apart:]).double().mean().item()
        assert abs(both - 0.25) < 4 * math.sqrt(0.25 * 0.75 / SIZE), apart


@given(st.floats(0, 1), st.integers(0, 3000))
def test_any_probability_and_size(p, size):
    mask = scaled_mask(torch.zeros(size), p)
    assert mask.shape == (size,)
    assert mask.isfinite().all()
    assert (mask >= 0).all()


def test_gradients_are_those_of_the_same_mask():
    torch.manual_seed(0)
    x = torch.randn(40, 50, requires_grad=True)
    out = Dropout(0.3)(x)
    out.sum().backward()
    assert torch.equal(x.grad > 0, out != 0)
    torch.testing.assert_close(x.grad * x.detach(), out.detach())


def test_seeds_and_evaluation():
    x = torch.randn(50, 50)
    dropout = Dropout(0.3)
    torch.manual_seed(1)
    first, second = dropout(x), dropout(x)
    torch.manual_seed(1)
    assert torch.equal(dropout(x), first)
    assert not torch.equal(first, second)
    assert dropout.eval()(x) is x
    assert Dropout(0.0)(x) is x
    assert not Dropout(1.0)(x).any()


def test_small_tensors_and_compiled_models_have_that_of_torch():
    x = torch.ones(100)
    torch.manual_seed(1)
    mine = Dropout(0.3)(x)
    torch.manual_seed(1)
    assert torch.equal(mine, nn.Dropout(0.3)(x))
    compiled = torch.compile(Dropout(0.3), backend="eager", fullgraph=True)
    assert compiled(torch.ones(5000)).unique().numel() == 2
    with pytest.raises(ValueError, match="between 0 and 1"):
        Dropout(1.5)


def test_take_over_dropout() -> None:
    class Own(nn.Dropout):
        pass

    model = nn.Sequential(nn.Dropout(0.3), nn.Sequential(Own(0.2)), nn.Linear(2, 2))
    take_over_dropout(model)
    assert [type(module) for module in (model[0], model[1][0], model[2])] == [Dropout, Own, nn.Linear]
    assert model[0].p == 0.3
