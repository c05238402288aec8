"""Streams that count how far they were read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


class Counted:
    """Counts the items that were read."""

    def __init__(self, parts: Iterable[Any]) -> None:
        self.parts, self.taken = parts, 0

    def __iter__(self) -> Iterator[Any]:
        for part in self.parts:
            self.taken += 1
            yield part
