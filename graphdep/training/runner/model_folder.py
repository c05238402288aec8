"""A trained model from a folder of files that hold no code, as the Hugging Face hub has them."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from graphdep.io.files import MODEL_CONFIG, MODEL_WEIGHTS

FORMAT = "graphdep model 1"
CARD = "README.md"
PARTS = {"vocab": "vocab.json", "relations": "relations.json", "pretrained": "encoder.json"}
"""Parts of a checkpoint's state that are files of their own."""
# Vocabularies of words and pieces are some megabytes; a file of gigabytes is none.
_LARGEST = 2**28


def read_model_folder(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What :func:`~graphdep.training.runner.write_model_folder.write_model_folder` wrote, as the content of a
    checkpoint; no code is run.

    Raises:
        ValueError: If it is not graphdep's, of another version, or a file is missing or not what was written.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    place = Path(folder)
    if not (place / MODEL_CONFIG).is_file():
        raise ValueError(f"{place}: damaged: no file {MODEL_CONFIG}")
    said = _read(place / MODEL_CONFIG)
    if said.get("library_name") != "graphdep":
        raise ValueError(f"{place / MODEL_CONFIG}: not a model of graphdep")
    if said.get("format") != FORMAT:
        raise ValueError(f"{place}: a model of another version (got {str(said.get('format'))[:40]!r})")
    files, run = said.get("files"), said.get("run")
    known = {MODEL_WEIGHTS, *PARTS.values()}
    if not isinstance(files, dict) or not isinstance(run, dict) or not {MODEL_WEIGHTS} <= {*files} <= known:
        raise ValueError(f"{place / MODEL_CONFIG}: damaged: 'files' or 'run' is not what it must be")
    for name, digest in files.items():
        if not (place / name).is_file():
            raise ValueError(f"{place}: damaged: no file {name}")
        if digest_of(place / name) != digest:
            raise ValueError(f"{place / name}: damaged: not what was written with {MODEL_CONFIG}")
    parts = {part: _read(place / name) if name in files else None for part, name in PARTS.items()}
    try:
        weights = load_file(place / MODEL_WEIGHTS)
    except (SafetensorError, ValueError, OSError) as error:
        raise ValueError(f"{place / MODEL_WEIGHTS}: damaged: {str(error)[:120]}") from None
    return {"graphdep": {**run, **parts}, "state_dict": weights}


def exported_files(folder: Path) -> set[str]:
    """The names of the files in a folder that are still as an export wrote them, by the SHA-256 that its
    ``config.json`` has of each; none where that is no export's.
    """
    try:
        said = _read(folder / MODEL_CONFIG)
    except (OSError, ValueError):
        return set()
    if said.get("library_name") != "graphdep":
        return set()
    parts = [part for part in (said.get("files"), said.get("beside")) if isinstance(part, dict)]
    written = {name: digest for part in parts for name, digest in part.items()}
    kept = {name for name in written if (folder / name).is_file()}
    return {MODEL_CONFIG, *(name for name in kept if digest_of(folder / name) == written[name])}


def _read(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path}: too large (got {path.stat().st_size} bytes)")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: no JSON: {str(error)[:120]}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path}: no object (got {type(value).__name__})")
    return value


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
