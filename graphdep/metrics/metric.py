"""Base classes of metrics, for numbers and for texts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from graphdep.io.limits import check_shape

Compute = Callable[[np.ndarray, np.ndarray], float]
Weighted = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def check_groups(groups: np.ndarray, size: int) -> None:
    """Raises :class:`ValueError` unless there are ``size`` groups, all whole numbers or all strings."""
    check_shape("groups", groups, size)
    if groups.dtype.kind not in "iuU":
        raise ValueError(f"'groups' must be whole numbers or strings (got {groups.dtype})")


@dataclass(frozen=True)
class Metric:
    """A score of predictions against targets, computed once over a whole split.

    Args:
        name: Its key in results, after the split: ``val_<name>``.
        compute: Function of predictions and targets.
        floor: Score without any skill; a function of the targets of the training split and of the split.
            :obj:`None` if targets alone do not determine it.
        signature: Exact definition and implementation, printed under every table.
        maximize: Whether higher is better. (default: :obj:`True`)
        weighted: :meth:`resampled` for all resamples at once. (default: one by one, which is slow)
        max_difference: The largest difference of two scores: 1 for a share, 2 for a correlation. (default:
            none)

    Example:
        >>> import numpy as np
        >>> from graphdep.metrics import Metric
        >>> prediction, target = np.array([0.5, 2.0]), np.array([1.0, 2.0])
        >>> worst = Metric("worst", lambda p, t: abs(p - t).max(), None, "largest error", maximize=False)
        >>> worst(prediction, target), worst.is_better(0.5, best=1.0)
        (0.5, True)
    """

    name: str
    compute: Compute
    floor: Compute | None
    signature: str
    maximize: bool = True
    weighted: Weighted | None = None
    max_difference: float = math.inf

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> float:
        """The metric of predictions ``[N]`` and targets ``[N]``.

        Raises:
            ValueError: If the shapes differ or are empty.
        """
        if prediction.shape != target.shape or prediction.ndim != 1 or not prediction.size:
            shapes = f"{prediction.shape} and {target.shape}"
            raise ValueError(
                f"{self.name}: 'prediction' and 'target' must be vectors of one size > 0 (got {shapes})"
            )
        return float(self.compute(prediction, target))

    def resampled(self, prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The metric on many resamples of the same examples.

        Shapes:
            - prediction, target: :math:`(N)`
            - weight: :math:`(S, N)`, count of each example in each resample, whole numbers of any type
            - output: :math:`(S)`
        """
        if self.weighted is not None:
            return self.weighted(prediction, target, weight)
        counts = weight.astype(np.int64)
        return np.array([self(prediction.repeat(count), target.repeat(count)) for count in counts])

    def is_better(self, value: float, best: float | None, *, by: float = 0.0) -> bool:
        """Whether a score is better than another by more than ``by``; always, if the other is :obj:`None`."""
        return best is None or (value > best + by if self.maximize else value < best - by)


Texts = list[list[str]]
ComputeText = Callable[[Texts, Texts], float]


@dataclass(frozen=True)
class TextMetric:
    """A score of generated texts, computed once over a whole split.

    Args:
        name: Its key in results, after the split: ``test_<name>``.
        compute: Function of hypotheses and references, lists of lower-cased words.
        signature: Exact definition and implementation, printed under every table.
        maximize: Whether higher is better. (default: :obj:`True`)

    Example:
        >>> from graphdep.metrics import TextMetric
        >>> length = TextMetric("length", lambda texts, _: sum(map(len, texts)) / len(texts), "mean of words")
        >>> length([["She", "sings"], ["Yes"]], references=[["She", "does"], ["No"]])
        1.5
    """

    name: str
    compute: ComputeText
    signature: str
    maximize: bool = True

    def __call__(self, hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
        """The metric of hypotheses, each a list of words, with one reference each.

        All metrics first lower-case the words. A hypothesis may be empty.

        Raises:
            ValueError: If there are no texts, their numbers differ, or a text is a string, not a list.
        """
        if not hypotheses or len(hypotheses) != len(references):
            raise ValueError(
                f"{self.name}: 'hypotheses' and 'references' must be lists of one length > 0 "
                f"(got {len(hypotheses)} and {len(references)})"
            )
        return float(
            self.compute(self._lower("hypotheses", hypotheses), self._lower("references", references))
        )

    def _lower(self, name: str, texts: Sequence[Sequence[str]]) -> Texts:
        for i, text in enumerate(texts):
            if isinstance(text, str):  # its characters would count as words
                raise ValueError(f"{self.name}: '{name}[{i}]' must be a list of words (got {text!r})")
        return [[word.lower() for word in text] for text in texts]
