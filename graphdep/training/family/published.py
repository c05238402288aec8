"""What a paper reports, to stand beside our numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Published:
    """A paper's figures for one task.

    Args:
        source: Paper and table.
        metric: Which metric.
        rows: Figures of the models that we have, as fractions.
        examples: Sizes of the splits it was measured on; on other data the figures say nothing.
        others: Other systems that the paper lists, for orientation. (default: none)
        note: What to know before the figures are compared. (default: none)
        split: Which split they are of. (default: ``"test"``)
    """

    source: str
    metric: str
    rows: Mapping[str, float]
    examples: Mapping[str, int]
    others: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    split: str = "test"
