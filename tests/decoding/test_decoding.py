"""Beam search against all responses there are, draws against the probabilities."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.utils import cumsum

from graphdep.decoding import DecodeConfig, Hypothesis, generate
from graphdep.decoding.decoding import Sampling, banned, draw, repeating, thin_out
from graphdep.nn.models import ResponseDecoder
from graphdep.nn.models.transformer import Memory

EOU, SPECIALS = 4, 5


class TableDecoder(ResponseDecoder):
    """Logits drawn at random once for every history and every context (the one number in its memory)."""

    def __init__(self, words: int, scale: float = 1.5) -> None:
        super().__init__()
        self.num_words, self.scale = SPECIALS + words, scale
        self.steps: list[tuple[int, int]] = []  # examples and hypotheses of each step

    def logits(self, context: int, history: tuple[int, ...]) -> Tensor:
        seed = hash((context, history)) % 2**32
        return self.scale * torch.randn(self.num_words, generator=torch.Generator().manual_seed(seed))

    def start(self, memory: Memory) -> list[tuple[int, list[tuple[int, ...]]]]:
        return [(int(number), [()]) for number in memory.x[:, 0]]

    def step(self, state: list, tokens: Tensor) -> tuple[Tensor, list]:
        self.steps.append((tokens.size(0), tokens.size(1)))
        state = [
            (context, [(*history, token) for history, token in zip(histories, row)])
            for (context, histories), row in zip(state, tokens.tolist())
        ]
        logits = [torch.stack([self.logits(c, h[1:]) for h in histories]) for c, histories in state]
        return torch.stack(logits), state

    def select(self, state: list, example: Tensor, beam: Tensor) -> list:
        return [
            (state[e][0], [state[e][1][b] for b in row]) for e, row in zip(example.tolist(), beam.tolist())
        ]


def contexts(*numbers: int) -> Memory:
    return Memory(torch.tensor(numbers).view(-1, 1).float(), cumsum(torch.ones(len(numbers)).long()))


UNK = 0
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


@settings(max_examples=40)
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
def test_a_wide_beam_finds_the_best_of_all(numbers, words, num_return, **options) -> None:
    options["min_length"] = min(options["min_length"], options["max_length"] - 1)
    config = DecodeConfig(strategy="beam", beams=400, num_return=num_return, **options)
    decoder = TableDecoder(words)
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


@settings(max_examples=40)
@given(
    numbers=st.lists(st.integers(0, 10**6), min_size=1, max_size=4),
    beams=st.integers(1, 4),
    length_penalty=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    no_repeat_ngram=st.integers(0, 2),
    min_length=st.integers(0, 4),
    max_length=st.integers(5, 7),
    data=st.data(),
)
def test_a_narrow_beam_is_the_search_as_it_is_told(numbers, beams, data, **options) -> None:
    """For every example of a batch, whatever else is in it and however early it stops."""
    num_return = data.draw(st.integers(1, beams))
    config = DecodeConfig(strategy="beam", beams=beams, num_return=num_return, **options)
    decoder = TableDecoder(4)
    for number, got in zip(numbers, generate(decoder, contexts(*numbers), config)):
        assert_same(got, slow_beam(decoder, number, config))


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_greedy_takes_the_most_probable_token(length_penalty: float) -> None:
    decoder, numbers = TableDecoder(5), range(30)
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


def test_examples_that_are_done_leave_the_batch() -> None:
    decoder = TableDecoder(5)
    results = generate(decoder, contexts(*range(30)), DecodeConfig(max_length=40))
    steps = [len(got.ids) + got.finished for [got] in results]
    expected = [(sum(step >= number for step in steps), 1) for number in range(1, max(steps) + 1)]
    assert decoder.steps == expected


def test_stops_when_nothing_can_get_better() -> None:
    """What is open can only lose probability; without a penalty the best of all ends the search."""
    config = DecodeConfig(strategy="beam", beams=4, max_length=40, length_penalty=0.0)
    decoder = TableDecoder(5)
    results = generate(decoder, contexts(*range(10)), config)
    patient = TableDecoder(5)
    for number, got in enumerate(results):
        assert_same(got, slow_beam(patient, number, config))
    assert len(decoder.steps) < 40
    widths = [examples for examples, _ in decoder.steps]
    assert all(later <= earlier for earlier, later in pairwise(widths))
    assert widths[-1] < 10


def test_a_cut_response_is_not_lost() -> None:
    class Endless(TableDecoder):
        def logits(self, context: int, history: tuple[int, ...]) -> torch.Tensor:
            return super().logits(context, history).index_fill(0, torch.tensor(EOU), -50.0)

    config = DecodeConfig(strategy="beam", beams=3, num_return=3, max_length=6)
    for results in generate(Endless(3), contexts(1, 2), config):
        assert [(len(h.ids), h.finished) for h in results] == [(6, False)] * 3
        assert len({h.ids for h in results}) == 3


@given(st.integers(0, 2**32), st.integers(0, 7), st.integers(0, 4))
def test_no_run_of_words_twice(seed: int, length: int, n: int) -> None:
    history = torch.randint(3, (2, 3, length), generator=torch.Generator().manual_seed(seed))
    mask = repeating(history, 3, n)
    for example in range(2):
        for beam in range(3):
            words = history[example, beam].tolist()
            runs = [words[i : i + n] for i in range(length - n + 1)] if n else []
            for word in range(3):
                new = [*words, word][length + 1 - n :] if length + 1 >= n else None
                assert bool(mask[example, beam, word]) == (new in runs)


def test_special_symbols() -> None:
    history = torch.tensor([[[5, 6]]])
    assert banned(history, 7, DecodeConfig())[0, 0].tolist() == [True] * 4 + [False] * 3
    assert not banned(history, 7, DecodeConfig(allow_unk=True))[0, 0, 0]
    assert banned(history, 7, DecodeConfig(min_length=3))[0, 0].tolist() == [True] * 5 + [False] * 2


def test_the_end_is_let_through_where_nothing_else_is_left() -> None:
    mask = banned(torch.tensor([[[5, 6], [5, 5]]]), 7, DecodeConfig(min_length=9, no_repeat_ngram=1))
    assert mask[0, 0].tolist() == [True] * 4 + [False] + [True] * 2
    assert mask[0, 1].tolist() == [True] * 6 + [False]


WRONG = {
    "'strategy' must be one of greedy, beam, sample (got 'best')": {"strategy": "best"},
    "'beams' must be at least 1 (got 0)": {"strategy": "beam", "beams": 0},
    "'num_return' must be at least 1 (got 0)": {"num_return": 0},
    "'max_length' must be at least 1 (got 0)": {"max_length": 0},
    "'min_length' must be at least 0 (got -1)": {"min_length": -1},
    "'min_length' must be below 'max_length' (5) (got 5)": {"min_length": 5, "max_length": 5},
    "'length_penalty' must be at least 0 (got -1.0)": {"length_penalty": -1.0},
    "'length_penalty' must be at least 0 (got nan)": {"length_penalty": float("nan")},
    "'top_k' must be at least 0 (got -2)": {"top_k": -2},
    "'top_p' must be above 0 (got 0.0)": {"top_p": 0.0},
    "'top_p' must be between 0 and 1 (got 1.5)": {"top_p": 1.5},
    "'top_p' must be a number (got True)": {"top_p": True},
    "'allow_unk' must be True or False (got 1)": {"allow_unk": 1},
    "'temperature' must be between 1e-06 and 1.7976931348623157e+308 (got 0)": {"temperature": 0},
    "'temperature' must be between 1e-06 and 1.7976931348623157e+308 (got 1e-07)": {"temperature": 1e-7},
    "'temperature' must be between 1e-06 and 1.7976931348623157e+308 (got inf)": {
        "temperature": float("inf")
    },
    "'length_penalty' is too large for max_length=50 (got 23.0)": {"length_penalty": 23.0},
    "'length_penalty' is too large for max_length=50 (got 1000)": {"length_penalty": 1000},
    "'length_penalty' is too large for max_length=1 (got inf)": {
        "max_length": 1,
        "length_penalty": float("inf"),
    },
    "'beams' must be a whole number (got 2.0)": {"strategy": "beam", "beams": 2.0},
    "'num_return' must be a whole number (got True)": {"num_return": True},
    "'max_length' must be a whole number (got '5')": {"max_length": "5"},
    "'min_length' must be a whole number (got None)": {"min_length": None},
    "'top_k' must be a whole number (got 1.5)": {"top_k": 1.5},
    "'no_repeat_ngram' must be a whole number (got False)": {"no_repeat_ngram": False},
    "'seed' must be a whole number (got nan)": {"seed": float("nan")},
    "'beams' must be at most 10000 (got 10001)": {"strategy": "beam", "beams": 10_001},
    "'num_return' must be at most 10000 (got 10001)": {"strategy": "sample", "num_return": 10_001},
    "'max_length' must be at most 100000 (got 100001)": {"max_length": 100_001},
    "'no_repeat_ngram' must be at least 0 (got -1)": {"no_repeat_ngram": -1},
    "strategy='greedy' gives one response: 'num_return' must be 1 (got 2)": {"num_return": 2},
    "strategy='greedy' gives one response: 'beams' must be 1 (got 4)": {"beams": 4},
    "'num_return' must be at most 'beams' (2) (got 3)": {"strategy": "beam", "beams": 2, "num_return": 3},
}


def test_wrong_options() -> None:
    for message, options in WRONG.items():
        with pytest.raises(ValueError) as error:
            DecodeConfig(**options)
        assert str(error.value) == message
    for name in ("temperature", "length_penalty"):
        with pytest.raises(ValueError, match=f"'{name}' .*got 1000"):  # no float is so large
            DecodeConfig(**{name: 10**400})


def test_the_greatest_values() -> None:
    DecodeConfig(strategy="beam", beams=10_000, num_return=10_000, max_length=100_000, length_penalty=7)
    DecodeConfig(strategy="sample", temperature=1e-6, top_p=1, seed=2**32 - 1, length_penalty=22.0)


NAN, INF = float("nan"), float("inf")
STRATEGIES = pytest.mark.parametrize(
    "options", [{}, {"strategy": "beam", "beams": 2}, {"strategy": "sample", "num_return": 2}]
)


def broken(context: int, length: int, change):
    """A decoder whose logits of one context are changed once there are so many words."""

    class Broken(TableDecoder):
        def logits(self, number: int, history: tuple[int, ...]) -> torch.Tensor:
            logits = super().logits(number, history).index_fill(0, torch.tensor(4), -1e4)
            if number == context and len(history) == length:
                change(logits)
            return logits

    return Broken(3)


@STRATEGIES
@pytest.mark.parametrize(("place", "value"), [(5, NAN), (1, INF)])
def test_one_logit_that_is_not_finite(options, place: int, value: float) -> None:
    decoder = broken(2, 1, lambda logits: logits.__setitem__(place, value))
    with pytest.raises(ValueError, match="the logits are not finite for token 2 of example 1"):
        generate(decoder, contexts(1, 2), DecodeConfig(max_length=4, **options))


@STRATEGIES
@pytest.mark.parametrize("first", [0, 4])
def test_nothing_that_is_allowed_can_come(options, first: int) -> None:
    decoder = broken(2, 0, lambda logits: logits[first:].fill_(-INF))
    with pytest.raises(ValueError, match="the logits are not finite for token 1 of example 1"):
        generate(decoder, contexts(1, 2), DecodeConfig(max_length=4, **options))


@STRATEGIES
def test_a_token_may_be_impossible(options) -> None:
    decoder = broken(2, 1, lambda logits: logits[5:7].fill_(-INF))
    for hypotheses in generate(decoder, contexts(1, 2), DecodeConfig(max_length=4, **options)):
        assert hypotheses
    assert all(h.ids[1] == 7 for h in hypotheses)


@STRATEGIES
def test_a_vocabulary_without_words_gives_empty_responses(options) -> None:
    config = DecodeConfig(max_length=4, min_length=2, **options)
    for hypotheses in generate(TableDecoder(0), contexts(1, 2), config):
        assert {h.ids for h in hypotheses} == {()}


@STRATEGIES
def test_a_whole_penalty_is_as_good_as_another(options) -> None:
    whole, other = (
        generate(TableDecoder(3), contexts(1, 2), DecodeConfig(length_penalty=penalty, **options))
        for penalty in (22, 22.0)
    )
    assert whole == other


OPTIONS = {"strategy": "sample", "max_length": 8}


def slow(log_probs: Tensor, top_k: int, top_p: float, temperature: float) -> list[float]:
    """Probabilities of one distribution, most probable first."""
    weights = [(p / temperature, -word) for word, p in enumerate(log_probs.double().tolist())]
    ranked = sorted(weights, reverse=True)[: top_k or None]
    exps = [(torch.tensor(p).double().exp().item(), -word) for p, word in ranked]
    kept, mass = [], 0.0
    for p, word in exps:
        if mass < top_p * sum(p for p, _ in exps):
            kept.append((p, word))
        mass += p
    result = [0.0] * log_probs.numel()
    for p, word in kept:
        result[word] = p / sum(p for p, _ in kept)
    return result


@given(
    st.integers(0, 2**32),
    st.integers(0, 8),
    st.floats(0.01, 1.0),
    st.sampled_from([0.3, 1.0, 1.7]),
)
def test_thinned_out_as_by_hand(seed: int, top_k: int, top_p: float, temperature: float) -> None:
    log_probs = torch.randn(2, 3, 7, generator=torch.Generator().manual_seed(seed)).log_softmax(-1)
    log_probs[..., 2] = -torch.inf  # a banned word
    config = DecodeConfig(strategy="sample", top_k=top_k, top_p=top_p, temperature=temperature)
    probs = thin_out(log_probs, config)
    probs = probs / probs.sum(dim=-1, keepdim=True)
    expected = [[slow(row, top_k, top_p, temperature) for row in rows] for rows in log_probs]
    assert torch.allclose(probs, torch.tensor(expected).double(), atol=1e-6)


def test_draws_follow_the_probabilities() -> None:
    probs = torch.tensor([0.0, 0.5, 0.0, 0.2, 0.3, 0.0]).double()
    noise = torch.linspace(0, 1, 1001).double()[:-1]
    counts = Counter(draw(probs.expand(1000, -1), noise).tolist())
    assert counts == pytest.approx({1: 500, 3: 200, 4: 300}, abs=1)
    assert draw(probs, torch.tensor(1.0).double()).item() == 4  # rounded up to the very end
    assert draw(probs, torch.tensor(0.0).double()).item() == 1


def test_responses_have_their_probability() -> None:
    """The first tokens of many draws, against the model's distribution."""
    decoder = TableDecoder(3)
    config = DecodeConfig(strategy="sample", max_length=1, num_return=4000, allow_unk=True)
    [results] = generate(decoder, contexts(5), config)
    counts = Counter(h.ids[0] if h.ids else 4 for h in results)
    logits = decoder.logits(5, ())
    logits[1:4] = -torch.inf
    for word, p in enumerate(logits.softmax(0).tolist()):
        assert abs(counts[word] / 4000 - p) < 0.03


def test_scores_are_the_models() -> None:
    """Whatever the temperature: log-probability of the tokens over their number."""
    decoder = TableDecoder(3)
    for temperature in (0.5, 2.0):
        config = DecodeConfig(**OPTIONS, num_return=20, temperature=temperature, length_penalty=0.5)
        [results] = generate(decoder, contexts(3), config)
        for h in results:
            tokens = [*h.ids, 4] if h.finished else [*h.ids]
            parts = [
                decoder.logits(3, tuple(tokens[:i])).log_softmax(0)[t].item() for i, t in enumerate(tokens)
            ]
            assert h.score == pytest.approx(sum(parts) / len(tokens) ** 0.5, abs=1e-4)


def test_draws_do_not_depend_on_the_batch() -> None:
    config = DecodeConfig(**OPTIONS, num_return=3, seed=7)
    together = generate(TableDecoder(4), contexts(1, 2, 3), config, keys=[10, 20, 30])
    for number, key, expected in zip((1, 2, 3), (10, 20, 30), together):
        assert generate(TableDecoder(4), contexts(number), config, keys=[key]) == [expected]
    turned = generate(TableDecoder(4), contexts(3, 1), config, keys=[30, 10])
    assert turned == [together[2], together[0]]


def test_draws_differ() -> None:
    """Between draws, examples, seeds and calls with a generator; not between calls without."""
    decoder, config = TableDecoder(6), DecodeConfig(**OPTIONS, num_return=5)
    first = generate(decoder, contexts(1, 1), config)
    assert generate(decoder, contexts(1, 1), config) == first
    assert len({h.ids for h in first[0]}) > 1
    assert first[0] != first[1]
    assert generate(decoder, contexts(1, 1), DecodeConfig(**OPTIONS, num_return=5, seed=1)) != first
    generator = torch.Generator().manual_seed(0)
    calls = [generate(decoder, contexts(1), config, generator=generator) for _ in range(2)]
    assert calls[0] != calls[1]
    again = generate(decoder, contexts(1), config, generator=torch.Generator().manual_seed(0))
    assert again == calls[0]


def test_top_k_of_one_is_greedy() -> None:
    for options in ({"top_k": 1}, {"top_p": 1e-9}, {"temperature": 1e-4}):
        sampled = generate(TableDecoder(4), contexts(*range(9)), DecodeConfig(**OPTIONS, **options))
        assert sampled == generate(TableDecoder(4), contexts(*range(9)), DecodeConfig(max_length=8))


def test_rules_hold() -> None:
    config = DecodeConfig(**OPTIONS, num_return=50, min_length=2, no_repeat_ngram=2, seed=3)
    for results in generate(TableDecoder(2), contexts(1, 2), config):
        assert len(results) == 50
        for h in results:
            assert set(h.ids) <= {5, 6}
            assert len(h.ids) >= 2
            pairs = [*zip(h.ids, h.ids[1:])]
            assert len(set(pairs)) == len(pairs)


def test_one_key_an_example() -> None:
    with pytest.raises(ValueError, match="'keys' has 1 entries for 2 examples"):
        generate(TableDecoder(2), contexts(1, 2), DecodeConfig(**OPTIONS), keys=[1])


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_the_decoder_stays_in_its_mode(strategy: str) -> None:
    decoder = TableDecoder(3)
    for training in (True, False):
        decoder.train(training)
        generate(decoder, contexts(1, 2), DecodeConfig(strategy=strategy, max_length=3))
        assert decoder.training is training


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_no_examples(strategy: str) -> None:
    generator = torch.Generator().manual_seed(0)
    assert generate(TableDecoder(3), contexts(), DecodeConfig(strategy=strategy), generator=generator) == []


def test_a_stream_gives_its_numbers_step_by_step() -> None:
    """Draws that are done leave the others' numbers alone."""
    config = DecodeConfig(strategy="sample", num_return=2, max_length=100_000)
    sampling = Sampling(config, [7, 9], 3, torch.device("cpu"))
    streams = {(key, number): random.Random(f"3 {key} {number}") for key in (7, 9) for number in range(2)}
    both = [[streams[key, number].random() for number in range(2)] for key in (7, 9)]
    assert sampling._noise(torch.tensor([0, 1])).tolist() == both
    sampling.select(torch.tensor([1]), torch.tensor([[1]]))
    assert sampling._noise(torch.tensor([1])).tolist() == [[streams[9, 1].random()]]
