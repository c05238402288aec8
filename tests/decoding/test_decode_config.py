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
    "'temperature' must be above 0 and finite (got 0)": {"temperature": 0},
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
