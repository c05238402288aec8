"""What settings say of a pretrained encoder, of sentences and of response selection alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import nn

if TYPE_CHECKING:
    from graphdep.training.selection_config import SelectionConfig
    from graphdep.training.sentence_config import SentenceConfig


def check_pretrained(config: SelectionConfig | SentenceConfig, scratch: str) -> None:
    """Raises :class:`ValueError` where a setting is for the other kind of encoder.

    Args:
        config: The settings.
        scratch: How an encoder is named that has no weights yet, for messages.
    """
    if not 0 < config.layer_decay <= 1:
        raise ValueError(f"'layer_decay' must be in 0 < layer_decay <= 1 (got {config.layer_decay!r})")
    if not config.pretrained and (config.freeze_layers or config.layer_decay != 1):
        raise ValueError(
            f"'freeze_layers' and 'layer_decay' are for a pretrained encoder (got encoder={config.encoder!r})"
        )
    if config.pretrained and config.vectors is not None:
        raise ValueError(f"'vectors' are for {scratch} (got encoder={config.encoder!r})")
    if config.head_lr is not None and (not config.pretrained or not 0 < config.head_lr < 3e38):
        raise ValueError(
            f"'head_lr' must be above 0, and is for a pretrained encoder (got {config.head_lr!r})"
        )


def parameter_groups(
    model: nn.Module, backbone: Any, config: SelectionConfig | SentenceConfig
) -> list[dict[str, Any]]:
    """The parameters that are trained, with the learning rate and decay of each group: those of a pretrained
    encoder as :meth:`~graphdep.nn.pretrained.PretrainedEncoder.parameter_groups` has them, and what stands on
    it in the same way. An encoder that is trained from scratch has one rate and one decay.

    Args:
        model: All that is trained.
        backbone: The encoder in it.
        config: The settings.
    """
    if not config.pretrained:
        return [{"params": [parameter for parameter in model.parameters() if parameter.requires_grad]}]
    groups = backbone.parameter_groups(
        config.lr, weight_decay=config.weight_decay, layer_decay=config.layer_decay
    )
    known = {id(parameter) for group in groups for parameter in group["params"]}
    new = [p for p in model.parameters() if id(p) not in known and p.requires_grad]
    rate = config.lr if config.head_lr is None else config.head_lr
    for decay, matrices in ((config.weight_decay, True), (0.0, False)):
        params = [parameter for parameter in new if (parameter.dim() > 1) == matrices]
        groups.append({"params": params, "lr": rate, "weight_decay": decay})
    return groups
