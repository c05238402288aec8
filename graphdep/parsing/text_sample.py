"""A bounded sample of a stream of texts."""

from __future__ import annotations

from collections.abc import Iterable

from graphdep.parsing.items import Item

_MOST, _CHARACTERS = 1_000, 1_000


class TextSample:
    """Evenly spread texts of a stream, at most a thousand, and of each its first thousand characters.

    Every :math:`2^k`-th text is kept, with the least :math:`k` by which they are no more.

    Example:
        >>> from graphdep.parsing.text_sample import TextSample
        >>> sample = TextSample()
        >>> sample.add(map(str, range(5000)))
        >>> sample.texts[:3], len(sample.texts)
        (['0', '8', '16'], 625)
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._seen, self._step = 0, 1

    def add(self, items: Iterable[Item]) -> None:
        """Goes on with the next texts, or sentences in words."""
        for item in items:
            if self._seen % self._step == 0:
                text = item if isinstance(item, str) else " ".join(item)
                self.texts.append(text[:_CHARACTERS])
            self._seen += 1
            if len(self.texts) > _MOST:
                self.texts, self._step = self.texts[::2], 2 * self._step
