"""The constituents of a sentence as nested pairs, the slow and obvious way."""

from __future__ import annotations

import dataclasses
import random
from typing import NamedTuple

from graphdep.sentence import Sentence, binarize
from graphdep.testing.random_constituents import random_constituents
from graphdep.testing.random_trees import random_sentence


class Pair(NamedTuple):
    """A constituent of two parts, each a pair or the number of a word."""

    label: str
    left: Pair | int
    right: Pair | int


def nested(sentence: Sentence, rule: str = "left") -> Pair | int:
    """The whole sentence, binarised, for a recursion over it to read."""
    label_of: dict[tuple[int, int], str] = {}
    for label, start, end in binarize(sentence, rule):
        label_of.setdefault((start, end), label)

    def part(start: int, end: int) -> Pair | int:
        if end - start == 1:
            return start
        spans = [*label_of, *((word, word + 1) for word in range(start, end))]
        for middle in range(start + 1, end):
            if (start, middle) in spans and (middle, end) in spans:
                return Pair(label_of[start, end], part(start, middle), part(middle, end))
        raise AssertionError(f"no two parts of {start}..{end} in {label_of}")

    return part(0, len(sentence))


def bracketed_sentence(rng: random.Random, words: int) -> Sentence:
    """A sentence with a random tree, random constituents and random tags."""
    tags = [rng.choice(("NOUN", "VERB", "ADJ", "PUNCT")) for _ in range(words)]
    sentence = random_sentence(rng, words)
    return dataclasses.replace(sentence, constituents=random_constituents(rng, words), upos=tags)
