"""Packages of the extras, asked for before the work that needs them."""

from __future__ import annotations

from importlib.util import find_spec


def check_transformers() -> None:
    """Raises :class:`ImportError`, which says how to get it, if transformers is not installed."""
    if find_spec("transformers") is None:
        raise ImportError("pretrained encoders need transformers: install graphdep[pretrained]")


LOGGERS = ("none", "tensorboard", "wandb")
"""Where the values of a run can go, besides its folder."""


def check_logger(name: str) -> None:
    """Finds out whether there is a logger of that name.

    Raises:
        ValueError: If it is none of :data:`LOGGERS`.
        ImportError: If its package is not installed; says how to get it.
    """
    if name not in LOGGERS:
        raise ValueError(f"'logger' must be one of {', '.join(LOGGERS)} (got {name!r})")
    if name != "none" and find_spec(name) is None:
        raise ImportError(f"the logger {name!r} needs its package: pip install {name}")
