"""Evaluation mode and hooks for a forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn
from torch.utils.hooks import RemovableHandle


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Evaluation mode; afterwards each module, e.g. a frozen encoder, is back in its own mode."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            if module.training != training:
                module.train(training)  # which a module may extend


@contextmanager
def hooked(handles: Sequence[RemovableHandle]) -> Iterator[None]:
    """Keeps hooks until the end, then removes them."""
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
