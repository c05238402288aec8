"""Sentences without any sense: random words, random trees, and a marked word."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from graphdep.datasets.base.draw import Draw
from graphdep.sentence import Sentence

RELATIONS = ("nsubj", "obj", "obl", "advcl", "amod", "det", "acl", "conj")
"""The relations of arcs, all equally frequent; the root word has ``root``."""
PHRASES = dict(
    zip(("root", *RELATIONS), ("S", "NP", "VP", "PP", "SBAR", "ADJP", "QP", "NX", "UCP"), strict=True)
)
"""The label of the constituent of a word with all below it, by the word's relation; the names say nothing."""


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


def probe_sentences(
    sizes: ProbeSizes, seed: str, *, projective: bool = False
) -> Iterator[tuple[Sentence, int]]:
    r"""Sentences without end, each with the number of its marked word, from 0.

    All is drawn evenly and apart from all else: the number of words, each word, the marked word, the relation
    of each arc, and the tree among the :math:`n^{n-1}` trees of :math:`n` words. A seed gives the same
    sentences on every machine and in every version of Python.

    Args:
        sizes: How large they are.
        seed: Where chance comes from.
        projective: The same trees, with their words in an order in which each stands together with all below
            it: the dependents of a word and the word itself among them in an order that is drawn evenly. Each
            word with all below it is then a constituent, whose label is that of the word's relation in
            :data:`PHRASES`. (default: :obj:`False`)

    Example:
        >>> from graphdep.datasets.labels.probes.probe_sentences import ProbeSizes, probe_sentences
        >>> sentence, mark = next(probe_sentences(ProbeSizes(), "0"))
        >>> 6 <= len(sentence) <= 14 and 0 <= mark < len(sentence)
        True
        >>> next(probe_sentences(ProbeSizes(3, 3), "0", projective=True))[0].constituents
        [('S', 0, 3), ('PP', 1, 3), ('VP', 2, 3)]
    """
    draw, order = Draw(random.Random(seed)), Draw(random.Random(f"{seed} order"))
    lengths, vocab = range(sizes.min_words, sizes.max_words + 1), range(sizes.num_words)
    while True:
        length = draw.pick(lengths)
        form = [f"w{draw.pick(vocab)}" for _ in range(length)]
        head = _tree(draw, length)
        deprel = [draw.pick(RELATIONS) if governor else "root" for governor in head]
        sentence, mark = Sentence(form, head, deprel), draw.pick(range(length))
        yield _projective(sentence, mark, order) if projective else (sentence, mark)


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


def _projective(sentence: Sentence, mark: int, draw: Draw) -> tuple[Sentence, int]:
    """The sentence in another order, with the constituents that it then has."""
    dependents: list[list[int]] = [[] for _ in range(len(sentence) + 1)]
    for word, governor in enumerate(sentence.head, 1):
        dependents[governor].append(word)
    order, starts, todo = list[int](), dict[int, int](), [*dependents[0]]
    while todo:
        word = todo.pop()
        if word in starts:  # met again, at its own place among its dependents
            order.append(word)
        else:
            starts[word] = len(order)
            todo += reversed(draw.shuffled([word, *dependents[word]]))
    size = [1] * (len(sentence) + 1)
    for word in reversed(starts):  # those below a word come before it
        size[sentence.head[word - 1]] += size[word]
    constituents = [
        (PHRASES[sentence.deprel[word - 1]], start, start + size[word]) for word, start in starts.items()
    ]
    place = {0: 0} | {word: number for number, word in enumerate(order, 1)}
    moved = Sentence(
        [sentence.form[word - 1] for word in order],
        [place[sentence.head[word - 1]] for word in order],
        [sentence.deprel[word - 1] for word in order],
        constituents=constituents,
    )
    return moved, place[mark + 1] - 1
