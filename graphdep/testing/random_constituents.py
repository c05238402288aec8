"""Random constituents, with all that a sentence may have of them."""

from __future__ import annotations

import random

from graphdep.sentence import Constituent

_LABELS = ("S", "NP", "VP", "PP", "@NP", "NP-SBJ=1", "PRP$")


def random_constituents(rng: random.Random, words: int) -> list[Constituent]:
    """Constituents of any shape: flat or deep, over one word or all, in chains, or none at all."""
    found: list[Constituent] = []
    share = rng.choice((0.2, 0.6, 1.0))

    def fill(start: int, end: int) -> None:
        for _ in range(rng.choice((1, 1, 1, 2)) if rng.random() < share else 0):
            found.append((rng.choice(_LABELS), start, end))
        if end - start > 1:
            cuts = sorted(rng.sample(range(start + 1, end), rng.randint(1, min(3, end - start - 1))))
            for first, after in zip([start, *cuts], [*cuts, end]):
                fill(first, after)

    fill(0, words)
    return found
