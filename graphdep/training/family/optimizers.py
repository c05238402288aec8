"""From settings to optimizers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from graphdep.training.family.pretrained import backbone_of
from graphdep.training.family.pretrained_settings import PretrainedSettings
from graphdep.training.family.train_config import TrainConfig

_OPTIMIZERS = {
    "adagrad": torch.optim.Adagrad,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "sgd": torch.optim.SGD,
}
MakeOptimizer = Callable[[Iterable[Any]], torch.optim.Optimizer]


def make_optimizer(config: TrainConfig) -> MakeOptimizer:
    """Makes the optimizer of the settings of parameters or groups of them."""
    options: dict[str, Any] = {"lr": config.lr, "weight_decay": config.weight_decay}
    # One pass over the weights in place of a dozen, which is much of a small pretrained encoder's step on a
    # CPU. Lightning does not clip the gradients of such an optimizer in mixed precision.
    if config.optimizer in ("adam", "adamw") and (config.clip is None or config.precision == "32-true"):
        options["fused"] = True
    if config.optimizer == "adagrad":
        return functools.partial(_adagrad, **options)
    return functools.partial(_OPTIMIZERS[config.optimizer], **options)


def _adagrad(parameters: Iterable[Any], **options: Any) -> torch.optim.Adagrad:
    optimizer = torch.optim.Adagrad(parameters, **options)
    _fuse_on_cpu(optimizer)
    optimizer.register_load_state_dict_post_hook(_fuse_on_cpu)  # of a run that began on another device
    return optimizer


def _fuse_on_cpu(optimizer: torch.optim.Optimizer) -> None:
    """Adagrad has that one pass on the CPU alone; elsewhere PyTorch takes all weights at once by itself, with
    the number of steps on the CPU.
    """
    for group in optimizer.param_groups:
        group["fused"] = all(parameter.is_cpu for parameter in group["params"]) or None
        for parameter in group["params"] if group["fused"] is None else ():
            if "step" in optimizer.state[parameter]:
                optimizer.state[parameter]["step"] = optimizer.state[parameter]["step"].cpu()


def grouped_optimizer(config: TrainConfig, model: nn.Module) -> MakeOptimizer:
    """Makes an optimizer of the groups of parameters that the model's encoder says, in place of all alike."""
    assert isinstance(config, PretrainedSettings)
    optimizer, settings = make_optimizer(config), config
    return lambda parameters: optimizer(parameter_groups(parameters, backbone_of(model), settings))


def parameter_groups(
    parameters: Iterable[nn.Parameter], backbone: Any, config: PretrainedSettings
) -> list[dict[str, Any]]:
    """The parameters that are trained, with the learning rate and decay of each group: those of a pretrained
    encoder as :meth:`~graphdep.nn.pretrained.PretrainedEncoder.parameter_groups` has them, and what stands on
    it in the same way. An encoder that is trained from scratch has one rate and one decay.

    Args:
        parameters: Those of all that is trained.
        backbone: The encoder among it.
        config: The settings.
    """
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    if not config.pretrained:
        return [{"params": trained}]
    groups = backbone.parameter_groups(
        config.lr, weight_decay=config.weight_decay, layer_decay=config.layer_decay
    )
    known = {id(parameter) for group in groups for parameter in group["params"]}
    new = [parameter for parameter in trained if id(parameter) not in known]
    rate = config.lr if config.head_lr is None else config.head_lr
    for decay, matrices in ((config.weight_decay, True), (0.0, False)):
        params = [parameter for parameter in new if (parameter.dim() > 1) == matrices]
        groups.append({"params": params, "lr": rate, "weight_decay": decay})
    return groups
