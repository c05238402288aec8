"""Vocabularies as JSON files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from graphdep.io.atomic import atomic_path

T = TypeVar("T")


def save_vocab_file(state: dict, path: str | os.PathLike[str]) -> None:
    """Writes a vocabulary, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(state, ensure_ascii=False, indent=1), encoding="utf-8")


def load_vocab_file(path: str | os.PathLike[str], keys: dict[str, type], make: Callable[[dict], T]) -> T:
    """What ``make`` gives for the JSON object in a file.

    Args:
        path: The file.
        keys: The keys that the object must have, with the types of their values; a list is one of strings.
        make: Takes the object; raises :class:`ValueError` where that is no vocabulary.

    Raises:
        ValueError: If the file has no such object; names the file.
        OSError: If it cannot be read.
    """
    try:
        state = json.loads(Path(path).read_text(encoding="utf-8"))
        for key, kind in keys.items():
            if not isinstance(state, dict) or not isinstance(state.get(key), kind):
                raise ValueError(f"no {kind.__name__} under {key!r}")
            if kind is list and not all(isinstance(word, str) for word in state[key]):
                raise ValueError(f"{key!r} must be a list of strings")
        return make(state)
    except (ValueError, RecursionError) as error:  # bad UTF-8 and bad JSON are ValueErrors, too
        raise ValueError(f"{path}: not a vocabulary file ({error})") from None
