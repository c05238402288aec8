from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep.transforms.controls import mix, permute, unsigned


def test_splitmix64():
    """The first numbers of the public reference implementation for seed 1234567."""
    step, seed = 0x9E3779B97F4A7C15, 1234567
    state = [(seed + step * k) % 2**64 for k in range(3)]
    got = mix(torch.tensor([s - 2**64 if s >= 2**63 else s for s in state]))
    assert [g % 2**64 for g in got.tolist()] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@given(st.integers(1, 300), st.integers(-(2**63), 2**63 - 1))
def test_permute_is_a_permutation(size, key):
    value = torch.arange(size)
    got = permute(value, torch.full_like(value, size), torch.full_like(value, key))
    assert got.sort().values.equal(value)


def test_unsigned():
    assert unsigned(torch.tensor([-1, 0, 2**63 - 1])).tolist() == [2**63 - 1, 0, 2**62 - 1]
