"""Cutting a huge text into pieces that a tokenizer can take."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MAX_PIECE = 10_000
# Stanza looks for URLs and addresses with patterns whose time grows with the square of such a run.
_MAX_RUN = 2_000
_LONG_RUN = re.compile(rf"[!-~]{{{_MAX_RUN + 1}}}")
_BREAKS = tuple(map(re.compile, (r"\n\s*\n", r"\n", r"\s")))


def text_pieces(text: str, max_characters: int = _MAX_PIECE) -> Iterator[tuple[int, str]]:
    """Yields ``(offset, piece)`` for the parts of ``text`` that are not blank.

    A text that fits is one piece. Else it is cut behind the last blank line that fits, or the last line
    break, or the last white space, and inside a word only if there is none. Words of more than 2,000 ASCII
    characters are cut in any case.

    Args:
        text: The text.
        max_characters: The longest piece. (default: :obj:`10_000`)
    """
    start = 0
    while start < len(text):
        stop = _cut(text, start, min(start + max_characters, len(text)))
        piece = text[start:stop]
        if not piece.isspace():
            yield start, piece
        start = stop


def _cut(text: str, start: int, stop: int) -> int:
    if run := _LONG_RUN.search(text, start, stop):
        return run.start() if run.start() > start else start + _MAX_RUN
    if stop == len(text):
        return stop
    for pattern in _BREAKS:
        ends = [match.end() for match in pattern.finditer(text, start, stop)]
        if ends:
            return ends[-1]
    return stop
