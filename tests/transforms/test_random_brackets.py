"""Spans of random brackets, against comparing all gaps with each other."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from graphdep import Sentence, to_data
from graphdep.transforms import RandomBrackets
from graphdep.transforms.controls import WordTable, unsigned
from graphdep.transforms.nodes import Nodes


class Drawn(WordTable):
    """Words whose chance is cut down to a few numbers, so that gaps are equally high."""

    def chance(self, seed: int) -> Tensor:
        return super().chance(seed) & 7


def table(kind: type[WordTable], sizes: list[int]) -> WordTable:
    chains = [dataclasses.replace(Sentence.chain(["a"] * size), constituents=[]) for size in sizes]
    return kind.of(Nodes(to_data(chains, root=False, phrases="spans")))


def all_pairs(words: WordTable, seed: int) -> list[tuple[int, int]]:
    """The definition: up to the next higher gap on either side; of equal ones the first is higher."""
    height = [(chance, -row) for row, chance in enumerate(unsigned(words.chance(seed)).tolist())]
    found = []
    for start, size in [*dict.fromkeys(zip(words.start.tolist(), words.size.tolist()))]:
        gaps = range(start, start + size - 1)
        for gap in gaps:
            higher = [other for other in gaps if height[other] > height[gap]]
            first = max([other + 1 for other in higher if other < gap], default=start)
            last = min([other for other in higher if other > gap], default=start + size - 1)
            found.append((first, last))
    return found


sizes = st.lists(st.integers(1, 12), min_size=1, max_size=6)


@given(sizes, st.integers(0, 99), st.sampled_from([WordTable, Drawn]))
def test_spans_are_those_of_all_pairs(sizes: list[int], seed: int, kind: type[WordTable]) -> None:
    words = table(kind, sizes)
    first, last = RandomBrackets(seed).spans(words)
    assert [*zip(first.tolist(), last.tolist())] == all_pairs(words, seed)


def test_an_utterance_of_20_000_words() -> None:
    first, last = RandomBrackets(1).spans(table(WordTable, [20_000]))
    assert first.numel() == 19_999
    assert ((first == 0) & (last == 19_999)).sum() == 1
    assert bool((first < last).all())


def test_no_words() -> None:
    words = table(WordTable, [1])
    none = {name: getattr(words, name)[:0] for name in ("node", "start", "size", "governor", "deprel")}
    first, last = RandomBrackets().spans(dataclasses.replace(words, **none))
    assert first.tolist() == last.tolist() == []
