"""Cutting a huge text into pieces that a tokenizer can take."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MAX_PIECE = 10_000


def text_pieces(text: str, max_characters: int = _MAX_PIECE) -> Iterator[tuple[int, str]]:
    """Yields ``(offset, piece)`` for the parts of ``text`` that are not blank.

    A text that fits is one piece. Else it is cut behind the last blank line that fits, or the last line
    break, or the last white space, and inside a word only if there is none.

    Args:
        text: The text.
        max_characters: The longest piece. (default: :obj:`10_000`)
    """
    start = 0
    while start < len(text):
        stop = _cut(text, start, max_characters)
        piece = text[start:stop]
        if not piece.isspace():
            yield start, piece
        start = stop


def _cut(text: str, start: int, max_characters: int) -> int:
    if len(text) - start <= max_characters:
        return len(text)
    window = text[start : start + max_characters]
    for break_ in (r"\n\s*\n", r"\n", r"\s"):
        matches = [match.end() for match in re.finditer(break_, window)]
        if matches:
            return start + matches[-1]
    return start + max_characters
