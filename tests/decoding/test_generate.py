"""Logits that are no distribution, and the like."""

from __future__ import annotations

import pytest
import torch

from graphdep.decoding import DecodeConfig, generate

NAN, INF = float("nan"), float("inf")
STRATEGIES = pytest.mark.parametrize(
    "options", [{}, {"strategy": "beam", "beams": 2}, {"strategy": "sample", "num_return": 2}]
)


def broken(table, context: int, length: int, change):
    """A decoder whose logits of one context are changed once there are so many words."""

    class Broken(table):
        def logits(self, number: int, history: tuple[int, ...]) -> torch.Tensor:
            logits = super().logits(number, history).index_fill(0, torch.tensor(4), -1e4)
            if number == context and len(history) == length:
                change(logits)
            return logits

    return Broken(3)


@STRATEGIES
@pytest.mark.parametrize(("place", "value"), [(5, NAN), (1, NAN), (5, INF), (1, INF)])
def test_one_logit_that_is_not_finite(table, contexts, options, place: int, value: float) -> None:
    decoder = broken(table, 2, 1, lambda logits: logits.__setitem__(place, value))
    with pytest.raises(ValueError, match="the logits are not finite for token 2 of example 1"):
        generate(decoder, contexts(1, 2), DecodeConfig(max_length=4, **options))


@STRATEGIES
@pytest.mark.parametrize("first", [0, 4])
def test_nothing_that_is_allowed_can_come(table, contexts, options, first: int) -> None:
    decoder = broken(table, 2, 0, lambda logits: logits[first:].fill_(-INF))
    with pytest.raises(ValueError, match="the logits are not finite for token 1 of example 1"):
        generate(decoder, contexts(1, 2), DecodeConfig(max_length=4, **options))


@STRATEGIES
def test_a_token_may_be_impossible(table, contexts, options) -> None:
    decoder = broken(table, 2, 1, lambda logits: logits[5:7].fill_(-INF))
    for hypotheses in generate(decoder, contexts(1, 2), DecodeConfig(max_length=4, **options)):
        assert hypotheses
    assert all(h.ids[1] == 7 for h in hypotheses)


@STRATEGIES
def test_a_vocabulary_without_words_gives_empty_responses(table, contexts, options) -> None:
    config = DecodeConfig(max_length=4, min_length=2, **options)
    for hypotheses in generate(table(0), contexts(1, 2), config):
        assert {h.ids for h in hypotheses} == {()}


@STRATEGIES
def test_a_whole_penalty_is_as_good_as_another(table, contexts, options) -> None:
    whole, other = (
        generate(table(3), contexts(1, 2), DecodeConfig(length_penalty=penalty, **options))
        for penalty in (22, 22.0)
    )
    assert whole == other
