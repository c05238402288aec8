"""The LSTM under autocast, whatever the processor has."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

from graphdep.nn.models.baselines import recurrent as _lstm
from graphdep.nn.models.baselines.recurrent import LSTM


@pytest.fixture(params=[True, False], ids=["processor has one", "processor has none"])
def processor(request, monkeypatch):
    has_one = request.param and _lstm._processor_has_one(torch.bfloat16)
    monkeypatch.setattr(_lstm, "_processor_has_one", lambda dtype: has_one)
    return has_one


def test_without_autocast_it_is_that_of_torch():
    torch.manual_seed(0)
    ours = LSTM(3, 4, bidirectional=True)
    theirs = nn.LSTM(3, 4, bidirectional=True)
    theirs.load_state_dict(ours.state_dict())
    x = pack_sequence([torch.randn(3, 3), torch.randn(2, 3)])
    assert torch.equal(ours(x)[0].data, theirs(x)[0].data)


@pytest.mark.parametrize("lengths", [(3, 2), (3,), (2, 2)])
def test_autocast_forward_and_backward(processor, lengths):
    torch.manual_seed(0)
    lstm = LSTM(3, 4)
    x = pack_sequence([torch.randn(length, 3) for length in lengths])
    expected, (hidden, _) = lstm(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out, (last, _) = lstm(x.to(torch.bfloat16))
    if not processor:
        assert out.data.dtype == torch.float32
    torch.testing.assert_close(out.data.float(), expected.data, rtol=0.02, atol=0.02)
    torch.testing.assert_close(last.float(), hidden, rtol=0.02, atol=0.02)
    out.data.float().sum().backward()
    assert lstm.weight_ih_l0.grad.abs().sum() > 0


def test_the_probe_draws_no_random_numbers():
    state = torch.get_rng_state()
    _lstm._processor_has_one.__wrapped__(torch.bfloat16)
    assert torch.equal(torch.get_rng_state(), state)
