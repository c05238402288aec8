"""Packages of the extras, asked for before the work that needs them."""

from __future__ import annotations

from importlib.util import find_spec


def check_transformers() -> None:
    """Raises :class:`ImportError`, which says how to get it, if transformers is not installed."""
    if find_spec("transformers") is None:
        raise ImportError("pretrained encoders need transformers: install graphdep[pretrained]")
