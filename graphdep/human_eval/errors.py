"""Errors of files that people fill in."""

from __future__ import annotations

import os


def line_error(path: str | os.PathLike[str], line: int, message: str, value: object = None) -> ValueError:
    """The error of a damaged line: ``path:line: message (got value)``."""
    shown = "" if value is None else f" (got {repr(value)[:80]})"
    return ValueError(f"{os.fspath(path)}:{line}: {message}{shown}")
