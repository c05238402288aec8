"""What a pretrained encoder is without its weights, as plain values that a checkpoint can hold."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from graphdep.nn.pretrained._loading import check_counts, is_count_of_layers
from graphdep.nn.pretrained.graph_attention import import_transformers
from graphdep.nn.pretrained.pretrained_encoder import PretrainedEncoder

_SPECIAL = ("cls_token", "sep_token", "unk_token", "pad_token", "mask_token")
# Of where it comes from, of heads that are not there, and of what a file may not choose.
_UNREAD = (
    *("_name_or_path", "num_labels", "id2label", "label2id", "auto_map", "quantization_config"),
    *("attn_implementation", "_attn_implementation", "_attn_implementation_internal"),
)


def encoder_state(encoder: PretrainedEncoder) -> dict[str, str]:
    """Configuration and tokenizer of an encoder, for :func:`encoder_of_state`."""
    config = {key: value for key, value in encoder.model.config.to_dict().items() if key not in _UNREAD}
    special = {name: getattr(encoder.tokenizer, name) for name in _SPECIAL}
    return {
        "config": json.dumps(config),
        "tokenizer": encoder.tokenizer.backend_tokenizer.to_str(),
        "special": json.dumps({name: token for name, token in special.items() if token is not None}),
        "eou": encoder.tokens.eou,
    }


def encoder_of_state(
    state: Mapping[str, str], weights: Mapping[str, Tensor] | None = None
) -> PretrainedEncoder:
    """The encoder with random weights, to load its own into.

    Args:
        state: What :func:`encoder_state` gave.
        weights: The weights that will be loaded, by names that end as the model's do. The model is built
            only if its parameters are among them in the same shapes: another one might take all memory.
            (default: :obj:`None`)

    Raises:
        ValueError: If the state is damaged, or is not that of the weights.
        ImportError: If transformers is not installed.
    """
    transformers = import_transformers()
    try:
        options, special = json.loads(state["config"]), json.loads(state["special"])
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=_backend(state["tokenizer"]), **special
        )
        if state["eou"] not in tokenizer.get_vocab():
            raise ValueError(f"the tokenizer has no token {state['eou']!r}")
        config = transformers.AutoConfig.for_model(**_checked(options, weights))
        if weights is not None:
            with torch.device("meta"):
                _check_shapes(transformers.AutoModel.from_config(config), weights)
        model = transformers.AutoModel.from_config(config)
        return PretrainedEncoder(model, tokenizer, eou=state["eou"])
    except ImportError:
        raise
    except BaseException as error:  # a panic of tokenizers is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        raise ValueError(f"no state of an encoder: {' '.join(str(error).split())[:200]}") from None


def _checked(options: Mapping[str, Any], weights: Mapping[str, Tensor] | None) -> dict[str, Any]:
    """The options of a configuration, none of which can keep a model from being built in a moment."""
    kept = {key: value for key, value in options.items() if key not in _UNREAD}
    for name, value in kept.items():
        if isinstance(value, dict) and name.endswith("config"):
            raise ValueError(f"{name!r} is a configuration of its own, which no text encoder has")
        counts = is_count_of_layers(name) and isinstance(value, int)
        if counts and weights is not None and value > len(weights):
            raise ValueError(f"{name!r} is {value}, which its weights do not have")
    check_counts(kept)
    return kept


def _check_shapes(model: torch.nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Raises :class:`ValueError` unless every parameter of the model is among the weights, whole."""
    # Weights of other modules may have the same ending, but are not below a `model`.
    found = {f".{name}".rpartition(".model.")[2]: weight for name, weight in weights.items()}
    for name, parameter in model.named_parameters():
        if name.startswith("pooler."):
            continue
        if name not in found or found[name].shape != parameter.shape:
            shape = [*found[name].shape] if name in found else None
            raise ValueError(f"{name!r} has shape {[*parameter.shape]}, in its weights {shape}")
        weight = found[name]
        if weight.untyped_storage().nbytes() < weight.numel() * weight.element_size():
            raise ValueError(f"{name!r} repeats its numbers instead of having them")


def _backend(text: str) -> Any:
    from tokenizers import Tokenizer

    for step in _steps(json.loads(text)):
        if step.get("type") == "Precompiled":
            _check_charsmap(step.get("precompiled_charsmap"))
    return Tokenizer.from_str(text)


def _steps(value: Any) -> Iterator[dict[str, Any]]:
    """All objects of a JSON value."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _steps(part)


def _check_charsmap(charsmap: Any) -> None:
    """Raises :class:`ValueError` if a map's own size is not that of what follows: tokenizers would believe
    it, take that much memory, and end the process.
    """
    blob = base64.b64decode(charsmap) if isinstance(charsmap, str) else b""
    if len(blob) < 4 or int.from_bytes(blob[:4], "little") > len(blob) - 4:
        raise ValueError("the tokenizer has a damaged 'precompiled_charsmap'")
