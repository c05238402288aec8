"""The list of a prepared folder's files, by which a copy of it is known to be whole."""

from __future__ import annotations

import json
from pathlib import Path

from graphdep.io import atomic_path

LIST = "prepared.json"


def write_list(root: Path) -> int:
    """Writes the sizes of all files below a folder into its :obj:`LIST`, and gives their sum."""
    sizes = {
        path.relative_to(root).as_posix(): path.stat().st_size
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != LIST
    }
    with atomic_path(root / LIST) as temporary:
        temporary.write_text(json.dumps(sizes, indent=1) + "\n", encoding="utf-8")
    return sum(sizes.values())


def check_list(root: Path) -> None:
    """Raises :class:`ValueError`, with its name, if a file of a prepared folder is missing or of another
    size, or if the list is, which is written last.
    """
    if not (root / LIST).exists():
        raise ValueError(
            f"{root} has no {LIST}: it was not prepared to its end (make -C examples/research gpu-prepare)"
        )
    try:
        sizes = json.loads((root / LIST).read_text(encoding="utf-8"))
        wrong = [name for name, size in sizes.items() if not _has(root / name, size)]
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"{root / LIST}: damaged: {error}") from None
    if wrong:
        raise ValueError(
            f"{root / wrong[0]} is missing or cut ({len(wrong)} of {len(sizes)} files are not what was "
            "prepared): copy the folder again"
        )


def _has(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size
