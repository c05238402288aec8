"""Writing an encoder for transformers to read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from graphdep.io.files import disk_errors, file_mode, temporary_folder
from graphdep.nn.pretrained.graph_attention import quiet_transformers


def save(folder: str | os.PathLike[str], model: Any, tokenizer: Any) -> None:
    """Writes model and tokenizer to a folder, so that no file is seen half written.

    Raises:
        ValueError: If :obj:`folder` is a file.
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise ValueError(f"{os.fspath(folder)!r} is a file: an encoder is saved to a folder")
    path.mkdir(parents=True, exist_ok=True)
    with temporary_folder("saving", path) as temporary:
        with quiet_transformers(), disk_errors(path):
            model.save_pretrained(temporary)
            tokenizer.save_pretrained(temporary)
        for file in temporary.iterdir():
            if file.is_file():  # safetensors lets nobody but the writer read it
                file.chmod(file_mode(path / file.name))
            file.replace(path / file.name)
