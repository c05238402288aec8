"""The heads of constituents, by the dependency tree of the same sentence."""

from __future__ import annotations

from collections.abc import Sequence

from graphdep.sentence.constituents import Constituent
from graphdep.sentence.sentence import Sentence


def constituent_heads(sentence: Sentence) -> list[int]:
    """The head of each constituent: the number, from 0, of its word that is nearest to the root of the
    dependency tree, the first of several.

    Where both trees agree this is the one word of the constituent whose governor lies outside of it.

    Raises:
        ValueError: If the sentence has no constituents.

    Example:
        >>> from graphdep import Sentence
        >>> from graphdep.sentence import constituent_heads
        >>> phrases = [("S", 0, 3), ("NP", 0, 2), ("VP", 2, 3)]
        >>> tree = ["big", "dogs", "bark"], [2, 3, 0], ["amod", "nsubj", "root"]
        >>> constituent_heads(Sentence(*tree, constituents=phrases))
        [2, 1, 2]
    """
    if sentence.constituents is None:
        raise ValueError(f"the sentence {sentence.text[:60]!r} has no constituents")
    depth = sentence.depth
    return [min(range(start, end), key=depth.__getitem__) for _, start, end in sentence.constituents]


def part_heads(
    sentence: Sentence, constituents: Sequence[Constituent], inside: Sequence[Sequence[int]]
) -> list[int]:
    """Which of the parts of each constituent has its head."""
    depth = sentence.depth
    found = []
    for (_, start, end), mine in zip(constituents, inside):
        head = min(range(start, end), key=depth.__getitem__)
        ends = [constituents[part][2] if part >= 0 else ~part + 1 for part in mine]
        found.append(next(number for number, after in enumerate(ends) if head < after))
    return found
