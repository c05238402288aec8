"""What of a model decays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn


def check_decay(groups: Iterable[Mapping[str, Any]], module: nn.Module, decay: float) -> None:
    """Groups of an optimizer have each parameter of a module that is trained, once; weights decay, and what
    is called a bias or is of a norm does not. What else has one dimension may or may not.
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
