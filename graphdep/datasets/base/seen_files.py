"""Files of a folder that a person has put there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def seen_files(folder: Path, pattern: str) -> list[Path]:
    """What matches below a folder, in order; not what starts with a dot, as a file does that another process
    is writing at this moment (:func:`graphdep.io.atomic_path`) and what editors and systems leave there.

    Args:
        folder: The folder.
        pattern: As of :meth:`pathlib.Path.glob`.
    """
    found: Iterator[Path] = folder.glob(pattern)
    return sorted(path for path in found if not path.name.startswith("."))
