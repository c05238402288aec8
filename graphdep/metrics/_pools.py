"""Pools of candidates, and their rankings when some scores are equal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from torch import Tensor

FILTERS = ("both", "negative", "none")

Values: TypeAlias = "ArrayLike | Tensor"


@dataclass(frozen=True, eq=False)
class Pools:
    """Pairs by pool: ``rows`` [N] are those that count, ``pool`` [N] the number of each one's pool from 0."""

    names: np.ndarray
    rows: np.ndarray
    pool: np.ndarray
    label: np.ndarray

    @classmethod
    def of(cls, labels: Values, groups: Values) -> Pools:
        label, group = vector("labels", labels), vector("groups", groups)
        if label.shape != group.shape or not label.size:
            raise ValueError(
                f"'labels' and 'groups' must have one size > 0 (got {label.size} and {group.size})"
            )
        if group.dtype.kind not in "iuU":
            raise ValueError(f"'groups' must be whole numbers or strings (got {group.dtype})")
        (wrong,) = np.nonzero((label != 0) & (label != 1))
        if wrong.size or label.dtype.kind not in "biuf":
            found = label[wrong[0]] if wrong.size else label[0]
            raise ValueError(f"'labels' must be 0 or 1 (got {found!r})")
        names, pool = np.unique(group, return_inverse=True)
        return cls(names, np.arange(label.size), pool, label.astype(np.int64))

    @cached_property
    def size(self) -> np.ndarray:
        """Candidates of each pool."""
        return np.bincount(self.pool, minlength=len(self.names))

    @cached_property
    def positives(self) -> np.ndarray:
        """Positive candidates of each pool."""
        return np.bincount(self.pool[self.label == 1], minlength=len(self.names))

    def kept(self, filter: str) -> Pools:
        """The pools that count."""
        check("filter", filter, FILTERS)
        keep = (self.positives > 0) | (filter == "none")
        if filter == "both":
            keep &= self.positives < self.size
        if not keep.any():
            none, every = (int((self.positives == count).sum()) for count in (0, self.size))
            raise ValueError(
                f"filter={filter!r} leaves out all of {len(keep)} pools: {none} have no positive candidate, "
                f"{every} no negative one"
            )
        (rows,) = np.nonzero(keep[self.pool])
        number = keep.cumsum() - 1
        return Pools(self.names[keep], self.rows[rows], number[self.pool[rows]], self.label[rows])

    def finite(self, name: str, values: Values) -> np.ndarray:
        """Scores [N], one for each pair."""
        array = vector(name, values)
        if array.shape != self.label.shape:
            raise ValueError(f"'{name}' must have the size of 'labels' ({self.label.size}; got {array.size})")
        if array.dtype.kind not in "biuf":
            raise ValueError(f"'{name}' must be numbers (got {array.dtype})")
        (wrong,) = np.nonzero(~np.isfinite(array))
        if wrong.size:
            # An overflow is no best score: where a model has collapsed, infinite scores look perfect.
            pool = self.names[self.pool[wrong[0]]]
            raise ValueError(
                f"'{name}' must be finite (got {array[wrong[0]]} for pair {wrong[0]}, pool {pool})"
            )
        return array


@dataclass(frozen=True, eq=False)
class Ranks:
    """The places of all pools' rankings, one after the other, and what is expected there.

    Args:
        pool: Number of the place's pool.
        rank: Its rank, from 1.
        positive: Chance that a positive candidate is there.
        found: If one is there, how many positive ones are there or before it.
        first: Chance that the first positive one is there.
    """

    pool: np.ndarray
    rank: np.ndarray
    positive: np.ndarray
    found: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, score: np.ndarray, pools: Pools, ties: str) -> Ranks:
        label = pools.label
        # Read from the end: pools ascend, scores fall, and the positive ones of a tie are first or last.
        order = np.lexsort((-label if ties == "pessimistic" else label, score, -pools.pool))[::-1]
        pool, score, label = pools.pool[order], score[order], label[order]
        place = np.arange(label.size)
        rank = place - (pools.size.cumsum() - pools.size)[pool] + 1
        before = label.cumsum() - label
        # With its order settled, every candidate is a tie of one.
        fresh = (rank == 1) | (score != np.roll(score, 1)) | (ties != "mid")
        (start,) = np.nonzero(fresh)
        tie = fresh.cumsum() - 1
        t = np.diff(start, append=label.size)[tie]
        p = np.add.reduceat(label, start)[tie]
        x = place - start[tie]  # tied candidates before this one
        above = (before - before[place - rank + 1])[start][tie]  # positive ones with better scores
        found = above + 1 + (p - 1) * x / np.maximum(t - 1, 1)
        return cls(pool, rank, p / t, found, _first(t, p, x) * (above == 0))

    def total(self, value: np.ndarray, share: np.ndarray | None = None) -> np.ndarray:
        """The sum over the places of each pool, by ``share``; 0 where that is 0."""
        total = np.bincount(self.pool, weights=value)
        return total if share is None else total / np.maximum(share, 1)


def _first(t: np.ndarray, p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Chance that, of t tied candidates with p positive ones, the first positive one has x before it."""
    from scipy import stats

    chance = np.where(x == 0, p / t, 0.0)
    (later,) = np.nonzero((x > 0) & (p > 0))
    t, p, x = t[later], p[later], x[later]
    chance[later] = stats.hypergeom.pmf(0, t, p, x) * p / (t - x)
    return chance


def vector(name: str, values: Values) -> np.ndarray:
    array = np.asarray(_without_torch(values))
    if array.ndim != 1:
        raise ValueError(f"'{name}' must be a vector (got shape {array.shape})")
    return array


def _without_torch(values: Values) -> ArrayLike:
    if "torch" in sys.modules:  # as it is where there is a tensor
        from torch import Tensor

        if isinstance(values, Tensor):
            values = values.detach().cpu()
            return (
                values.double() if values.is_floating_point() else values
            ).numpy()  # NumPy has no bfloat16
    return cast("ArrayLike", values)


def check(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"'{name}' must be one of {', '.join(map(repr, choices))} (got {value!r})")
