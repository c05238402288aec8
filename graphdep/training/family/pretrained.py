"""The encoder of a model: from settings, and in the model."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from graphdep.nn import models as M
from graphdep.training.family.train_config import TrainConfig

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


def load_pretrained(config: TrainConfig) -> PretrainedEncoder:
    """The pretrained encoder of the settings, with its weights."""
    from graphdep.nn.pretrained import load_encoder

    return load_encoder(config.encoder, base=config.encoder_base)


def fingerprint_of(encoder: PretrainedEncoder) -> str:
    """Digest of an encoder's weights and tokenizer, wherever they lie."""
    sha = hashlib.sha256(encoder.tokens.fingerprint.encode())
    for name, weight in encoder.model.state_dict().items():
        sha.update(name.encode())
        # Any type of number has bytes.
        sha.update(weight.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return sha.hexdigest()[:16]


def backbone_of(model: nn.Module) -> Any:
    """The encoder of a model, without what stands on it."""
    encoder = model.encoder
    return encoder.encoder if isinstance(encoder, (M.SIA, M.FrozenEncoder)) else encoder
