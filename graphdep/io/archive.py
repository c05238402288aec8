"""The files of trained models: that they are there, and the checksums of the zip files that torch writes."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path

BEST = "best.ckpt"
MODEL_CONFIG, MODEL_WEIGHTS = "config.json", "model.safetensors"
"""Files of a folder that a model was saved to."""


def find_checkpoint(path: str | os.PathLike[str]) -> Path:
    """The file of a checkpoint, of a run's folder its ``best.ckpt``, or the folder that a model was saved to.

    Raises:
        FileNotFoundError: If there is none; names the runs of a folder that has several.
    """
    found = Path(path)
    if found.is_file():
        return found
    if not found.is_dir():
        raise FileNotFoundError(f"no checkpoint at {os.fspath(path)}")
    if (found / BEST).is_file():
        return found / BEST
    if (found / MODEL_WEIGHTS).is_file() or (found / MODEL_CONFIG).is_file():
        return found
    runs = sorted(str(best.parent) for best in found.glob(f"*/{BEST}"))
    which = f": name one of the runs {', '.join(runs[:5])}{' ...' * (len(runs) > 5)}" if runs else ""
    raise FileNotFoundError(f"{os.fspath(path)} is a folder without a {BEST}{which}")


def check_archive(path: str | os.PathLike[str]) -> None:
    """Raises :class:`ValueError` if a byte of the file has changed, which torch does not look at."""
    name = os.fspath(path)
    try:
        with zipfile.ZipFile(path) as archive:
            # torch never does: a file of 1 MB could hold hours of work.
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
                raise ValueError("its entries are compressed")
            damaged = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
        raise ValueError(f"{name}: not a checkpoint, or damaged ({str(error)[:120] or error!r})") from None
    if damaged is not None:
        raise ValueError(f"{name}: damaged checkpoint: {damaged} is not what was written")
