from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphdep.parsing.parser import TextSample


@given(st.integers(0, 5_000), st.integers(1, 700))
def test_it_is_bounded_and_evenly_spread_however_the_stream_is_cut(size, block):
    texts = [str(number) for number in range(size)]
    sample = TextSample()
    for start in range(0, size, block):
        sample.add(texts[start : start + block])
    step = next(2**k for k in range(20) if len(texts[:: 2**k]) <= 1_000)
    assert sample.texts == texts[::step]


def test_long_texts_are_cut_and_words_joined():
    sample = TextSample()
    sample.add(["a" * 5_000, ("she", "sings")])
    assert sample.texts == ["a" * 1_000, "she sings"]
