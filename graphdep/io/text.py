"""What texts and JSON from outside may not hold."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn


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


def json_value(line: str, place: str) -> Any:
    """The value of a line of JSON.

    Raises:
        ValueError: If the line is blank or no JSON, an object has a key twice, or a value could not be
            written again: a number like 1e999, which becomes infinite, or a text with half a character. The
            message begins with ``place``.
    """
    if not line.strip():
        raise ValueError(f"{place}: a blank line, where an object must be")
    try:
        value = json.loads(line, object_pairs_hook=unique_keys, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{place}: half a character, which no file can hold (got {line[:80]!r})") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: no JSON: {error} (got {line[:80]!r})") from None
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")
