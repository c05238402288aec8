"""Responses of systems to the same contexts, read from JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from graphdep.human_eval.errors import line_error
from graphdep.io.text import has_half_character, unique_keys

Path = str | os.PathLike[str]


class Reply(NamedTuple):
    """A response, and the turns before it."""

    context: list[str]
    response: str


def read_replies(systems: Mapping[str, Path]) -> dict[str, list[Reply]]:
    """The responses of all systems, in the order of the files.

    Args:
        systems: Files by the name of the system, with lines ``{"context": ["...", ...], "response": "..."}``;
            what else a line has is not looked at.

    Raises:
        ValueError: If there is no system, one has no name, a line is damaged, or a file has other contexts
            than the first one; names the file and the line.
        OSError: If a file cannot be read.
    """
    if not systems or not all(name.strip() for name in systems):
        raise ValueError(f"'systems' must be files by the names of their systems (got {dict(systems)})")
    replies = {name: _read(path) for name, path in systems.items()}
    first = next(iter(systems))
    for name in systems:
        _check_contexts((systems[first], replies[first]), (systems[name], replies[name]))
    return replies


def _read(path: Path) -> list[Reply]:
    with open(path, "rb") as file:
        lines = file.read().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    if not lines:
        raise line_error(path, 1, "the file is empty")
    return [_reply(path, number, line) for number, line in enumerate(lines, start=1)]


def _reply(path: Path, number: int, line: bytes) -> Reply:
    try:
        value: Any = json.loads(line.decode("utf-8"), object_pairs_hook=unique_keys)
    except UnicodeDecodeError as error:
        raise line_error(path, number, f"not UTF-8 at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise line_error(path, number, f"no JSON: {error}") from None
    if not isinstance(value, dict) or not {"context", "response"} <= value.keys():
        raise line_error(path, number, "no object with 'context' and 'response'", value)
    context, response = value["context"], value["response"]
    if not isinstance(context, list) or not context or not all(isinstance(turn, str) for turn in context):
        raise line_error(path, number, "'context' must be a list of at least one string", context)
    if not isinstance(response, str):
        raise line_error(path, number, "'response' must be a string", response)
    for text in (*context, response):
        if has_half_character(text):
            raise line_error(path, number, "half a character, which no file can hold", text)
    return Reply(context, response)


def _check_contexts(first: tuple[Path, list[Reply]], other: tuple[Path, list[Reply]]) -> None:
    (path, replies), (other_path, other_replies) = first, other
    for number, (a, b) in enumerate(zip(replies, other_replies), start=1):
        if a.context != b.context:
            raise line_error(other_path, number, f"another context than in {os.fspath(path)}", b.context)
    sizes = len(other_replies), len(replies)
    if sizes[0] != sizes[1]:
        number = min(sizes) + 1
        raise line_error(other_path, number, f"{sizes[0]} responses, but {os.fspath(path)} has {sizes[1]}")
