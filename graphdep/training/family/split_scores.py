"""What is said of a split: scores, and what stands beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SplitScores:
    """Scores by name, ``<split>_<metric>``.

    Args:
        metrics: What the model gets.
        floor: What no skill gets.
        reference: What the references of generated responses get.
        tables: What stands beside scores, by split, such as a row for each label.
    """

    metrics: dict[str, float] = field(default_factory=dict)
    floor: dict[str, float] = field(default_factory=dict)
    reference: dict[str, float] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)

    def __or__(self, other: SplitScores) -> SplitScores:
        return SplitScores(
            self.metrics | other.metrics,
            self.floor | other.floor,
            self.reference | other.reference,
            self.tables | other.tables,
        )
