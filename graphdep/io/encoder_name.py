"""Names of pretrained encoders, looked at before anything is fetched."""

from __future__ import annotations

import os
import re


def check_encoder_name(name: str) -> None:
    """Finds out what can be no encoder, without a look at the Hugging Face hub.

    Raises:
        ValueError: If it is neither a folder nor a name that the hub can have, or is a placeholder such as
            ``ENCODER``.
    """
    if os.path.exists(name):
        return
    if re.fullmatch(r"[A-Z_]+", name):
        raise ValueError(
            f"'encoder' {name!r} is no folder, and looks like a placeholder: give a folder, or a name on the "
            f'Hugging Face hub such as sentence-transformers/all-MiniLM-L6-v2 (in a shell "${name}")'
        )
    if re.fullmatch(r"(\w[\w.-]*/)?\w[\w.-]*", name, re.ASCII) is None:
        raise ValueError(f"no folder {name!r}")
