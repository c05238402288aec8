"""What a model attends to, layer by layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.conv import AttentionConv, ConstituentConv
from graphdep.nn.pretrained import PretrainedEncoder

Layer = tuple[nn.Module, tuple[Tensor, Tensor]]
ATTENTION = (AttentionConv, ConstituentConv, PretrainedEncoder)
"""What has weights to show."""


def attention_weights(model: nn.Module, data: Data) -> list[tuple[Tensor, Tensor]]:
    r"""Weights of every attention layer of a model on an example or a batch, in evaluation mode: those of
    this library's convs and those of a pretrained encoder, in the order in which they are computed.

    Returns:
        Per layer the pairs ``[2, num_pairs]``, source -> target, and their weights ``[num_pairs, heads]``.

    Raises:
        ValueError: If the model has no attention layer.
    """
    return [weights for _, weights in attention_layers(model, data)]


@torch.no_grad()
def attention_layers(model: nn.Module, data: Data) -> list[Layer]:
    """As :func:`attention_weights`, each with its conv or with the pretrained encoder that the layer is of.

    Raises:
        ValueError: As :func:`attention_weights`.
    """
    modules = [module for module in model.modules() if isinstance(module, ATTENTION)]
    if not modules:
        raise ValueError(f"{type(model).__name__} has no attention layer")
    calls: list[tuple[nn.Module, tuple, dict[str, Any]]] = []

    def remember(module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
        calls.append((module, args, kwargs))

    handles = [module.register_forward_pre_hook(remember, with_kwargs=True) for module in modules]
    training = model.training
    try:
        model.eval()
        model(data)
        for handle in handles:
            handle.remove()
        return [
            (module, weights) for module, args, given in calls for weights in _weights(module, args, given)
        ]
    finally:
        for handle in handles:
            handle.remove()
        model.train(training)


def _weights(module: Any, args: tuple, kwargs: dict[str, Any]) -> list[tuple[Tensor, Tensor]]:
    if isinstance(module, PretrainedEncoder):
        return module.attention(args[0] if args else kwargs["data"])
    return [module(*args, **kwargs, return_attention_weights=True)[1]]
