"""A task on the words of the user's own sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphdep.tasks.labels.parsed_task import ParsedWordLabels


@dataclass(frozen=True)
class OwnWordLabels(ParsedWordLabels):
    """A label for each word of the user's own sentences: what the files are is said by the settings.

    Args:
        **others: As in :class:`WordLabels`.
    """

    kind: ClassVar[str] = "own-labels"

    @property
    def needs_mark(self) -> bool:
        return False

    @property
    def looked_up(self) -> str:
        return f"{super().looked_up}, or where training has no mark, of each word form"
