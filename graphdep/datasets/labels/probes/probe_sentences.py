"""Sentences without any sense: random words, random trees, and a marked word."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from graphdep.datasets.base.draw import Draw
from graphdep.sentence import Sentence

RELATIONS = ("nsubj", "obj", "obl", "advcl", "amod", "det", "acl", "conj")
"""The relations of arcs, all equally frequent; the root word has ``root``."""


@dataclass(frozen=True)
class ProbeSizes:
    """How large sentences are, and of how many words their vocabulary.

    Args:
        min_words, max_words: The fewest and the most words of a sentence. (default: :obj:`6`, :obj:`14`)
        num_words: Different words, ``w0`` and so on. (default: :obj:`60`)

    Raises:
        ValueError: If a sentence could have no word, or more than it has at most, or there are fewer than
            two words.
    """

    min_words: int = 6
    max_words: int = 14
    num_words: int = 60

    def __post_init__(self) -> None:
        for name, least in (("min_words", 1), ("max_words", self.min_words), ("num_words", 2)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"{name!r} must be a whole number >= {least} (got {value!r})")


def probe_sentences(sizes: ProbeSizes, seed: str) -> Iterator[tuple[Sentence, int]]:
    r"""Sentences without end, each with the number of its marked word, from 0.

    All is drawn evenly and apart from all else: the number of words, each word, the marked word, the relation
    of each arc, and the tree among the :math:`n^{n-1}` trees of :math:`n` words. A seed gives the same
    sentences on every machine and in every version of Python.

    Args:
        sizes: How large they are.
        seed: Where chance comes from.

    Example:
        >>> from graphdep.datasets.labels.probes.probe_sentences import ProbeSizes, probe_sentences
        >>> sentence, mark = next(probe_sentences(ProbeSizes(), "0"))
        >>> 6 <= len(sentence) <= 14 and 0 <= mark < len(sentence)
        True
    """
    draw = Draw(random.Random(seed))
    lengths, vocab = range(sizes.min_words, sizes.max_words + 1), range(sizes.num_words)
    while True:
        length = draw.pick(lengths)
        form = [f"w{draw.pick(vocab)}" for _ in range(length)]
        head = _tree(draw, length)
        deprel = [draw.pick(RELATIONS) if governor else "root" for governor in head]
        yield Sentence(form, head, deprel), draw.pick(range(length))


def _tree(draw: Draw, length: int) -> list[int]:
    """A tree of which all are equally likely, as IDs of governors: who first leads a random walk to a word
    governs it (Aldous 1990, Broder 1989).
    """
    words = range(1, length + 1)
    here = draw.pick(words)
    head = {here: 0}
    while len(head) < length:
        there = draw.pick(words)
        head.setdefault(there, here)
        here = there
    return [head[word] for word in words]
