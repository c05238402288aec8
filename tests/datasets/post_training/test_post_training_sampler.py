from __future__ import annotations

from graphdep.datasets import PostTrainingSampler


def test_each_epoch_has_all_samples_in_an_order_of_its_own():
    orders = []
    for epoch in (0, 1, 7):
        sampler = PostTrainingSampler(50, seed=3)
        sampler.set_epoch(epoch)
        assert len(sampler) == 50
        keys = list(sampler)
        assert {key.epoch for key in keys} == {epoch}
        assert sorted(key.number for key in keys) == list(range(50))
        orders.append([key.number for key in keys])
    assert len({tuple(order) for order in orders}) == 3


def test_the_order_depends_on_seed_and_epoch_alone():
    straight = PostTrainingSampler(50, seed=3)
    for epoch in range(3):
        straight.set_epoch(epoch)
        last = list(straight)
    resumed = PostTrainingSampler(50, seed=3)
    resumed.set_epoch(2)
    assert list(resumed) == last
    other = PostTrainingSampler(50, seed=4)
    other.set_epoch(2)
    assert list(other) != last
