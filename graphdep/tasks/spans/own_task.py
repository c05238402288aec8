"""A task on the user's own marked spans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphdep.tasks.spans.task import OF_WORDS, Spans


@dataclass(frozen=True)
class OwnMarkedSpans(Spans):
    """A label for one or two marked spans of the user's own sentences: what the files are is said by the
    settings.

    Args:
        **others: As in :class:`Spans`.
    """

    kind: ClassVar[str] = "own-spans"

    @property
    def looked_up(self) -> str:
        return f"{super().looked_up}, or where there is one span, {OF_WORDS}"
