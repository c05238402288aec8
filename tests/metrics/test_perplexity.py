from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphdep.metrics.scores import PERPLEXITY, PERPLEXITY_RESPONSES, PERPLEXITY_WORDS, unigram_losses

RESPONSES = st.lists(st.lists(st.floats(0, 20), min_size=1, max_size=5), min_size=1, max_size=6)
ALL = (PERPLEXITY, PERPLEXITY_RESPONSES)


def sums(responses):
    return np.array([sum(losses) for losses in responses]), np.array([len(losses) for losses in responses])


def test_computed_by_hand():
    # Probabilities: 1/2 1/4 and the end 1/8; then the end alone, 1/2.
    responses = [np.log([2.0, 4.0, 8.0]), np.log([2.0])]
    assert PERPLEXITY(*sums(responses)) == pytest.approx(2 ** (7 / 4))
    assert PERPLEXITY_RESPONSES(*sums(responses)) == pytest.approx(2 ** ((6 / 3 + 1 / 1) / 2))


@given(responses=RESPONSES)
def test_equals_loops(responses):
    every = [loss for losses in responses for loss in losses]
    means = [sum(losses) / len(losses) for losses in responses]
    for metric, losses in zip(ALL, (every, means)):
        expected = math.exp(sum(losses) / len(losses))
        assert metric(*sums(responses)) == pytest.approx(expected, rel=1e-6)


@given(responses=RESPONSES, seed=st.integers(0, 100))
def test_resampled_is_the_metric_of_the_sample(responses, seed):
    loss, tokens = sums(responses)
    sample = np.random.default_rng(seed).integers(0, len(loss), (4, len(loss)))
    weight = np.stack([np.bincount(row, minlength=len(loss)) for row in sample])
    for metric in ALL:
        expected = [metric(loss[row], tokens[row]) for row in sample]
        assert metric.resampled(loss, tokens, weight) == pytest.approx(expected, rel=1e-6)


def test_a_huge_loss_is_infinite_and_nothing_warns():
    assert PERPLEXITY_WORDS(np.array([1e4, 1.0]), np.array([1, 1])) == math.inf


def test_unigrams():
    losses = unigram_losses(np.array([3, 3, 1]), np.array([3, 0]), num_words=4)  # counts 1 2 1 3 of 7
    assert losses == pytest.approx([-math.log(3 / 7), -math.log(1 / 7)])


def test_less_is_better():
    assert all(metric.is_better(1.0, 2.0) for metric in (*ALL, PERPLEXITY_WORDS))
