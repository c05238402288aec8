"""Random choices that are the same in every version of Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Draws with ``random()`` alone: only that is the same in every version of Python."""

    def __init__(self, source: random.Random) -> None:
        self.source = source

    def pick(self, options: Sequence[T]) -> T:
        return options[int(self.source.random() * len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return [items[i] for _, i in sorted((self.source.random(), i) for i in range(len(items)))]
