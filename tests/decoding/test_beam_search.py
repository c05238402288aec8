"""Beam search against all responses there are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphdep.decoding import DecodeConfig, Hypothesis, generate

EOU, UNK = 4, 0
NEVER = (1, 2, 3)


def allowed(history: tuple[int, ...], num_words: int, config: DecodeConfig) -> list[int]:
    n, words = config.no_repeat_ngram, []
    seen = {history[i : i + n] for i in range(len(history) - n + 1)} if n else set()
    for word in range(num_words):
        repeats = n > 0 and len(history) + 1 >= n and (*history, word)[len(history) + 1 - n :] in seen
        unknown = word == UNK and not config.allow_unk
        if word not in (*NEVER, EOU) and not repeats and not unknown:
            words.append(word)
    if len(history) >= config.min_length or not words:
        words.append(EOU)
    return words


def everything(decoder, context: int, config: DecodeConfig) -> list[Hypothesis]:
    """All responses, best first."""

    def extend(history: tuple[int, ...], score: float) -> Iterator[Hypothesis]:
        log_probs = decoder.logits(context, history).log_softmax(0).tolist()
        for word in allowed(history, decoder.num_words, config):
            total, length = score + log_probs[word], len(history) + 1
            final = total / length**config.length_penalty
            if word == EOU:
                yield Hypothesis(history, final, True)
            elif length == config.max_length:
                yield Hypothesis((*history, word), final, False)
            else:
                yield from extend((*history, word), total)

    return sorted(extend((), 0.0), key=lambda hypothesis: -hypothesis.score)


def assert_same(got: list[Hypothesis], expected: list[Hypothesis]) -> None:
    assert [(h.ids, h.finished) for h in got] == [(h.ids, h.finished) for h in expected]
    assert [h.score for h in got] == pytest.approx([h.score for h in expected], abs=1e-4)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    numbers=st.lists(st.integers(0, 10**6), min_size=1, max_size=3),
    words=st.integers(1, 3),
    max_length=st.integers(1, 4),
    min_length=st.integers(0, 3),
    length_penalty=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    no_repeat_ngram=st.integers(0, 3),
    allow_unk=st.booleans(),
    num_return=st.sampled_from([1, 2, 5, 400]),
)
def test_a_wide_beam_finds_the_best_of_all(table, contexts, numbers, words, num_return, **options) -> None:
    options["min_length"] = min(options["min_length"], options["max_length"] - 1)
    config = DecodeConfig(strategy="beam", beams=400, num_return=num_return, **options)
    decoder = table(words)
    results = generate(decoder, contexts(*numbers), config)
    for number, got in zip(numbers, results):
        expected = everything(decoder, number, config)
        assert len(expected) <= 400
        assert_same(got, expected[:num_return])


def slow_beam(decoder, context: int, config: DecodeConfig) -> list[Hypothesis]:
    """The search as it is told: keep the best continuations, set aside those that end."""
    beam, found = [((), 0.0)], []
    for length in range(1, config.max_length + 1):
        candidates = []
        for history, score in beam:
            log_probs = decoder.logits(context, history).log_softmax(0).tolist()
            words = allowed(history, decoder.num_words, config)
            candidates += [((*history, word), score + log_probs[word]) for word in words]
        candidates.sort(key=lambda candidate: -candidate[1])
        beam = []
        for history, score in candidates[: config.beams - len(found)]:
            final = score / length**config.length_penalty
            if history[-1] == EOU:
                found.append(Hypothesis(history[:-1], final, True))
            elif length == config.max_length:
                found.append(Hypothesis(history, final, False))
            else:
                beam.append((history, score))
    return sorted(found, key=lambda hypothesis: -hypothesis.score)[: config.num_return]


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    numbers=st.lists(st.integers(0, 10**6), min_size=1, max_size=4),
    beams=st.integers(1, 4),
    length_penalty=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    no_repeat_ngram=st.integers(0, 2),
    min_length=st.integers(0, 4),
    max_length=st.integers(5, 7),
    data=st.data(),
)
def test_a_narrow_beam_is_the_search_as_it_is_told(table, contexts, numbers, beams, data, **options) -> None:
    """For every example of a batch, whatever else is in it and however early it stops."""
    num_return = data.draw(st.integers(1, beams))
    config = DecodeConfig(strategy="beam", beams=beams, num_return=num_return, **options)
    decoder = table(4)
    for number, got in zip(numbers, generate(decoder, contexts(*numbers), config)):
        assert_same(got, slow_beam(decoder, number, config))


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_greedy_takes_the_most_probable_token(table, contexts, length_penalty: float) -> None:
    decoder, numbers = table(5), range(30)
    greedy = DecodeConfig(max_length=9, length_penalty=length_penalty)
    results = generate(decoder, contexts(*numbers), greedy)
    beam = DecodeConfig(strategy="beam", beams=1, max_length=9, length_penalty=length_penalty)
    assert generate(decoder, contexts(*numbers), beam) == results
    for number, [got] in zip(numbers, results):
        history: tuple[int, ...] = ()
        while len(history) < 9:
            logits = decoder.logits(number, history)
            logits[[UNK, *NEVER]] = -torch.inf
            if int(logits.argmax()) == EOU:
                break
            history = (*history, int(logits.argmax()))
        assert got.ids == history
        assert got.finished == (len(history) < 9)
    assert {len(got.ids) for [got] in results} > {0, 1, 9}


def test_examples_that_are_done_leave_the_batch(table, contexts) -> None:
    decoder = table(5)
    results = generate(decoder, contexts(*range(30)), DecodeConfig(max_length=40))
    steps = [len(got.ids) + got.finished for [got] in results]
    expected = [(sum(step >= number for step in steps), 1) for number in range(1, max(steps) + 1)]
    assert decoder.steps == expected


def test_stops_when_nothing_can_get_better(table, contexts) -> None:
    """What is open can only lose probability; without a penalty the best of all ends the search."""
    config = DecodeConfig(strategy="beam", beams=4, max_length=40, length_penalty=0.0)
    decoder = table(5)
    results = generate(decoder, contexts(*range(10)), config)
    patient = table(5)
    for number, got in enumerate(results):
        assert_same(got, slow_beam(patient, number, config))
    assert len(decoder.steps) < 40
    widths = [examples for examples, _ in decoder.steps]
    assert all(later <= earlier for earlier, later in pairwise(widths))
    assert widths[-1] < 10


def test_a_cut_response_is_not_lost(table, contexts) -> None:
    class Endless(table):
        def logits(self, context: int, history: tuple[int, ...]) -> torch.Tensor:
            return super().logits(context, history).index_fill(0, torch.tensor(EOU), -50.0)

    config = DecodeConfig(strategy="beam", beams=3, num_return=3, max_length=6)
    for results in generate(Endless(3), contexts(1, 2), config):
        assert [(len(h.ids), h.finished) for h in results] == [(6, False)] * 3
        assert len({h.ids for h in results}) == 3


def test_no_examples(table, contexts) -> None:
    assert generate(table(3), contexts(), DecodeConfig()) == []
