"""What stanza's model files may hold: weights and plain values, and no name of anything outside of them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphdep.parsing.errors import ParserUnavailableError

# What stanza loads by a name in a file's settings: from the Hugging Face hub, where it may bring code of its
# own, or from a path.
_NAMING = (
    *("bert_model", "use_peft", "charlm_forward_file", "charlm_backward_file"),
    *("wordvec_file", "wordvec_pretrain_file"),
)
_PICKLED = 2  # the version of a lemmatizer's dictionary that stanza below 1.15 unpickles


def check_model_file(path: Path) -> None:
    """Reads a model file as stanza does, without running what is in it.

    Raises:
        ParserUnavailableError: If it is no model file, holds anything but weights and plain values, or names
            a transformer, a character model or word vectors to load; the message has the file and the key.
    """
    import torch

    def refused(why: str) -> ParserUnavailableError:
        return ParserUnavailableError(f"the models in {path.parent} do not load: {path.name} {why}")

    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:  # torch's own message advises to read the file all the same
        raise refused(
            "is no model file, or holds more than weights and plain values, which could run code of its own"
        ) from None
    except Exception as error:  # a damaged file makes torch raise anything, from EOFError to KeyError
        raise refused(f"is no model file ({type(error).__name__}: {error})") from None
    if not isinstance(state, dict):
        raise refused("is no model file of stanza")
    if state.get("dicts_version") == _PICKLED:
        raise refused(
            f"has 'dicts_version' {_PICKLED}, a pickled dictionary, which could run code of its own: train "
            "it anew with stanza 1.15 or later"
        )
    for key, value in _named(state):
        shown = value if isinstance(value, str) else type(value).__name__
        raise refused(f"names something to load that is not in it ({key!r}: {shown!r}), which is not done")


def _named(state: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Keys and values that name something outside of the file."""
    model = state.get("model")
    parts = model.get("args") if isinstance(model, dict) else None  # of an ensemble of parsers
    for config in [state.get("config"), *(parts if isinstance(parts, list) else ())]:
        if isinstance(config, dict):
            yield from ((key, config[key]) for key in _NAMING if config.get(key))
    # Lemmatizers that look at the sentence stand on word vectors or a transformer of their own.
    yield from ((key, state[key]) for key in ("contextual", "bert_lora") if state.get(key))
