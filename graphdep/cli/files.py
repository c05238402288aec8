"""Files that a command reads and writes."""

from __future__ import annotations

import codecs
import os
import sys
from pathlib import Path

from graphdep.io.atomic import check_plain_file


def read_lines(text: str | None, source: str | None) -> list[str]:
    """The text, or the lines of the file, empty ones included; a line break at the end starts no new line.

    Raises:
        ValueError: If not exactly one of the two is given, the file has no line or is not UTF-8.
        OSError: If the file cannot be read.
    """
    if (text is None) == (source is None):
        raise ValueError("give either a TEXT or --input FILE")
    if text is not None:
        return [text]
    assert source is not None
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


def check_output(output: Path, checkpoint: Path, source: str | None) -> None:
    """Finds out before the work whether the file can be written, and that it is none of those that are read.

    Raises:
        ValueError: If it is one of them, no plain file, or below something that is no folder to write in.
    """
    for name, read in (("--checkpoint", checkpoint), ("--input", source)):
        if read is None or read == "-" or not (output.exists() and os.path.exists(read)):
            continue
        if os.path.samefile(output, read):
            raise ValueError(f"'output' is the file of {name}, which would be lost (got {str(output)!r})")
    if output.is_dir():
        raise ValueError(f"'output' must be a file (got the folder {str(output)!r})")
    check_plain_file(output)
    folder = next(parent for parent in output.parents if parent.exists())
    if not folder.is_dir():
        raise ValueError(f"'output' cannot be written: {str(folder)!r} is no folder (got {str(output)!r})")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(
            f"'output' cannot be written: no permission to write in {str(folder)!r} (got {str(output)!r})"
        )
