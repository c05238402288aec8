"""A task on the words of sentences that have no trees of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphdep.tasks.labels.task import WordLabels


@dataclass(frozen=True)
class ParsedWordLabels(WordLabels):
    """As :class:`WordLabels`, on a corpus without trees of its own: its models have a parser's.

    Args:
        **others: As in :class:`WordLabels`.
    """

    kind: ClassVar[str] = "parsed-labels"
