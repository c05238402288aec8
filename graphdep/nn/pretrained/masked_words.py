"""The masked-word head of a pretrained checkpoint."""

from __future__ import annotations

import os
from typing import Any

import torch

from graphdep.nn.models.masked_word_head import MaskedWordHead
from graphdep.nn.pretrained._loading import load_config, load_part
from graphdep.nn.pretrained.graph_attention import import_transformers

# What the dense layer, the norm and the bias are called in BERT's family and in RoBERTa's.
_NAMES = (
    ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"),
    ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
)


def load_masked_word_head(head: MaskedWordHead, name_or_folder: str | os.PathLike[str]) -> bool:
    """Gives a head the weights that a checkpoint has for it, in place.

    BERT's and RoBERTa's checkpoints have them, unless they were saved without a head. Words of the head that
    the checkpoint does not know keep a bias of 0.

    Args:
        head: The head.
        name_or_folder: As for :func:`load_encoder`.

    Returns:
        Whether the checkpoint has them; if not, the head stays as it is.

    Raises:
        ValueError: If there is no such checkpoint, its sizes are others, or a weight is not finite.
        ImportError: If transformers is not installed.
    """
    transformers = import_transformers()
    name = os.fspath(name_or_folder)
    config = load_config(name)
    if type(config) not in transformers.MODEL_FOR_MASKED_LM_MAPPING:
        return False
    model, report = load_part(
        transformers.AutoModelForMaskedLM,
        name,
        "encoder",
        config=config,
        attn_implementation="eager",
        dtype=torch.float32,
        weights_only=True,
        output_loading_info=True,
    )
    state = model.state_dict()
    for dense, norm, bias in _NAMES:
        own = {
            "lin.weight": f"{dense}.weight",
            "lin.bias": f"{dense}.bias",
            "norm.weight": f"{norm}.weight",
            "norm.bias": f"{norm}.bias",
            "bias": bias,
        }
        if all(key in state and key not in report["missing_keys"] for key in own.values()) and _alike(config):
            _copy(head, {key: state[name] for key, name in own.items()}, name)
            head.norm.eps = config.layer_norm_eps
            return True
    return False


def _alike(config: Any) -> bool:
    """Whether the checkpoint's head computes what ours does."""
    return config.hidden_act == "gelu" and config.tie_word_embeddings


def _copy(head: MaskedWordHead, weights: dict[str, torch.Tensor], name: str) -> None:
    own = head.state_dict()
    for key, value in weights.items():
        rows = value.size(0) if key == "bias" else own[key].size(0)
        if rows > own[key].size(0) or value.shape[1:] != own[key].shape[1:] or value.size(0) != rows:
            raise ValueError(
                f"{name!r} is not the checkpoint of this encoder: {key!r} of the masked-word head is "
                f"{[*value.shape]}, not {[*own[key].shape]}"
            )
        if not value.isfinite().all():
            raise ValueError(f"{name!r}: weight {key!r} of the masked-word head is not finite")
    for key, value in weights.items():
        own[key][: value.size(0)].copy_(value)
