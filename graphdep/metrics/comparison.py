"""Two systems on the same examples: how much they differ, and what may be concluded."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import stats

SAME_PREDICTIONS = (
    "the same predictions: two systems that compute the same, as with edges that do not reach what is read "
    "(with one layer, all but those to the node that is read), are not shown to be equal in anything else"
)
"""What a verdict of this name means."""


@dataclass(frozen=True)
class Comparison:
    r"""Two systems on the same examples, as :func:`compare` gives it.

    Args:
        metric: Name of the metric.
        score_a: Score of the first system, the mean over its runs.
        score_b: Score of the second one.
        difference: First minus second; with a metric like MSE, less than zero is in favour of the first.
        interval: 95% interval of the difference.
        smallest_visible: The smallest true difference that comparisons of this size, with the spread that was
            found, see in four cases of five (power 80%, two-sided 5%), by the noncentral t distribution:
            :math:`(t_{.975, \nu} + t_{.8, \nu}) \cdot \mathrm{SE}`, and 5% more where :math:`\nu = 2`. Of
            three seeds it is a rough estimate.
        p: Two-sided p of no difference, by the same t distribution as the interval.
        standard_error: Standard error of the difference.
        df: Degrees of freedom of its t distribution.
        over: What might have been others: ``"seeds and examples"``, ``"examples"`` where each system has one
            run, or ``"seeds of a and examples"`` (or ``b``) where the other one has one.
        paired: Whether run r of the one belongs to run r of the other.
        p_bootstrap: Two-sided p of the paired bootstrap over the examples, given these runs.
        p_randomisation: Two-sided p of approximate randomisation over the examples, given these runs;
            :obj:`None` if one system has more runs.
        p_seeds: Two-sided p of Welch's t-test over the scores of the runs, given these examples; :obj:`None`
            if a system has one.
        samples: Resamples.
        n: Examples.
        units: What is drawn: examples, or groups of them.
        maximize: Whether more is better. (default: :obj:`True`)
        identical: Whether every run of the one predicts what that of the other does.
            (default: :obj:`False`)

    Example:
        >>> from graphdep.metrics import ACCURACY, compare
        >>> target = [0, 1] * 100
        >>> comparison = compare(ACCURACY, target, a=target, b=[0] * 200, samples=1000)
        >>> comparison.difference, comparison.p < 0.001, comparison.over
        (0.5, True, 'examples')
        >>> comparison.verdict(), comparison.equivalent(0.6), comparison.equivalent(0.5)
        ('better', True, False)
    """

    metric: str
    score_a: float
    score_b: float
    difference: float
    interval: tuple[float, float]
    smallest_visible: float
    p: float
    standard_error: float
    df: float
    over: str
    paired: bool
    p_bootstrap: float
    p_randomisation: float | None
    p_seeds: float | None
    samples: int
    n: int
    units: int
    maximize: bool = True
    identical: bool = False

    def equivalent(self, bound: float) -> bool:
        r"""Whether there is no effect larger than a bound that was named before the runs.

        Two one-sided tests at 5%, from "A Comparison of the Two One-Sided Tests Procedure and the Power
        Approach for Assessing the Equivalence of Average Bioavailability": the 90% interval is inside of the
        bound,

        .. math::
            |d| + t_{.95, \nu} \cdot \mathrm{SE} < \mathrm{bound}

        Args:
            bound: The smallest effect of interest, in units of the metric, more than 0.

        Raises:
            ValueError: If the bound is no finite number above 0.
        """
        check_bound(bound)
        return abs(self.difference) + float(stats.t.ppf(0.95, self.df)) * self.standard_error < bound

    def verdict(self, bound: float | None = None) -> str:
        """What may be said of the first system.

        ``"better"`` or ``"worse"`` where the 95% interval leaves out 0, whatever the bound; else ``"no effect
        larger than BOUND"`` where :meth:`equivalent` says so; else ``"undecided (smallest visible effect
        X)"``. Where all predictions are the same, as those of two models that compute the same are, it is
        ``"the same predictions"``, and no effect is denied.

        Args:
            bound: See :meth:`equivalent`. (default: :obj:`None`, no equivalence is asked for)
        """
        if bound is not None:
            check_bound(bound)
        if self.identical:
            return SAME_PREDICTIONS.partition(":")[0]
        low, high = self.interval
        if low > 0 or high < 0:
            return "better" if (low > 0) == self.maximize else "worse"
        if bound is not None and self.equivalent(bound):
            return f"no effect larger than {bound:g}"
        return f"undecided (smallest visible effect {self.smallest_visible:.3g})"


def check_bound(bound: float) -> None:
    """Raises :class:`ValueError` unless ``bound`` is a finite number above 0."""
    number = isinstance(bound, (int, float)) and not isinstance(bound, bool)
    if not number or not math.isfinite(bound) or bound <= 0:
        raise ValueError(f"'bound' must be a finite number above 0 (got {bound!r})")
