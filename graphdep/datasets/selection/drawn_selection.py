"""What the corpora share that are made of dialogues, with negatives drawn by us."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from graphdep.datasets.base.draw import Draw
from graphdep.datasets.selection.selection_dataset import SelectionDataset
from graphdep.datasets.selection.selection_options import DrawnOptions
from graphdep.parsing import Parser

_TRIES = 20  # a draw, before all that is left is listed


class DrawnSelection(SelectionDataset):
    """Base of the corpora whose negatives are drawn: pools of one true response and :obj:`negatives` others.

    The true response is the first of a pool; the metrics do not favour it where scores are equal. The
    negatives are those of a seed, the same on every machine and in every version of Python.

    Args:
        root, split, parser: As in :class:`SelectionDataset`.
        negatives, seed, options: See :class:`DrawnOptions`.
    """

    shared_options = DrawnOptions

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        parser: str | Parser,
        *,
        negatives: int | None = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        if negatives is not None and negatives < 1:
            raise ValueError(f"'negatives' must be at least 1 (got {negatives})")
        self.negatives, self.seed = negatives, seed
        super().__init__(root, split, parser, **options)

    def options(self, split: str) -> dict[str, Any]:
        return {"negatives": self._num_negatives(split), "seed": self.seed}

    def _num_negatives(self, split: str) -> int:
        return (1 if split == "train" else 9) if self.negatives is None else self.negatives

    def _negatives(self, split: str) -> Negatives:
        return Negatives(self._num_negatives(split), f"{self.corpus} {split} {self.seed}")


class Negatives:
    """Draws the negatives of one pool after the other.

    Args:
        count: How many a pool has.
        seed: What the draws start from.
    """

    def __init__(self, count: int, seed: str) -> None:
        self.count, self.draw = count, Draw(random.Random(seed))

    def of(
        self, responses: Sequence[str], allowed: Callable[[int], bool], taken: str, place: str
    ) -> list[int]:
        """Numbers of responses whose texts differ from each other and from :obj:`taken`.

        Args:
            responses: All responses of the split, without what makes no difference.
            allowed: Whether a number may be drawn.
            taken: The true response.
            place: Where that is, for messages.

        Raises:
            ValueError: If there are not enough.
        """
        found: dict[str, int] = {}
        for number in self._numbers(responses):
            if responses[number] not in found and responses[number] != taken and allowed(number):
                found[responses[number]] = number
                if len(found) == self.count:
                    return list(found.values())
        raise ValueError(f"{place}: {len(found)} responses can be negatives, fewer than {self.count}")

    def _numbers(self, responses: Sequence[str]) -> Iterator[int]:
        """Random numbers, and where those were no good, all of them in random order."""
        everything = range(len(responses))
        for _ in range(_TRIES * self.count):
            yield self.draw.pick(everything)
        yield from self.draw.shuffled(everything)


def normal(text: str) -> str:
    """A text without case and white space, which differ between copies of one message."""
    return "".join(text.casefold().split())
