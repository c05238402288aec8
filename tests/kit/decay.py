"""Checks weight decay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn


def check_decay(groups: Iterable[Mapping[str, Any]], module: nn.Module, decay: float) -> None:
    """Asserts that the groups of an optimizer have each trained parameter once, and that weights decay but
    biases and norms do not; other parameters of one dimension may.
    """
    pairs = [(id(parameter), group["weight_decay"]) for group in groups for parameter in group["params"]]
    found = dict(pairs)
    trained = {id(parameter) for parameter in module.parameters() if parameter.requires_grad}
    assert len(found) == len(pairs)
    assert found.keys() == trained
    seen = set()
    for place, part in module.named_modules():
        for name, parameter in part.named_parameters(recurse=False):
            if id(parameter) not in trained:
                continue
            if "Norm" in type(part).__name__ or name.endswith("bias"):
                expected = 0.0
            elif parameter.dim() > 1:
                expected = decay
            else:
                continue
            assert found[id(parameter)] == expected, f"{place}.{name}"
            seen.add(expected)
    assert seen == {0.0, decay}
