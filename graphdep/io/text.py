"""What texts and JSON from outside may not hold."""

from __future__ import annotations

from collections import Counter
from typing import Any


def has_half_character(text: str) -> bool:
    """Whether a text has half of a surrogate pair, which JSON can hold and UTF-8 cannot."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An ``object_pairs_hook`` of :func:`json.loads`: a key that is there twice would lose a value.

    Raises:
        ValueError: If one is; the message has it.
    """
    value = dict(pairs)
    if len(value) < len(pairs):
        key, count = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"the key {key!r} is there {count} times")
    return value
