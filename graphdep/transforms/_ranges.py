"""Vectorised ranges and searches that the constructors share."""

from __future__ import annotations

import torch
from torch import Tensor


def expand_ranges(start: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
    """All members of the ranges ``start[k] ... start[k] + count[k] - 1``, one after the other.

    Returns the number k of the range and the member, both of size ``count.sum()``.
    """
    owner = torch.arange(count.numel(), device=count.device).repeat_interleave(count)
    shift = start - (count.cumsum(0) - count)
    return owner, torch.arange(owner.numel(), device=count.device) + shift[owner]


def contains(sorted_keys: Tensor, keys: Tensor) -> Tensor:
    """Whether each of ``keys`` is among ``sorted_keys``."""
    if sorted_keys.numel() == 0:
        return torch.zeros_like(keys, dtype=torch.bool)
    place = torch.searchsorted(sorted_keys, keys).clamp(max=sorted_keys.numel() - 1)
    return sorted_keys[place] == keys


def sorted_unique(keys: Tensor) -> Tensor:
    """``keys`` in order, each once; cheap where they are so already."""
    if bool((keys[1:] > keys[:-1]).all()):
        return keys
    return keys.sort().values.unique_consecutive()


def pair_keys(source: Tensor, target: Tensor) -> Tensor:
    """One number a pair, ascending by target, then source; up to 2^31 nodes."""
    return (target << 32) | source


def pairs_of(keys: Tensor) -> Tensor:
    """The pairs that numbers stand for: source and target, ``[2, E]``."""
    return torch.stack([keys & 0xFFFFFFFF, keys >> 32])
