from __future__ import annotations

import pytest

from graphdep.training.family.learning_task import LinearSchedule, epoch_seed


def test_the_learning_rate_rises_and_falls_linearly():
    schedule = LinearSchedule(warmup_steps=4, total_steps=10)
    assert [schedule(step) for step in range(4)] == [0.25, 0.5, 0.75, 1.0]
    assert [schedule(step) for step in (4, 5, 7, 9)] == pytest.approx([1.0, 5 / 6, 0.5, 1 / 6])
    assert schedule(10) == schedule(11) == 0.0


def test_a_warm_up_longer_than_the_training_only_rises():
    schedule = LinearSchedule(warmup_steps=100, total_steps=10)
    assert [schedule(step) for step in range(10)] == pytest.approx([0.01 * k for k in range(1, 11)])


def test_epoch_seeds_do_not_repeat():
    seeds = {epoch_seed(seed, epoch) for seed in range(5) for epoch in range(20)}
    assert len(seeds) == 100
    assert epoch_seed(1, 3) == epoch_seed(1, 3)
