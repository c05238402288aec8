from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets.selection.store import pack_tree, unpack_tree

LARGEST = st.sampled_from([0, 1, 255, 256, 65_535, 65_536, (1 << 32) - 1])


@given(st.data())
def test_what_is_packed_comes_back(data):
    size = data.draw(st.integers(0, 40))
    columns = []
    for _ in range(3):
        numbers = st.integers(0, data.draw(LARGEST))
        columns.append(np.array(data.draw(st.lists(numbers, min_size=size, max_size=size)), dtype=np.int64))
    for before, after in zip(columns, unpack_tree(pack_tree(*columns))):
        assert after.tolist() == before.tolist()


@pytest.mark.parametrize(
    ("largest", "size", "a_word"),
    [((255, 20, 40), 20, 3), ((256, 20, 40), 20, 4), ((65_536, 20, 300), 20, 7), ((9, 300, 40), 300, 4)],
)
def test_bytes_a_word(largest, size, a_word):
    columns = [np.full(size, number) for number in largest]
    assert len(pack_tree(*columns)) == 1 + size * a_word


def test_no_words_are_no_bytes():
    empty = np.zeros(0, dtype=np.int64)
    assert pack_tree(empty, empty, empty) == b""
    assert [len(column) for column in unpack_tree(b"")] == [0, 0, 0]


@pytest.mark.parametrize(
    "data", [b"\x00", b"\x001234", b"\x40123", b"\x03123456", b"\x0c123456", b"\x30123456"]
)
def test_what_was_not_packed(data):
    with pytest.raises(ValueError, match=r"the first byte must have three widths|are not one and the same"):
        unpack_tree(data)
