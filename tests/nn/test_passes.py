"""Evaluation mode for a while, and hooks for a while."""

from __future__ import annotations

import pytest
from torch import nn

from graphdep.nn.passes import evaluating


class Merging(nn.Linear):
    """Merges weights in evaluation, as LoRA does."""

    merged = False

    def train(self, mode: bool = True) -> Merging:
        self.merged = not mode
        return super().train(mode)


def test_each_module_is_back_in_its_own_mode_even_after_an_error() -> None:
    model = nn.Sequential(Merging(2, 2), nn.Sequential(nn.Dropout(), nn.Dropout()))
    model[1][0].eval()
    with pytest.raises(ValueError), evaluating(model):
        assert model[0].merged
        assert not any(module.training for module in model.modules())
        raise ValueError
    assert [module.training for module in model.modules()] == [True, True, True, False, True]
    assert not model[0].merged
