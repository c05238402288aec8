"""What all loaders of pretrained parts share."""

from __future__ import annotations

import pickle
from typing import Any

from graphdep.nn.pretrained.graph_attention import quiet_transformers


def load_part(kind: Any, name: str, what: str, **options: Any) -> Any:
    """``kind.from_pretrained`` with errors that say what is missing where."""
    from safetensors import SafetensorError  # transformers has it

    try:
        with quiet_transformers():
            return kind.from_pretrained(name, trust_remote_code=False, **options)
    except (OSError, ValueError, RuntimeError, pickle.UnpicklingError, SafetensorError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
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
