"""Draws sentences of a training file for validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from graphdep.datasets.base.rows import check_seed, drawn_part
from graphdep.datasets.base.words import GivenWords
from graphdep.io.limits import plural

T = TypeVar("T", bound=GivenWords)


@dataclass(frozen=True)
class DrawnVal:
    """How sentences are drawn for validation, each with all of its examples, so that none is in both splits.

    Args:
        share: The share of the distinct sentences to draw. (default: :obj:`0.1`)
        seed: Seed of the draw. (default: :obj:`0`)
    """

    share: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"'val_fraction' must be between 0 and 1 (got {self.share})")
        check_seed(self.seed)

    def part(self, found: Sequence[T], split: str) -> tuple[list[T], str]:
        """The examples of a training file for ``"train"`` or ``"val"``, and for the latter a note."""
        sentences = list(dict.fromkeys(tuple(example.words) for example in found))
        what = f"sentences in {plural(len(found), 'row')}"
        part_of = drawn_part(len(sentences), self.share, self.seed, found[0].place, what)
        drawn = {sentences[number] for number in part_of}
        part = [example for example in found if (tuple(example.words) in drawn) == (split == "val")]
        note = f"{len(drawn)} of the {len(sentences)} training sentences, drawn with seed {self.seed}"
        return part, note if split == "val" else ""
