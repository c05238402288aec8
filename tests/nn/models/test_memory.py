from __future__ import annotations

import torch

from graphdep.nn.models import Memory


def test_repr_shows_shapes() -> None:
    x, ptr = torch.randn(5, 3), torch.tensor([0, 2, 5])
    assert repr(Memory(x, ptr, torch.zeros(5).long())) == "Memory(x=[5, 3], ptr=[3], group=[5])"
    assert repr(Memory(x, ptr)) == "Memory(x=[5, 3], ptr=[3], group=None)"
    assert Memory(x, ptr).num_examples == 2
