"""Keys of objects that are not read because they are mistyped."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from graphdep.datasets.base.raw import row_error
from graphdep.datasets.base.text_rows import TextRow

# From 0 to 1: "marks", "label" and "Words" are near to a key, "keywords", "lang" and "id" are not.
_NEAR = 0.8


def check_keys(row: TextRow, read: Sequence[str], others: Sequence[str] = ()) -> None:
    """Raises :class:`ValueError`, with file and line, if an object has a key that is nearly one of those that
    are read, and not that one: it would be left out, and nothing would say so. Any other key is the user's.

    Args:
        row: The object.
        read: The keys that are read.
        others: Keys that are known, and not read here. (default: none)

    Example:
        >>> from pathlib import Path
        >>> from graphdep.datasets.base.row_keys import check_keys
        >>> from graphdep.datasets.base.text_rows import TextRow
        >>> path, words = Path("a.jsonl"), ["It", "rains"]
        >>> check_keys(TextRow(path, 1, {"words": words, "id": 7}), ["words", "mark"])
        >>> check_keys(TextRow(path, 1, {"words": words, "marks": 1}), ["words", "mark"])
        Traceback (most recent call last):
            ...
        ValueError: a.jsonl:1: unknown key 'marks' (did you mean 'mark'?); those that are read are words, mark
    """
    missing = [key for key in read if key not in row.values]
    for key in row.values:
        if key in (*read, *others):
            continue
        if near := difflib.get_close_matches(key.lower(), missing, n=1, cutoff=_NEAR):
            keys = ", ".join(read)
            message = f"unknown key {key!r} (did you mean {near[0]!r}?); those that are read are {keys}"
            raise row_error(row.path, row.line, message)
