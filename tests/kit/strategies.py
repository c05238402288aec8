"""Hypothesis strategies for trees, sentences, dialogues and batches of them."""

from __future__ import annotations

import dataclasses
import random

from hypothesis import strategies as st
from torch_geometric.data import Data

from graphdep.sentence import Constituent, Sentence
from tests.kit.trees import random_constituents, random_data, random_graph, random_sentence


def sentences(max_words: int = 8, multiroot: bool = False) -> st.SearchStrategy[Sentence]:
    """Sentences over trees of random shape."""
    seeds = st.integers(0, 2**32)
    return st.builds(
        lambda seed, words: random_sentence(random.Random(seed), words, multiroot=multiroot),
        seeds,
        st.integers(1, max_words),
    )


def enhanced_sentences(max_words: int = 8) -> st.SearchStrategy[Sentence]:
    """Sentences with enhanced graphs of random shape."""
    return st.builds(
        lambda seed, words: random_graph(random.Random(seed), words),
        st.integers(0, 2**32),
        st.integers(1, max_words),
    )


def constituents_of(words: int) -> st.SearchStrategy[list[Constituent]]:
    """Constituents of a sentence with a given number of words."""
    return st.integers(0, 2**32).map(lambda seed: random_constituents(random.Random(seed), words))


def examples(max_words: int = 7, max_utterances: int = 3, **options: bool) -> st.SearchStrategy[Data]:
    """Examples of one or more utterances: with or without ROOT, pieces, special and empty nodes.

    Options of :func:`tests.kit.trees.random_data` may be fixed; ``multiroot`` too.
    """
    names = ("root", "pieces", "special", "empty", "multiroot")
    flags = {name: st.just(options[name]) if name in options else st.booleans() for name in names}
    sizes = st.lists(st.integers(1, max_words), min_size=1, max_size=max_utterances)
    return st.builds(_example, st.integers(0, 2**32), sizes, st.fixed_dictionaries(flags))


def _example(seed: int, sizes: list[int], flags: dict[str, bool]) -> Data:
    rng = random.Random(seed)
    multiroot = flags["multiroot"]
    parsed = [random_sentence(rng, words, multiroot=multiroot) for words in sizes]
    return random_data(rng, parsed, **{name: flag for name, flag in flags.items() if name != "multiroot"})


def example_lists(max_size: int = 4, **options: bool) -> st.SearchStrategy[list[Data]]:
    """Lists of examples to batch."""
    return st.lists(examples(**options), min_size=1, max_size=max_size)


def phrase_examples(
    max_words: int = 7, max_utterances: int = 3
) -> st.SearchStrategy[tuple[Data, list[Sentence]]]:
    """Examples with constituents, without nodes for them, and their sentences."""
    sizes = st.lists(st.integers(1, max_words), min_size=1, max_size=max_utterances)
    flags = st.fixed_dictionaries(
        {name: st.booleans() for name in ("root", "pieces", "special", "empty", "input_ids")}
    )
    return st.builds(_phrase_example, st.integers(0, 2**32), sizes, flags)


def _phrase_example(seed: int, sizes: list[int], flags: dict[str, bool]) -> tuple[Data, list[Sentence]]:
    rng = random.Random(seed)
    parsed = [
        dataclasses.replace(random_sentence(rng, words), constituents=random_constituents(rng, words))
        for words in sizes
    ]
    return random_data(rng, parsed, phrases=True, **flags), parsed


def marked_examples(max_words: int = 7, **options: bool) -> st.SearchStrategy[Data]:
    """Examples of one utterance with two marked spans, some of which are empty or overlap."""
    number = st.integers(0, max_words)
    span = st.tuples(number, number)
    return st.builds(_marked, examples(max_words, 1, **options), st.tuples(span, span))


def marked_lists(max_size: int = 4, **options: bool) -> st.SearchStrategy[list[Data]]:
    """Lists of marked examples to batch."""
    return st.lists(marked_examples(**options), min_size=1, max_size=max_size)


def _marked(data: Data, spans: tuple[tuple[int, int], tuple[int, int]]) -> Data:
    word = data.word
    first, second = (((word >= start) & (word < stop) & (word >= 0)).long() for start, stop in spans)
    data.mark = first + 2 * second
    return data
