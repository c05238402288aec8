from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from graphdep.decoding import DecodeConfig
from graphdep.decoding.decoding import banned, repeating


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
