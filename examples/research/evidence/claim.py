"""A claim about two rows of a table, and what their difference says of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scipy import stats

from graphdep.metrics import visible_effect

EXPECTED = ("better", "worse", "equal")


@dataclass(frozen=True, kw_only=True)
class Claim:
    r"""What a paper, or we, say of two rows, with the smallest effect that would matter, named beforehand.

    With a difference :math:`d` of the rows that has the standard error :math:`s` at :math:`\nu` degrees of
    freedom, counted so that more is better, and the smallest effect of interest :math:`\delta`:

    - ``"better"`` is reproduced if the 95% interval is above 0, and not reproduced if the 90% interval is
      below :math:`\delta`: then there is no effect that matters, or one in the other direction. ``"worse"``
      is the same with the signs exchanged.
    - ``"equal"`` is reproduced if the 90% interval is inside :math:`\pm \delta` (two one-sided tests at 5%),
      and not reproduced if the 95% interval has nothing of it.
    - Otherwise it is undecided: the smallest visible effect says what the design could have shown with a
      power of 80%, as :func:`graphdep.metrics.compare` has it.

    Where a gain is reproduced, :math:`\delta` plays no part: a gain may be real and too small to matter,
    which the interval shows.

    Args:
        name: Its name, without spaces.
        text: The claim, in words.
        source: Where it is made: paper and table.
        a, b: The two rows.
        expected: What :obj:`a` is beside :obj:`b`: ``"better"``, ``"worse"`` or ``"equal"``.
        smallest: The smallest effect of interest, above 0, in the units of the metric.
        table: The table of the design. (default: its only or first one)
        metric: The score, as in results. (default: that of the design)
        published: The difference in the source, in words. (default: ``""``)
        posthoc: Whether it was made after the runs had been seen. (default: :obj:`False`)
        needs: What its runs need beside time, such as ``"a GPU"``. (default: ``""``)

    Raises:
        ValueError: If a value is none of those.

    Example:
        >>> from evidence import Claim
        >>> of = {"text": "trees help", "source": "ours", "a": "dt", "b": "transformer"}
        >>> claim = Claim(name="roles", expected="better", smallest=0.01, **of)
        >>> claim.verdict(0.3, 0.01, 4), claim.verdict(0.0, 0.001, 40), claim.verdict(0.01, 0.01, 4)
        ('reproduced', 'not reproduced (powered)', 'undecided (smallest visible effect 0.0376)')
    """

    name: str
    text: str
    source: str
    a: str
    b: str
    expected: str
    smallest: float
    table: str = ""
    metric: str = ""
    published: str = ""
    posthoc: bool = False
    needs: str = ""

    def __post_init__(self) -> None:
        if not self.name or any(letter.isspace() for letter in self.name):
            raise ValueError(f"a claim's 'name' must be a word (got {self.name!r})")
        if self.expected not in EXPECTED:
            raise ValueError(
                f"claim {self.name}: 'expected' must be one of {', '.join(EXPECTED)} (got {self.expected!r})"
            )
        number: Any = self.smallest
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not 0 < number < math.inf:
            raise ValueError(f"claim {self.name}: 'smallest' must be a number above 0 (got {number!r})")
        if self.a == self.b:
            raise ValueError(f"claim {self.name}: 'a' and 'b' must be two rows (got {self.a!r} twice)")

    def verdict(self, difference: float, error: float, df: float, *, maximize: bool = True) -> str:
        """What a difference decides.

        Args:
            difference: :obj:`a` less :obj:`b`.
            error: Its standard error.
            df: Degrees of freedom.
            maximize: Whether more of the metric is better. (default: :obj:`True`)
        """
        gain = difference if maximize else -difference
        gain = -gain if self.expected == "worse" else gain
        wide, narrow = (float(stats.t.ppf(level, df)) * error for level in (0.975, 0.95))
        if self.expected == "equal":
            reproduced = abs(gain) + narrow < self.smallest
            refuted = abs(gain) - wide > self.smallest
        else:
            reproduced = gain - wide > 0
            refuted = gain + narrow < self.smallest
        if reproduced:
            return "reproduced"
        if refuted:
            return "not reproduced (powered)"
        return f"undecided (smallest visible effect {visible_effect(error, df):.3g})"
