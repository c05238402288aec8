"""Texts of the command line: one that is given, or those of a file, one a line."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from graphdep.io.files import has_half_character

_BLOCK = 2**20


def read_texts(text: str) -> list[str]:
    """The texts of a file, one a line, or the text itself.

    Raises:
        ValueError: If there is no text, it has half a character, or the file is not UTF-8 or no file of text.
        FileNotFoundError: If what looks like the name of a file is none.
    """
    return list(stream_texts(text)[0])


def stream_texts(text: str) -> tuple[Iterator[str], int | None]:
    """:func:`read_texts` text by text, and how many they are; :obj:`None` if they come from a pipe or stdin.

    A file is read twice, so that what is wrong in it is said before its first text is given.
    """
    if text == "-":
        if sys.stdin is None:
            raise ValueError("stdin is closed: name a file")
        return _texts(sys.stdin, text), None
    if not text.strip():
        return _counted(lambda: _texts([], text))
    if _is(Path.is_dir, text):
        raise ValueError(f"{text!r} is a folder: name a file in it")
    if _is(Path.is_fifo, text):  # also <(a command)
        return _texts(_lines(Path(text)), text), None
    if _is(Path.is_file, text):
        return _counted(lambda: _texts(_lines(Path(text)), text))
    if " " not in text and _is(Path.exists, text):
        raise ValueError(f"{text!r} is neither a file nor a pipe")
    if " " not in text and Path(text).suffix in (".txt", ".text", ".md", ".tsv", ".csv", ".conllu"):
        raise FileNotFoundError(f"no file {text!r} (a text would have spaces)")
    return _counted(lambda: _texts([" ".join(text.split())], text))


def _counted(read: Callable[[], Iterator[str]]) -> tuple[Iterator[str], int]:
    return read(), sum(1 for _ in read())


def _texts(lines: Iterable[str], name: str) -> Iterator[str]:
    number = 0
    for line in map(str.strip, lines):
        if not line:
            continue
        number += 1
        if has_half_character(line):
            raise ValueError(f"text {number} has half a character: {line[:80]!r}")
        yield line
    if not number:
        raise ValueError(f"there is no text to parse in {name!r}")


def _is(kind: Callable[[Path], bool], text: str) -> bool:
    try:
        return kind(Path(text))
    except (OSError, ValueError):  # a long text is no possible file name
        return False


def _lines(path: Path) -> Iterator[str]:
    """The lines, also those that end with a carriage return."""
    unfinished: list[str] = []
    with open(path, "rb") as file:
        for piece in _decoded(file, path):
            *lines, rest = piece.split("\n")
            if lines:
                yield "".join((*unfinished, lines[0]))
                yield from lines[1:]
                unfinished = []
            unfinished.append(rest)
    yield "".join(unfinished)


def _decoded(file: BinaryIO, path: Path) -> Iterator[str]:
    """The text of a UTF-8 file, a megabyte at a time, without a byte-order mark; lines end in one way."""
    decoder, ends = codecs.getincrementaldecoder("utf-8")(), io.IncrementalNewlineDecoder(None, True)
    place, block, begun = 0, b"-", False
    while block:
        block = file.read(_BLOCK)
        start = place - len(decoder.getstate()[0])  # bytes of a character that is cut stay with the decoder
        try:
            piece = ends.decode(decoder.decode(block, not block), not block)
        except UnicodeDecodeError as error:
            raise ValueError(f"{path}: not UTF-8 at byte {start + error.start}") from None
        yield piece if begun else piece.removeprefix("\ufeff")
        begun, place = begun or bool(piece), place + len(block)
