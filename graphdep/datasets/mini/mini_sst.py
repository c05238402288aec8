"""The self-written sentences of ``datasets/mini`` in the format of SST's sentences."""

from __future__ import annotations

import random

from graphdep.datasets.base.rows import Grammar
from graphdep.datasets.sentences import SST_FILES

FILMS = "film movie comedy drama story sequel".split()
PEOPLE = "critic director actor writer viewer neighbor".split()
VERBS = "praised watched remembered mentioned discussed described".split()
GOOD = "brilliant charming funny clever warm lovely".split()
BAD = "dull tedious clumsy boring cold silly".split()

# The label is what the sentence says of the film {f}, not of the person {p}.
FRAMES = (
    "the {f} was {a} and the {p} who {v} it was {b}",
    "the {f} was {a} because the {p} was {b}",
    "the {f} , which was {a} , was {v} by a {p} who was {b}",
    "the {p} , who was {b} , {v} a {f} that was {a}",
    "although the {p} was {b} , the {f} that the {p} {v} was {a}",
    "a {p} who was {b} said that the {f} was {a}",
)
# Sets of four sentences in each split.
SETS = {"train": 100, "val": 15, "test": 30}


def sst_files() -> dict[str, bytes]:
    """The raw files by name."""
    grammar = _Grammar(random.Random(2013))
    files = {}
    for split, sets in SETS.items():
        rows = grammar.shuffled([row for _ in range(sets) for row in grammar.sentences()])
        files[SST_FILES[split]] = "".join(f"{text}\t{label}\n" for text, label in rows).encode()
    return files


class _Grammar(Grammar):
    def sentences(self) -> list[tuple[str, int]]:
        """Four sentences with the same words: the adjectives and *not* change places."""
        while True:
            frame, good, bad = self.pick(FRAMES), self.pick(GOOD), self.pick(BAD)
            words = {"f": self.pick(FILMS), "p": self.pick(PEOPLE), "v": self.pick(VERBS)}
            rows = [
                (frame.format(a=film, b=person, **words), label)
                for film, person, label in (
                    (f"not {bad}", good, 1),
                    (f"not {good}", bad, 0),
                    (good, f"not {bad}", 1),
                    (bad, f"not {good}", 0),
                )
            ]
            if self.take(*(text for text, _ in rows)):
                return rows
