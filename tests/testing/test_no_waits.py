from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from graphdep.testing.no_waits import no_waits

X = torch.tensor([3.0, 1.0, 2.0])
WAITING: dict[str, Callable[[], object]] = {
    "a number": lambda: float(X.sum()),
    "a test": lambda: bool((X > 1).any()),
    "nonzero": lambda: X.nonzero(),
    "unique": lambda: X.unique(),
    "counts": lambda: X.long().bincount(),
    "a mask": lambda: X[X > 1],
    "values to a mask": lambda: X.clone().index_put_((X > 1,), torch.ones(2)),
    "repeats": lambda: X.repeat_interleave(X.long()),
    "equality": lambda: torch.equal(X, X),
}
GOING_ON: dict[str, Callable[[], object]] = {
    "arithmetic": lambda: (X * 2).sum(),
    "an index": lambda: X[torch.tensor([0, 2])],
    "repeats of known size": lambda: X.repeat_interleave(X.long(), output_size=6),
    "equal repeats": lambda: X.repeat_interleave(2),
    "one value to a mask": lambda: X.clone().masked_fill_(X > 1, 0.0),
    "where": lambda: X.where(X > 1, X),
}


@pytest.mark.parametrize("name", WAITING)
def test_what_waits_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match="would wait for the GPU"), no_waits("cpu"):
        WAITING[name]()


@pytest.mark.parametrize("name", GOING_ON)
def test_what_goes_on_may(name: str) -> None:
    with no_waits("cpu"):
        GOING_ON[name]()


def test_a_backward_pass_is_seen() -> None:
    class Waiting(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * float(grad.sum())

    x = X.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="would wait"), no_waits("cpu"):
        Waiting.apply(x).sum().backward()


@pytest.mark.cuda
def test_torch_has_its_own_check_on_a_gpu() -> None:
    x = X.cuda()
    with pytest.raises(RuntimeError, match="synchroniz"), no_waits("cuda"):
        float(x.sum())
    assert torch.cuda.get_sync_debug_mode() == 0
