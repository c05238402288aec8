"""What a pretrained encoder is without its weights, as plain values that a checkpoint can hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from graphdep.nn.pretrained.graph_attention import import_transformers
from graphdep.nn.pretrained.pretrained_encoder import PretrainedEncoder

_SPECIAL = ("cls_token", "sep_token", "unk_token", "pad_token", "mask_token")
# What the size of the model follows from, and therefore must be what the weights have.
_SIZES = (
    *("hidden_size", "intermediate_size", "vocab_size", "max_position_embeddings", "type_vocab_size"),
    "embedding_size",
)


def encoder_state(encoder: PretrainedEncoder) -> dict[str, str]:
    """Configuration and tokenizer of an encoder, for :func:`encoder_of_state`."""
    config = {key: value for key, value in encoder.model.config.to_dict().items() if key != "_name_or_path"}
    special = {name: getattr(encoder.tokenizer, name) for name in _SPECIAL}
    return {
        "config": json.dumps(config),
        "tokenizer": encoder.tokenizer.backend_tokenizer.to_str(),
        "special": json.dumps({name: token for name, token in special.items() if token is not None}),
        "eou": encoder.tokens.eou,
    }


def encoder_of_state(state: Mapping[str, str], weights: Mapping[str, Any] | None = None) -> PretrainedEncoder:
    """The encoder with random weights, to load its own into.

    Args:
        state: What :func:`encoder_state` gave.
        weights: The weights that will be loaded, which no size may exceed: building a larger model would take
            the memory before anything is compared. (default: :obj:`None`)

    Raises:
        ValueError: If the state is damaged, or asks for more than the weights can be.
        ImportError: If transformers is not installed.
    """
    transformers = import_transformers()
    from tokenizers import Tokenizer

    try:
        options, special = json.loads(state["config"]), json.loads(state["special"])
        if weights is not None:
            _check_sizes(options, weights)
        config = transformers.AutoConfig.for_model(**options)
        backend = Tokenizer.from_str(state["tokenizer"])
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **special)
        model = transformers.AutoModel.from_config(config, trust_remote_code=False)
        return PretrainedEncoder(model, tokenizer, eou=state["eou"])
    except ImportError:
        raise
    except Exception as error:  # tokenizers raises bare exceptions, transformers any
        raise ValueError(f"no state of an encoder: {' '.join(str(error).split())[:200]}") from None


def _check_sizes(options: Mapping[str, Any], weights: Mapping[str, Any]) -> None:
    sizes = {size for weight in weights.values() for size in getattr(weight, "shape", ())}
    for name in _SIZES:
        value = options.get(name)
        if isinstance(value, int) and value > max(sizes, default=0):
            raise ValueError(f"{name!r} is {value}, which its weights do not have")
    if not isinstance(layers := options.get("num_hidden_layers"), int) or layers > len(weights):
        raise ValueError(f"'num_hidden_layers' is {layers!r}, which its weights do not have")
