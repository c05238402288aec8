"""Metrics of ranked candidates."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from graphdep.io.extras import check_extra
from graphdep.io.limits import check_choice, check_count, check_shape, check_some
from graphdep.metrics.metric import Metric, check_groups

if TYPE_CHECKING:
    from torch import Tensor


FILTERS = ("both", "negative", "none")

Values: TypeAlias = "ArrayLike | Tensor"


@dataclass(frozen=True, eq=False)
class Pools:
    """Pairs by pool: ``rows`` [N] are the evaluated pairs, ``pool`` [N] is the index of each pair's pool."""

    names: np.ndarray
    rows: np.ndarray
    pool: np.ndarray
    label: np.ndarray

    @classmethod
    def of(cls, labels: Values, groups: Values) -> Pools:
        label, group = vector("labels", labels), vector("groups", groups)
        check_some("labels", label, "pair")
        check_groups(group, label.size)
        (wrong,) = np.nonzero((label != 0) & (label != 1))
        if wrong.size or label.dtype.kind not in "biuf":
            found = label[wrong[0]] if wrong.size else label[0]
            raise ValueError(f"'labels' must be 0 or 1 (got {found!r})")
        names, pool = np.unique(group, return_inverse=True)
        return cls(names, np.arange(label.size), pool, label.astype(np.int64))

    @cached_property
    def size(self) -> np.ndarray:
        """Number of candidates in each pool."""
        return np.bincount(self.pool, minlength=len(self.names))

    @cached_property
    def positives(self) -> np.ndarray:
        """Number of positive candidates in each pool."""
        return np.bincount(self.pool[self.label == 1], minlength=len(self.names))

    def kept(self, filter: str) -> Pools:
        """The pools to evaluate."""
        check_choice("filter", filter, FILTERS)
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
        """Scores [N], one for each pair, checked to be finite."""
        array = vector(name, values)
        if array.shape != self.label.shape or array.dtype.kind not in "biuf":
            wanted = f"a number for each of {self.label.size} 'labels'"
            raise ValueError(f"'{name}' must be {wanted} (got {array.size} of {array.dtype})")
        (wrong,) = np.nonzero(~np.isfinite(array))
        if wrong.size:
            # Infinite scores of a collapsed model would look perfect.
            pool = self.names[self.pool[wrong[0]]]
            raise ValueError(
                f"'{name}' must be finite (got {array[wrong[0]]} for pair {wrong[0]}, pool {pool})"
            )
        return array


@dataclass(frozen=True, eq=False)
class Ranks:
    """The ranks of all pools, pool by pool, with the probabilities of positive candidates at each rank.

    Args:
        pool: Index of the pool.
        rank: The rank, from 1.
        positive: Probability of a positive candidate at this rank.
        found: If a positive one is at this rank, the number of positive ones up to here.
        first: Probability that the first positive one is at this rank.
    """

    pool: np.ndarray
    rank: np.ndarray
    positive: np.ndarray
    found: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, score: np.ndarray, pools: Pools, ties: str) -> Ranks:
        label = pools.label
        # Read backwards: pools ascend, scores fall, and the positive candidates of a tie come first or last.
        order = np.lexsort((-label if ties == "pessimistic" else label, score, -pools.pool))[::-1]
        pool, score, label = pools.pool[order], score[order], label[order]
        place = np.arange(label.size)
        rank = place - (pools.size.cumsum() - pools.size)[pool] + 1
        before = label.cumsum() - label
        # With a fixed order, every candidate is a tie of one.
        fresh = (rank == 1) | (score != np.roll(score, 1)) | (ties != "mid")
        (start,) = np.nonzero(fresh)
        tie = fresh.cumsum() - 1
        t = np.diff(start, append=label.size)[tie]
        p = np.add.reduceat(label, start)[tie]
        x = place - start[tie]  # tied candidates before this one
        above = (before - before[place - rank + 1])[start][tie]  # number of positive ones with better scores
        found = above + 1 + (p - 1) * x / np.maximum(t - 1, 1)
        return cls(pool, rank, p / t, found, _first(t, p, x) * (above == 0))

    def total(self, value: np.ndarray, share: np.ndarray | None = None) -> np.ndarray:
        """The sum over the ranks of each pool, weighted by ``share``; 0 where the share is 0."""
        total = np.bincount(self.pool, weights=value)
        return total if share is None else total / np.maximum(share, 1)


def _first(t: np.ndarray, p: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Probability that exactly x of t tied candidates come before the first of their p positive ones."""
    check_extra("a mean over orders of tied candidates", "train", "scipy")
    from scipy import stats

    chance = np.where(x == 0, p / t, 0.0)
    (later,) = np.nonzero((x > 0) & (p > 0))
    t, p, x = t[later], p[later], x[later]
    chance[later] = stats.hypergeom.pmf(0, t, p, x) * p / (t - x)
    return chance


def vector(name: str, values: Values) -> np.ndarray:
    """The values as a one-dimensional array."""
    array = np.asarray(_without_torch(values))
    check_shape(name, array, "pairs")
    return array


def _without_torch(values: Values) -> ArrayLike:
    if "torch" in sys.modules:  # if there is a tensor, torch is imported
        from torch import Tensor

        if isinstance(values, Tensor):
            values = values.detach().cpu()
            values = values.double() if values.is_floating_point() else values  # NumPy has no bfloat16
            return values.numpy()
    return cast("ArrayLike", values)


TIES = ("mid", "pessimistic", "optimistic")
RECALLS = ("fraction", "any")
SIZES = ("equal", "any")


def ranking_metrics(
    scores: Values,
    labels: Values,
    groups: Values,
    ties: str = "mid",
    *,
    ks: Sequence[int] = (1, 2, 5),
    filter: str = "both",
    recall: str = "fraction",
    sizes: str = "equal",
    prefix: str = "",
) -> dict[str, float]:
    r"""Ranking metrics of the candidates of each pool: means over pools, as fractions.

    With the ranks :math:`r_1 < \dots < r_P` of the :math:`P` positive candidates among the :math:`n`
    candidates of a pool:

    .. math::
        R_n@k = \frac{|\{i : r_i \leq k\}|}{P}, \quad
        \mathrm{MAP} = \frac{1}{P} \sum_{i=1}^{P} \frac{i}{r_i}, \quad
        \mathrm{MRR} = \frac{1}{r_1}, \quad
        \mathrm{P@1} = [r_1 = 1]

    With one positive candidate per pool, MAP equals MRR and P@1 equals :math:`R_n@1`.

    **Ties.** Candidates with the same score have no order. A scorer that keeps their input order gives a
    constant model :math:`R_{10}@1 = 1` if the right candidate is listed first. The default is the exact mean
    over all orders of tied candidates, as in "Computing Information Retrieval Performance Measures
    Efficiently in the Presence of Tied Scores": equal scores get the expected result of random scores,
    :func:`random_floor`. Scores that differ by a rounding error, which may depend on the batch, are not tied.

    **Regimes of Douban.** Douban has pools without positive candidates, which no model can rank, and pools
    without negative ones, which every model ranks perfectly. Publications drop both kinds, the first kind or
    none, and count the found candidates or whether any was found. Their numbers cannot be compared: random
    scores have an :math:`R_{10}@1` of 0.1 or 0.19. :func:`pool_counts` tells how many
    pools are of either kind.

    Args:
        scores: A score for each pair of a context and a candidate; higher is better.
        labels: 1 for a right candidate, 0 for a wrong one.
        groups: The pool of each pair, a whole number or a string, in any order.
        ties: ``"mid"``, or positive candidates come last (``"pessimistic"``) or first (``"optimistic"``)
            within a tie. (default: ``"mid"``)
        ks: The cutoffs k; for k >= n, :math:`R_n@k` is 1 even with random scores. (default: :obj:`(1, 2, 5)`)
        filter: Pools to drop: those without positive or without negative candidates (``"both"``), those
            without positive ones (``"negative"``), or ``"none"``; a pool without positive candidates then
            counts as 0 in every metric. (default: ``"both"``)
        recall: The fraction of positive candidates that are found (``"fraction"``, the formula above), or
            whether any is found (``"any"``). (default: ``"fraction"``)
        sizes: ``"equal"``: all evaluated pools must have the same size n, which is in the key: ``R10@1``.
            ``"any"``: sizes may differ, and the key has no number: ``R@1``. (default: ``"equal"``)
        prefix: Prefix of the keys, with an underscore: ``"test"`` gives ``test_MAP``. (default: none)

    Shapes:
        - scores, labels, groups: :math:`(N)`; arrays, tensors or lists
        - output: ``R10@1``, ``R10@2``, ``R10@5`` (with n and k), ``MAP``, ``MRR``, ``P@1``

    Raises:
        ValueError: If shapes differ, there is no pair, a score is not finite (names its pool), a label is not
            0 or 1, an option is unknown, sizes differ, or no pool remains.
    """
    values = pool_metrics(
        scores, labels, groups, ties, ks=ks, filter=filter, recall=recall, sizes=sizes, prefix=prefix
    )
    return {name: float(value.mean()) for name, value in values.items()}


def pool_metrics(
    scores: Values,
    labels: Values,
    groups: Values,
    ties: str = "mid",
    *,
    ks: Sequence[int] = (1, 2, 5),
    filter: str = "both",
    recall: str = "fraction",
    sizes: str = "equal",
    prefix: str = "",
) -> dict[str, np.ndarray]:
    """The metrics of :func:`ranking_metrics` for each pool that is not dropped, by ascending group.

    These are the input of :data:`RANKING`, so that test sets are resampled by pools.

    Args:
        scores, labels, groups, ties, ks, filter, recall, sizes, prefix: See :func:`ranking_metrics`.

    Shapes:
        - output: :math:`(pools)` each, float64

    Raises:
        ValueError: See :func:`ranking_metrics`.
    """
    check_choice("ties", ties, TIES)
    check_choice("recall", recall, RECALLS)
    for k in ks:
        check_count("ks", k, 1)
    pools = Pools.of(labels, groups)
    kept = pools.kept(filter)
    size_name = _size_text(kept, sizes)
    ranks = Ranks.of(pools.finite("scores", scores)[kept.rows], kept, ties)
    found = ranks.positive if recall == "fraction" else ranks.first
    share = kept.positives if recall == "fraction" else np.ones(kept.size.shape)
    values = {f"R{size_name}@{k}": ranks.total(found * (ranks.rank <= k), share) for k in ks}
    values["MAP"] = ranks.total(ranks.positive * ranks.found / ranks.rank, kept.positives)
    values["MRR"] = ranks.total(ranks.first / ranks.rank)
    values["P@1"] = ranks.total(ranks.positive * (ranks.rank == 1))
    return {f"{prefix}_{name}" if prefix else name: value for name, value in values.items()}


def random_floor(
    labels: Values,
    groups: Values,
    *,
    ks: Sequence[int] = (1, 2, 5),
    filter: str = "both",
    recall: str = "fraction",
    sizes: str = "equal",
    prefix: str = "",
) -> dict[str, float]:
    """The expected metrics of random scores, exact: the mean over all orders of each pool's candidates.

    Args:
        labels, groups, ks, filter, recall, sizes, prefix: See :func:`ranking_metrics`.

    Raises:
        ValueError: See :func:`ranking_metrics`.
    """
    # Equal scores: the ties average over all orders.
    scores = np.zeros(len(vector("labels", labels)))
    return ranking_metrics(
        scores, labels, groups, ks=ks, filter=filter, recall=recall, sizes=sizes, prefix=prefix
    )


def pool_counts(labels: Values, groups: Values) -> dict[str, int]:
    """The number of ``pools``, and of pools without positive or negative candidates.

    Args:
        labels, groups: See :func:`ranking_metrics`.

    Raises:
        ValueError: See :func:`ranking_metrics`.
    """
    pools = Pools.of(labels, groups)
    return {
        "pools": len(pools.names),
        "no_positive": int((pools.positives == 0).sum()),
        "no_negative": int((pools.positives == pools.size).sum()),
    }


def ranking_metric(name: str, ties: str = "mid", *, filter: str = "both", recall: str = "fraction") -> Metric:
    """A ranking metric over the results of :func:`pool_metrics`.

    Its predictions are the pools' values under ``name``, its targets the expected values of random scores in
    these pools. So its floor is the mean of its targets, and two systems can be compared over resampled pools
    (:func:`graphdep.metrics.compare`).

    Args:
        name: A key of :func:`pool_metrics`, such as ``R10@1``.
        ties, filter, recall: The options of the values, for the signature.

    Raises:
        ValueError: If an option is unknown.
    """
    check_choice("ties", ties, TIES)
    check_choice("filter", filter, FILTERS)
    check_choice("recall", recall, RECALLS)
    options = f"ties={ties}|filter={filter}" + (f"|recall={recall}" if name.startswith("R") else "")
    return Metric(
        name,
        _mean,
        lambda train, target: _mean(target, target),
        f"{name}|{options}|mean over pools; floor: random scores, exact",
        weighted=_weighted_mean,
        max_difference=1,
    )


def _mean(prediction: np.ndarray, target: np.ndarray) -> float:
    return float(prediction.mean())


def _weighted_mean(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return weight @ prediction / weight.sum(axis=1)


RANKING: dict[str, Metric] = {
    name: ranking_metric(name) for name in ("R10@1", "R10@2", "R10@5", "MAP", "MRR", "P@1")
}


def _size_text(pools: Pools, sizes: str) -> str:
    """The n of R_n@k: the common size of the pools, or nothing if sizes may differ."""
    check_choice("sizes", sizes, SIZES)
    if sizes == "any":
        return ""
    (other,) = np.nonzero(pools.size != pools.size[0])
    if other.size:
        one, two = ((pools.names[i], pools.size[i]) for i in (0, other[0]))
        raise ValueError(
            f"pools differ in size: {one[0]} has {one[1]} candidates, {two[0]} has {two[1]}; with "
            "sizes='any', R@k is over the candidates of each pool"
        )
    return str(pools.size[0])
