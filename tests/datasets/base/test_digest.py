from __future__ import annotations

import functools
from types import SimpleNamespace

import pytest
import torch

from graphdep import NodeType
from graphdep.datasets.base.parsed import describe, digest


def test_digest_tells_values_apart():
    values = [
        1,
        1.0,
        True,
        "1",
        None,
        [1],
        (1,),
        {1},
        {1: 2},
        [[1], [2]],
        [[1, 2]],
        ["1, 2"],
        torch.tensor([1]),
        torch.tensor([1.0]),
        torch.tensor([[1]]),
        torch.float,
        NodeType.CLS,
        int,
        SimpleNamespace(a=1),
        SimpleNamespace(a=2),
        SimpleNamespace(b=SimpleNamespace(a=1)),
        SimpleNamespace(b=SimpleNamespace(a=2)),
    ]
    assert len({digest(value) for value in values}) == len(values)


def test_digest_does_not_depend_on_the_order_of_a_set():
    words = {f"word{i}" for i in range(50)}
    assert digest(words) == digest(set(words))


@pytest.mark.parametrize("value", [len, lambda x: x, functools.partial(int, base=2), "x".join])
def test_describe_refuses_functions(value):
    with pytest.raises(ValueError, match="processed files could be stale"):
        describe([SimpleNamespace(f=value)])


def test_describe_refuses_addresses():
    with pytest.raises(ValueError, match="shows an address"):
        describe(object())
