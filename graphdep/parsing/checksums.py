"""Digests of model files that stand beside them, so that a file that changed is not taken for the model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from graphdep.io import atomic_path
from graphdep.parsing.digest import file_digest
from graphdep.parsing.errors import ParserUnavailableError

CHECKSUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64}) [ *](\S+)")


def write_checksums(folder: Path, names: Iterable[str]) -> None:
    """Writes ``SHA256SUMS``, as the command sha256sum does, of these files of a folder."""
    lines = [f"{file_digest(folder / name).hex()}  {name}\n" for name in sorted(names)]
    with atomic_path(folder / CHECKSUMS) as path:
        path.write_text("".join(lines), encoding="utf-8")


def check_checksums(files: Iterable[Path]) -> None:
    """Compares model files with the ``SHA256SUMS`` of their folder; without one nothing is known of them.

    Raises:
        ParserUnavailableError: If a file is another one, or is not in the list, or the list has a line that
            is none; names the file.
    """
    for path in files:
        known = _read(path.parent / CHECKSUMS)
        if known is None:
            continue
        if path.name not in known:
            raise ParserUnavailableError(f"{path.parent / CHECKSUMS} has no line of {path.name}")
        if known[path.name] != file_digest(path).hex():
            raise ParserUnavailableError(
                f"{path} is not the file of which {CHECKSUMS} beside it was written: it is damaged, or was "
                "changed"
            )


def _read(path: Path) -> dict[str, str] | None:
    """The digests by name."""
    if not path.exists():
        return None
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise ParserUnavailableError(f"{path}:{number}: no digest and name of a file: {line[:80]!r}")
        found[match[2]] = match[1]
    return found
