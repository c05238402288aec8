"""What all loaders of pretrained parts share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from graphdep.io.limits import LARGEST_COUNT, LIMITS, check_encoder_name
from graphdep.nn.pretrained.graph_attention import import_transformers, quiet_transformers


def load_part(kind: Any, name: str, what: str, **options: Any) -> Any:
    """``kind.from_pretrained`` with errors that say what is missing where."""
    check_encoder_name(name)
    with loading(name, what):
        return kind.from_pretrained(name, trust_remote_code=False, **options)


def load_config(name: str) -> Any:
    """The configuration of an encoder.

    A file may also choose the attention, even code from the hub: build the model with
    ``attn_implementation="eager"``, which overrules that.

    Raises:
        ValueError: If there is none, it counts more of something than any encoder has, or it is of quantised
            weights, which a loader reads that it names.
    """
    config = load_part(import_transformers().AutoConfig, name, "encoder")
    for part in (config, config.get_text_config()):
        try:
            check_counts(part.to_dict())
        except ValueError as error:
            raise ValueError(f"{name!r} has no encoder of a size that can be built ({error})") from None
        if getattr(part, "quantization_config", None) is not None:
            raise ValueError(f"{name!r} has quantised weights ('quantization_config'), which are not read")
    return config


def is_count_of_layers(name: str) -> bool:
    """Whether a key of a configuration counts layers or what has some of them."""
    return name.endswith(("layers", "groups", "group_num", "blocks"))


def check_counts(options: Mapping[str, Any]) -> None:
    """Raises :class:`ValueError` if building an encoder of these options would take any memory or time."""
    for name, value in options.items():
        most = LIMITS["num_layers"][1] if is_count_of_layers(name) else LARGEST_COUNT
        if isinstance(value, int) and abs(value) > most:
            raise ValueError(f"{name!r} is {value}")


@contextmanager
def loading(name: str, what: str) -> Iterator[None]:
    """Quiet, and with a :class:`ValueError` that names the folder for anything that transformers raises."""
    try:
        with quiet_transformers():
            yield
    except Exception as error:  # damaged files make it raise anything, from KeyError to SafetensorError
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        if isinstance(error, OSError) and not os.path.exists(name):
            raise ValueError(
                f"{name!r} is no local folder, and could not be fetched from the Hugging Face hub ({first}): "
                "give a folder, or see HF_HOME"
            ) from error
        if not isinstance(error, (OSError, ValueError, RuntimeError)):
            first = f"{type(error).__name__}: {first}"
        raise ValueError(f"{name!r} has no {what} that transformers can load ({first})") from error


def set_dropout(config: Any, dropout: float | None) -> None:
    """Sets every dropout probability, whatever a configuration calls them (``hidden_dropout_prob``,
    ``attention_dropout``); :obj:`None` leaves them.
    """
    if dropout is None:
        return
    for key, value in config.to_dict().items():
        if "dropout" in key and isinstance(value, (int, float)) and not isinstance(value, bool):
            setattr(config, key, dropout)


def check_dropout(dropout: float | None) -> None:
    """Raises :class:`ValueError` unless it is a probability or :obj:`None`."""
    if dropout is not None and not 0.0 <= dropout <= 1.0:
        raise ValueError(f"'dropout' must be between 0 and 1 (got {dropout})")
