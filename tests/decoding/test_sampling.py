from __future__ import annotations

import random
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from graphdep.decoding import DecodeConfig, generate
from graphdep.decoding.decoding import Sampling, draw, thin_out

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


def test_responses_have_their_probability(table, contexts) -> None:
    """The first tokens of many draws, against the model's distribution."""
    decoder = table(3)
    config = DecodeConfig(strategy="sample", max_length=1, num_return=4000, allow_unk=True)
    [results] = generate(decoder, contexts(5), config)
    counts = Counter(h.ids[0] if h.ids else 4 for h in results)
    logits = decoder.logits(5, ())
    logits[1:4] = -torch.inf
    for word, p in enumerate(logits.softmax(0).tolist()):
        assert abs(counts[word] / 4000 - p) < 0.03


def test_scores_are_the_models(table, contexts) -> None:
    """Whatever the temperature: log-probability of the tokens over their number."""
    decoder = table(3)
    for temperature in (0.5, 2.0):
        config = DecodeConfig(**OPTIONS, num_return=20, temperature=temperature, length_penalty=0.5)
        [results] = generate(decoder, contexts(3), config)
        for h in results:
            tokens = [*h.ids, 4] if h.finished else [*h.ids]
            parts = [
                decoder.logits(3, tuple(tokens[:i])).log_softmax(0)[t].item() for i, t in enumerate(tokens)
            ]
            assert h.score == pytest.approx(sum(parts) / len(tokens) ** 0.5, abs=1e-4)


def test_draws_do_not_depend_on_the_batch(table, contexts) -> None:
    config = DecodeConfig(**OPTIONS, num_return=3, seed=7)
    together = generate(table(4), contexts(1, 2, 3), config, keys=[10, 20, 30])
    for number, key, expected in zip((1, 2, 3), (10, 20, 30), together):
        assert generate(table(4), contexts(number), config, keys=[key]) == [expected]
    turned = generate(table(4), contexts(3, 1), config, keys=[30, 10])
    assert turned == [together[2], together[0]]


def test_draws_differ(table, contexts) -> None:
    """Between draws, examples, seeds and calls with a generator; not between calls without."""
    decoder, config = table(6), DecodeConfig(**OPTIONS, num_return=5)
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


def test_top_k_of_one_is_greedy(table, contexts) -> None:
    for options in ({"top_k": 1}, {"top_p": 1e-9}, {"temperature": 1e-4}):
        sampled = generate(table(4), contexts(*range(9)), DecodeConfig(**OPTIONS, **options))
        assert sampled == generate(table(4), contexts(*range(9)), DecodeConfig(max_length=8))


def test_rules_hold(table, contexts) -> None:
    config = DecodeConfig(**OPTIONS, num_return=50, min_length=2, no_repeat_ngram=2, seed=3)
    for results in generate(table(2), contexts(1, 2), config):
        assert len(results) == 50
        for h in results:
            assert set(h.ids) <= {5, 6}
            assert len(h.ids) >= 2
            pairs = [*zip(h.ids, h.ids[1:])]
            assert len(set(pairs)) == len(pairs)


def test_one_key_an_example(table, contexts) -> None:
    with pytest.raises(ValueError, match=r"one entry an example: 2 \(got 1\)"):
        generate(table(2), contexts(1, 2), DecodeConfig(**OPTIONS), keys=[1])


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_the_decoder_stays_in_its_mode(table, contexts, strategy: str) -> None:
    decoder = table(3)
    for training in (True, False):
        decoder.train(training)
        generate(decoder, contexts(1, 2), DecodeConfig(strategy=strategy, max_length=3))
        assert decoder.training is training


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_no_examples(table, contexts, strategy: str) -> None:
    generator = torch.Generator().manual_seed(0)
    assert generate(table(3), contexts(), DecodeConfig(strategy=strategy), generator=generator) == []


def test_a_stream_gives_its_numbers_step_by_step() -> None:
    """Draws that are done leave the others' numbers alone."""
    config = DecodeConfig(strategy="sample", num_return=2, max_length=100_000)
    sampling = Sampling(config, [7, 9], 3, torch.device("cpu"))
    streams = {(key, number): random.Random(f"3 {key} {number}") for key in (7, 9) for number in range(2)}
    both = [[streams[key, number].random() for number in range(2)] for key in (7, 9)]
    assert sampling._noise(torch.tensor([0, 1])).tolist() == both
    sampling.select(torch.tensor([1]), torch.tensor([[1]]))
    assert sampling._noise(torch.tensor([1])).tolist() == [[streams[9, 1].random()]]
