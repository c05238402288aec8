from hypothesis import given
from hypothesis import strategies as st

from graphdep.parsing.constituency import like_lengths


@given(st.lists(st.integers(1, 40)), st.integers(1, 100))
def test_all_are_there_once_and_batches_are_bounded(lengths, max_words):
    batches = [*like_lengths(lengths, max_words)]
    assert sorted(number for batch in batches for number in batch) == [*range(len(lengths))]
    assert [lengths[number] for batch in batches for number in batch] == sorted(lengths)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(8, *(lengths[n] for n in batch)) <= max_words
