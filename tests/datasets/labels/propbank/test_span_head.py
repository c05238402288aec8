from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphdep.datasets.labels.propbank import span_head
from tests.kit.strategies import sentences


def arcs_to_the_root(head, word):
    return 0 if word < 0 else 1 + arcs_to_the_root(head, head[word] - 1)


@given(sentences(), st.data())
def test_the_word_nearest_to_the_root(tree, data):
    head = tree.head
    start = data.draw(st.integers(0, len(head) - 1))
    end = data.draw(st.integers(start + 1, len(head)))
    found = span_head(tree, start, end)
    assert start <= found < end
    assert not start <= head[found] - 1 < end  # its governor is outside
    distance = [arcs_to_the_root(head, word) for word in range(len(head))]
    assert all((distance[found], found) <= (distance[word], word) for word in range(start, end))
