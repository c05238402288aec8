"""Sequences of any lengths, as PyTorch packs and unpacks them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

from graphdep.nn.models.baselines.recurrent import run_over


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}])
@settings(max_examples=15)
@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_as_pytorch_packs_them(kind: type[nn.RNNBase], options: dict, lengths: list[int]) -> None:
    torch.manual_seed(0)
    rnn = kind(3, 4, **options).double()
    x = torch.randn(sum(lengths), 3, dtype=torch.float64, requires_grad=True)
    out, last = rnn(pack_sequence(x.split(lengths), enforce_sorted=False))
    expected = torch.cat(unpack_sequence(out)), last[0] if isinstance(last, tuple) else last
    found = run_over(rnn, x, torch.tensor(lengths))
    weights = [torch.randn_like(part) for part in expected]
    gradients = []
    for parts in (expected, found):
        loss = sum((part * weight).sum() for part, weight in zip(parts, weights))
        gradients.append(torch.autograd.grad(loss, [x, *rnn.parameters()]))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*gradients)


def test_a_sequence_of_nothing() -> None:
    with pytest.raises(ValueError, match=r"a length of 1 at least \(got \[2, 0\]\)"):
        run_over(nn.GRU(3, 4), torch.zeros(2, 3), torch.tensor([2, 0]))


def test_first_states() -> None:
    torch.manual_seed(0)
    gru, x = nn.GRU(3, 4), torch.randn(6, 3)
    start, lengths = torch.randn(1, 3, 4), [1, 3, 2]
    states, last = run_over(gru, x, torch.tensor(lengths), start)
    for number, (sequence, own) in enumerate(zip(x.split(lengths), states.split(lengths))):
        expected, _ = gru(sequence, start[:, number])
        torch.testing.assert_close(own, expected)
        torch.testing.assert_close(last[0, number], expected[-1])
