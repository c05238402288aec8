"""What a model attends to, layer by layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.conv import AttentionConv


@torch.no_grad()
def attention_weights(model: nn.Module, data: Data) -> list[tuple[Tensor, Tensor]]:
    r"""Weights of every attention layer of a model on an example or a batch, in evaluation mode.

    Returns:
        Per layer the pairs ``[2, num_pairs]``, source -> target, and their weights ``[num_pairs, heads]``.

    Raises:
        ValueError: If the model has no attention layer.
    """
    convs = [module for module in model.modules() if isinstance(module, AttentionConv)]
    if not convs:
        raise ValueError(f"{type(model).__name__} has no attention layer")
    calls: list[tuple[nn.Module, tuple, dict[str, Any]]] = []

    def remember(module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
        calls.append((module, args, kwargs))

    handles = [conv.register_forward_pre_hook(remember, with_kwargs=True) for conv in convs]
    training = model.training
    try:
        model.eval()
        model(data)
        for handle in handles:
            handle.remove()
        return [conv(*args, **kwargs, return_attention_weights=True)[1] for conv, args, kwargs in calls]
    finally:
        for handle in handles:
            handle.remove()
        model.train(training)
