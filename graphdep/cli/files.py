"""Files that a command reads and writes."""

from __future__ import annotations

import codecs
import os
import sys
from pathlib import Path

from graphdep.io.files import check_plain_file

_SUFFIXES = (".txt", ".text", ".md", ".csv", ".tsv", ".jsonl", ".conllu", ".conll", ".spacy", ".parquet")


def texts_or_file(texts: list[str] | None, source: str | None) -> tuple[list[str], str | None]:
    """The texts that are given, or the name of the file that they are in; a single TEXT may name it, too.

    Raises:
        ValueError: If not exactly one of the two is given.
        FileNotFoundError: If what looks like the name of a file is none.
    """
    if bool(texts) == (source is not None):
        raise ValueError("give either a TEXT or --input FILE")
    if source is not None or not texts or len(texts) > 1:
        return texts or [], source
    (text,) = texts
    if text == "-" or _is_file(text):
        return [], text
    if " " not in text and Path(text).suffix.lower() in _SUFFIXES:
        raise FileNotFoundError(f"no file {text!r} (a text would have spaces)")
    return texts, None


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a long text is no possible file name
        return False


def is_table(source: str) -> bool:
    """Whether a file has columns, and not a text a line."""
    return Path(source).suffix.lower() in (".csv", ".tsv", ".jsonl", ".parquet")


def read_lines(source: str) -> list[str]:
    """The lines of a file or of stdin, empty ones included; a line break at the end starts no new line.

    Raises:
        ValueError: If it has no line or is not UTF-8.
        OSError: If it cannot be read.
    """
    content = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        before = content[: error.start].split(b"\n")
        raise ValueError(f"{source}:{len(before)}: not UTF-8 at byte {len(before[-1])}") from None
    if lines[-1] == "":
        lines.pop()
    if not lines:
        raise ValueError(f"{source}: no line, and so no text")
    return [line.removesuffix("\r") for line in lines]


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two paths are those of one file, which need not be there yet."""
    if os.path.exists(one) and os.path.exists(other):
        return os.path.samefile(one, other)
    return os.path.realpath(one) == os.path.realpath(other)


def check_output(output: Path, checkpoint: Path, source: str | None) -> None:
    """Finds out before the work whether the file can be written, and that it is none of those that are read.

    Raises:
        ValueError: If it is one of them, no plain file, or below something that is no folder to write in.
    """
    for name, read in (("--checkpoint", checkpoint), ("--input", source)):
        if read is not None and read != "-" and same_file(output, read):
            raise ValueError(f"'output' is the file of {name}, which would be lost (got {str(output)!r})")
    if output.is_dir():
        raise ValueError(f"'output' must be a file (got the folder {str(output)!r})")
    check_plain_file(output)
    folder = next(parent for parent in output.parents if parent.exists())
    if output.is_absolute() and folder == Path(folder.anchor) and output.parent != folder:
        raise ValueError(
            f"'output' cannot be written: no folder {str(output.parent)!r} (got {str(output)!r})"
        )
    if not folder.is_dir():
        raise ValueError(f"'output' cannot be written: {str(folder)!r} is no folder (got {str(output)!r})")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(
            f"'output' cannot be written: no permission to write in {str(folder)!r} (got {str(output)!r})"
        )
