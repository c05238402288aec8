from __future__ import annotations

import pytest
import torch

from graphdep.training import TrainConfig
from graphdep.training import build as precision
from graphdep.training.build import gain_of_bf16, settled


@pytest.fixture
def auto():
    return TrainConfig.of("dt", hidden_channels=768, heads=6, precision="auto", accelerator="cpu")


def test_others_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(precision, "gain_of_bf16", None)
    for name in ("32-true", "bf16-mixed", "16-mixed"):
        config = TrainConfig.of("dt", precision=name)
        assert settled(config) is config
    assert TrainConfig.of("dt").precision == "32-true"


@pytest.mark.parametrize(("gain", "expected"), [(2.5, "bf16-mixed"), (1.2, "32-true"), (0.3, "32-true")])
def test_auto_is_what_the_processor_is_faster_in(auto, monkeypatch, gain, expected):
    asked = []
    monkeypatch.setattr(precision, "gain_of_bf16", lambda *sizes: asked.append(sizes) or gain)
    config = settled(auto)
    assert config == auto.replace(precision=expected)
    assert config.digest() == auto.replace(precision=expected).digest()
    assert asked == [(768, torch.get_num_threads())]


def test_narrow_models_stay_as_they_are(auto, monkeypatch):
    monkeypatch.setattr(precision, "gain_of_bf16", lambda *sizes: pytest.fail("measured"))
    assert settled(auto.replace(hidden_channels=300)).precision == "32-true"


@pytest.mark.parametrize(("has_bf16", "expected"), [(True, "bf16-mixed"), (False, "32-true")])
def test_on_a_gpu_it_is_bf16_where_there_is_bf16(auto, monkeypatch, has_bf16, expected):
    monkeypatch.setattr(precision, "gain_of_bf16", lambda *sizes: pytest.fail("measured"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has_bf16)
    assert settled(auto.replace(accelerator="auto")).precision == expected


def test_the_measurement_draws_no_random_numbers_and_is_made_once():
    before = torch.get_rng_state()
    gain = gain_of_bf16(16, 1)
    assert gain > 0
    assert gain_of_bf16(16, 1) == gain
    assert torch.equal(torch.get_rng_state(), before)
