"""Files of JSON lines: what is asked of a model, and what it answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphdep.cli.files import read_lines
from graphdep.io.files import json_value

if TYPE_CHECKING:
    from graphdep.parsing.parser import WordLimit

# What a text of each list is called.
_WHAT = {"context": "turn", "candidates": "candidate"}


def read_rows(source: str, keys: Sequence[str], limit: WordLimit) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines, each with a list of texts under every one of ``keys``.

    Raises:
        ValueError: If there is no line, or one is wrong or has a text that is longer than :obj:`limit`;
            names the file and the line.
        OSError: If the file cannot be read.
    """
    lines = enumerate(read_lines(source), start=1)
    return [_row(line, f"{source}:{number}", keys, limit) for number, line in lines]


def write_rows(output: Path | None, rows: Sequence[dict[str, Any]]) -> None:
    """Writes JSON lines to a file, whole or not at all, or to stdout."""
    text = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    if output is None:
        sys.stdout.write(text)
        return
    from graphdep.io import atomic_path

    with atomic_path(output) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _row(line: str, place: str, keys: Sequence[str], limit: WordLimit) -> dict[str, Any]:
    row = json_value(line, place)
    for key in keys:
        if not isinstance(row, dict) or key not in row:
            raise ValueError(f"{place}: no object with {key!r} (got {line[:80]!r})")
        _check_texts(row[key], key, place)
        for number, text in enumerate(row[key]):
            limit.check(text, f"{place}: '{key}[{number}]'")
    return row


def _check_texts(texts: Any, key: str, place: str) -> None:
    if not isinstance(texts, list) or not texts:
        raise ValueError(f"{place}: {key!r} must be a list of at least one string (got {repr(texts)[:80]})")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"{place}: '{key}[{number}]' must be a string (got {repr(text)[:80]})")
        if not text.strip():
            raise ValueError(f"{place}: '{key}[{number}]' is blank: a {_WHAT[key]} has at least one word")
