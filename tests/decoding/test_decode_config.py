from __future__ import annotations

import pytest

from graphdep.decoding import DecodeConfig

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
    "'top_p' must be above 0 and at most 1 (got 0.0)": {"top_p": 0.0},
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


@pytest.mark.parametrize(("message", "options"), WRONG.items(), ids=WRONG)
def test_wrong_options(message: str, options: dict) -> None:
    with pytest.raises(ValueError) as error:
        DecodeConfig(**options)
    assert str(error.value) == message


def test_defaults() -> None:
    config = DecodeConfig()
    assert (config.strategy, config.beams, config.num_return, config.max_length) == ("greedy", 1, 1, 50)


def test_the_greatest_values() -> None:
    DecodeConfig(strategy="beam", beams=10_000, num_return=10_000, max_length=100_000, length_penalty=7)
    DecodeConfig(strategy="sample", temperature=1e-6, top_p=1, seed=2**32 - 1, length_penalty=22.0)


@pytest.mark.parametrize("name", ["temperature", "length_penalty"])
def test_a_number_that_is_no_float(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' .*got 1000"):
        DecodeConfig(**{name: 10**400})
