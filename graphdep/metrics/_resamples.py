"""Scores of resamples: examples, or groups of them, drawn with replacement, and predictions swapped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from graphdep.metrics.metric import Metric

# Numbers of a matrix that is held at a time: 16 MiB, of which a few copies are made.
_CHUNK = 2**21


# SciPy's bootstrap and permutation_test give a metric the resampled examples. As weights over the examples
# that there are, most metrics need no more than a matrix product.
class Resamples:
    """Resamples of the examples of two systems.

    Args:
        metric: The metric.
        target: Targets ``[N]``.
        a, b: Predictions of the systems' runs ``[runs, N]``.
        unit: The group of each example, counted from 0 in the order of the examples, ``[N]``; :obj:`None`
            where each stands for itself.
        samples: How many resamples.
    """

    def __init__(
        self,
        metric: Metric,
        target: np.ndarray,
        a: np.ndarray,
        b: np.ndarray,
        unit: np.ndarray | None,
        samples: int,
    ) -> None:
        self.metric, self.target, self.a, self.b, self.unit = metric, target, a, b, unit
        self.samples, self.units = samples, target.size if unit is None else int(unit.max()) + 1

    def bootstrap(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the runs, ``[runs_a, samples]`` and ``[runs_b, samples]``, over units drawn with
        replacement, the same for all runs.
        """
        n, scores = self.units, []
        for rows in self._chunks(self.target.size):
            places = rng.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
            weight = self._of_examples(np.bincount(places.ravel(), minlength=rows * n).reshape(rows, n))
            scores.append(
                [self.metric.resampled(run, self.target, weight) for runs in (self.a, self.b) for run in runs]
            )
        joined = np.concatenate(scores, axis=1)
        return joined[: len(self.a)], joined[len(self.a) :]

    def randomisation(self, rng: np.random.Generator) -> np.ndarray:
        """Differences ``[samples]`` after swapping the systems' predictions of random units."""
        both, pooled = np.tile(self.target, 2), np.concatenate([self.a, self.b], axis=1)
        differences = []
        for rows in self._chunks(both.size):
            swap = self._of_examples(rng.integers(2, size=(rows, self.units)))
            first, second = np.hstack([1 - swap, swap]), np.hstack([swap, 1 - swap])
            found = [
                self.metric.resampled(run, both, first) - self.metric.resampled(run, both, second)
                for run in pooled
            ]
            differences.append(np.mean(found, axis=0))
        return np.concatenate(differences)

    def _of_examples(self, weight: np.ndarray) -> np.ndarray:
        # As floats, which a matrix product needs: once, and not for every run.
        weight = weight.astype(np.float64)
        return weight if self.unit is None else weight[:, self.unit]

    def _chunks(self, size: int) -> Iterator[int]:
        rows = max(1, _CHUNK // size)
        return (min(rows, self.samples - start) for start in range(0, self.samples, rows))


def units_of(groups: np.ndarray) -> np.ndarray:
    """The number of each group ``[N]``, counted from 0 by where it stands first."""
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[first.argsort()] = np.arange(len(first))
    return number[place]
