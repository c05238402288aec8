"""Random sentences whose labels depend on the tree only."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from graphdep.datasets.base.rows import Draw
from graphdep.io.limits import check_count
from graphdep.sentence.sentence import Sentence

RELATIONS = ("nsubj", "obj", "obl", "advcl", "amod", "det", "acl", "conj")
"""The relations of arcs, all equally frequent; the root word has ``root``."""
PHRASES = dict(
    zip(("root", *RELATIONS), ("S", "NP", "VP", "PP", "SBAR", "ADJP", "QP", "NX", "UCP"), strict=True)
)
"""The label of the constituent that a word heads, by the word's relation; the names are arbitrary."""


@dataclass(frozen=True)
class ProbeSizes:
    """Sizes of sentences and of the vocabulary.

    Args:
        min_words, max_words: The smallest and the largest number of words. (default: :obj:`6`, :obj:`14`)
        num_words: Number of distinct words, ``w0`` and so on. (default: :obj:`60`)
    """

    min_words: int = 6
    max_words: int = 14
    num_words: int = 60

    def __post_init__(self) -> None:
        for name, least in (("min_words", 1), ("max_words", self.min_words), ("num_words", 2)):
            check_count(name, getattr(self, name), least)


def probe_sentences(
    sizes: ProbeSizes, seed: str, *, projective: bool = False
) -> Iterator[tuple[Sentence, int]]:
    r"""An infinite stream of sentences, each with the index of its marked word.

    Uniform and independent draws decide the number of words, each word, the marked word, the relation of each
    arc, and the tree among the :math:`n^{n-1}` trees of :math:`n` words. A seed gives the same sentences on
    every machine and in every version of Python.

    Args:
        sizes: Sizes of the sentences.
        seed: Seed of the draws.
        projective: Order the words of the same trees projectively, with a uniformly drawn order of each word
            and its dependents. Each subtree is then a constituent with a label of :data:`PHRASES`.
            (default: :obj:`False`)

    Example:
        >>> from graphdep.datasets.labels.probe_corpus import ProbeSizes, probe_sentences
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
    """The governors in a uniformly drawn tree: a word is governed by the word from which a random walk first
    reaches it (Aldous 1990, Broder 1989).
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
    """The sentence in a projective order, with its constituents."""
    dependents: list[list[int]] = [[] for _ in range(len(sentence) + 1)]
    for word, governor in enumerate(sentence.head, 1):
        dependents[governor].append(word)
    order, starts, todo = list[int](), dict[int, int](), [*dependents[0]]
    while todo:
        word = todo.pop()
        if word in starts:  # the second time, among its dependents
            order.append(word)
        else:
            starts[word] = len(order)
            todo += reversed(draw.shuffled([word, *dependents[word]]))
    size = [1] * (len(sentence) + 1)
    for word in reversed(starts):  # dependents before their governor
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


WORD_CLASSES = tuple("abcdef")
"""Classes of words; word *n* of the vocabulary has class *n* modulo the number of classes."""
CLAUSE = ("acl", "advcl")
"""Relations whose dependents head a clause."""
_PREDICATE = ("nsubj", "obj", "obl", "advcl")

Labels = list[str | None]


@dataclass(frozen=True)
class ProbeFunction:
    """Labels of words that depend on the tree only.

    Args:
        label: Maps the tree and the index of the marked word to a label, or :obj:`None`, for each word.
        classes: All labels.
        about: A line about the labels.
        needs_mark: Whether a word is marked. (default: :obj:`False`)
    """

    label: Callable[[Sentence, int], Labels]
    classes: tuple[str, ...]
    about: str
    needs_mark: bool = False


class _Tree:
    """A tree with word indices from 0; the root word has governor -1."""

    def __init__(self, sentence: Sentence) -> None:
        self.form, self.deprel = sentence.form, sentence.deprel
        self.head = [governor - 1 for governor in sentence.head]
        self.words = range(len(self.head))

    @cached_property
    def up(self) -> list[list[int]]:
        """Each word with its ancestors, the word first."""
        ways = []
        for word in self.words:
            way = [word]
            while (governor := self.head[way[-1]]) >= 0:
                way.append(governor)
            ways.append(way)
        return ways

    def class_of(self, word: int) -> str:
        return WORD_CLASSES[int(self.form[word][1:]) % len(WORD_CLASSES)]

    def lowest_common(self, left: int, right: int) -> int:
        above = set(self.up[right])
        return next(word for word in self.up[left] if word in above)

    def distance(self, left: int, right: int) -> int:
        top = self.lowest_common(left, right)
        return self.up[left].index(top) + self.up[right].index(top)


def _governor(sentence: Sentence, mark: int) -> Labels:
    tree = _Tree(sentence)
    return [tree.class_of(governor) if governor >= 0 else None for governor in tree.head]


def _relation(sentence: Sentence, mark: int) -> Labels:
    return [label if label in RELATIONS else None for label in sentence.deprel]


def _depth(sentence: Sentence, mark: int) -> Labels:
    return [_capped(depth, 6) for depth in sentence.depth]


def _clause(sentence: Sentence, mark: int) -> Labels:
    tree = _Tree(sentence)
    top = [next((above for above in way if tree.deprel[above] in CLAUSE), way[-1]) for way in tree.up]
    return [None if word == mark else "same" if top[word] == top[mark] else "other" for word in tree.words]


def _ancestor(sentence: Sentence, mark: int) -> Labels:
    tree = _Tree(sentence)
    return [None if word == mark else tree.class_of(tree.lowest_common(word, mark)) for word in tree.words]


def _distance(sentence: Sentence, mark: int) -> Labels:
    tree = _Tree(sentence)
    return [None if word == mark else _capped(tree.distance(word, mark), 6) for word in tree.words]


def _path(arcs: int) -> Callable[[Sentence, int], Labels]:
    def label(sentence: Sentence, mark: int) -> Labels:
        tree = _Tree(sentence)
        kinds = ["p" if label in _PREDICATE else "n" for label in tree.deprel]
        # The last word of a path is the root word, which has no arc.
        return ["".join(kinds[word] for word in way[:arcs]) if len(way) > arcs else None for way in tree.up]

    return label


def _subtree(sentence: Sentence, mark: int) -> Labels:
    tree = _Tree(sentence)
    size = [0] * len(sentence)
    for way in tree.up:
        for word in way:
            size[word] += 1
    return [_capped(one, 5) for one in size]


def _siblings(sentence: Sentence, mark: int) -> Labels:
    head = _Tree(sentence).head
    sides = {(False, False): "none", (True, False): "left", (False, True): "right", (True, True): "both"}
    return [
        None if governor < 0 else sides[governor in head[:word], governor in head[word + 1 :]]
        for word, governor in enumerate(head)
    ]


def _next(sentence: Sentence, mark: int) -> Labels:
    tree = _Tree(sentence)
    return [*(tree.class_of(word) for word in tree.words[1:]), None]


def _capped(number: int, most: int) -> str:
    return str(number) if number < most else f"{most}+"


def _up_to(most: int) -> tuple[str, ...]:
    return tuple(_capped(number, most) for number in range(1, most + 1))


def _paths(arcs: int) -> tuple[str, ...]:
    return tuple(map("".join, product("np", repeat=arcs)))


DEFAULT_FUNCTION = "governor"
PROBE_FUNCTIONS: dict[str, ProbeFunction] = {
    "governor": ProbeFunction(_governor, WORD_CLASSES, "class of the word's governor"),
    "relation": ProbeFunction(_relation, tuple(sorted(RELATIONS)), "the word's relation to its governor"),
    "depth": ProbeFunction(_depth, _up_to(6), "arcs from the word up to ROOT"),
    "path-2": ProbeFunction(_path(2), _paths(2), "groups of the relations on two arcs upwards"),
    "path-3": ProbeFunction(_path(3), _paths(3), "groups of the relations on three arcs upwards"),
    "subtree": ProbeFunction(_subtree, _up_to(5), "words at and below the word"),
    "siblings": ProbeFunction(
        _siblings, ("both", "left", "none", "right"), "sides on which the governor has other dependents"
    ),
    "clause": ProbeFunction(
        _clause, ("other", "same"), "whether the word is in the marked word's clause", True
    ),
    "ancestor": ProbeFunction(
        _ancestor, WORD_CLASSES, "class of the lowest common ancestor of the word and the marked one", True
    ),
    "distance": ProbeFunction(_distance, _up_to(6), "arcs between the word and the marked one", True),
    "next": ProbeFunction(_next, WORD_CLASSES, "class of the next word, for which no tree is needed"),
}
"""All functions by name. Numbers are capped: *6+* is 6 or more. Relations of paths are grouped into those of
predicates, *p* (nsubj, obj, obl, advcl), and those of nouns, *n*. A word has no label if it has no governor,
if its path is too short, or if it is the marked word.
"""
