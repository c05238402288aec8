"""Chance that depends on what an example holds, not on where it lies in a batch."""

from __future__ import annotations

import torch
from torch import Tensor

from graphdep.transforms.nodes import Nodes

_KEYS = ("node_type", "governor_index", "deprel", "utterance", "word", "input_ids")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


_STEP, _MIX_1, _MIX_2 = map(_signed, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def mix(value: Tensor) -> Tensor:
    """SplitMix64: an integer hash of each 64-bit number, the same on every device."""
    value = value + _STEP
    value = (value ^ _shift(value, 30)) * _MIX_1
    value = (value ^ _shift(value, 27)) * _MIX_2
    return value ^ _shift(value, 31)


def _shift(value: Tensor, bits: int) -> Tensor:
    """Logical shift to the right; that of torch keeps the sign."""
    return (value >> bits) & ((1 << (64 - bits)) - 1)


def example_hash(nodes: Nodes, seed: int) -> Tensor:
    """A number for each example, of its nodes and of the seed: ``[examples]``."""
    row = mix(nodes.local)
    for key in _KEYS:
        if key in nodes.data:
            value = nodes[key].long()
            row = mix(row ^ (value - nodes.ptr[nodes.example] if "index" in key else value))
    total = torch.zeros_like(nodes.ptr[:-1]).index_add(0, nodes.example, row)
    return mix(total ^ seed_key(total, seed))


def seed_key(like: Tensor, seed: int) -> Tensor:
    """The hash of a seed of any size, as often as ``like`` has entries."""
    return mix(torch.full_like(like, _signed(seed % (1 << 64))))


def unsigned(value: Tensor) -> Tensor:
    """The upper 63 bits of a hash: a number >= 0."""
    return _shift(value, 1)


def permute(value: Tensor, size: Tensor, key: Tensor) -> Tensor:
    """A permutation of 0 ... ``size`` - 1 that ``key`` picks, at ``value``: a Feistel network that walks on
    while it is outside, so nothing of that size is ever built.
    """
    half = (size.double().log2().ceil().long() + 1).div(2, rounding_mode="floor").clamp(min=1)
    value = _feistel(value, half, key)
    while bool((outside := value >= size).any()):
        value = torch.where(outside, _feistel(value, half, key), value)
    return value


def _feistel(value: Tensor, half: Tensor, key: Tensor) -> Tensor:
    mask = (torch.ones_like(half) << half) - 1
    left, right = value >> half, value & mask
    for number in range(4):
        left, right = right, left ^ (mix(key ^ (right * 4 + number)) & mask)
    return (left << half) | right
