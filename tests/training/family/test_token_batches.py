from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep.training.splits import TokenBatchSampler


@given(
    st.lists(st.integers(1, 9), max_size=30),
    st.integers(1, 20),
    st.none() | st.integers(1, 5),
)
def test_batches_hold_all_in_order_and_no_more_than_they_may(sizes, tokens, examples):
    sampler = TokenBatchSampler(range(len(sizes)), torch.tensor(sizes), tokens, examples)
    batches = list(sampler)
    assert [example for batch in batches for example in batch] == list(range(len(sizes)))
    assert sampler.count(3) == 3 * len(batches)
    for batch in batches:
        assert sum(sizes[i] for i in batch) <= tokens or len(batch) == 1
        assert examples is None or len(batch) <= examples
    # None could have taken the first of the next one.
    for batch, after in pairwise(batches):
        more = sum(sizes[i] for i in [*batch, after[0]])
        assert more > tokens or len(batch) == examples


class Shuffled:
    """An order for each epoch."""

    def __init__(self, size):
        self.size, self.epoch = size, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        yield from torch.randperm(self.size, generator=torch.Generator().manual_seed(self.epoch)).tolist()


def test_batches_of_all_epochs_are_counted():
    order, sizes = Shuffled(60), torch.arange(60) % 13 + 1
    order.set_epoch(5)
    sampler = TokenBatchSampler(order, sizes, 31)
    found = []
    for epoch in range(6):
        order.set_epoch(epoch)
        found.append(len(list(sampler)))
    assert len(set(found)) > 1  # else this tests nothing
    assert [sampler.count(epochs) for epochs in (1, 6)] == [found[0], sum(found)]
    assert order.epoch == 5


def test_it_has_no_length_by_which_an_epoch_could_be_cut():
    with pytest.raises(TypeError):
        len(TokenBatchSampler(range(3), torch.ones(3), 2))


@pytest.mark.parametrize(("limits", "name"), [((0, None), "max_tokens"), ((5, -1), "max_examples")])
def test_limits(limits, name):
    with pytest.raises(ValueError, match=f"'{name}' must be at least 1"):
        TokenBatchSampler(range(3), torch.ones(3), *limits)


def test_repr():
    assert repr(TokenBatchSampler(range(3), torch.ones(3), 4, 2)) == (
        "TokenBatchSampler(3 examples, max_tokens=4, max_examples=2)"
    )
