"""The error of a run whose folder is taken."""

from __future__ import annotations


class FolderInUseError(ValueError):
    """Another process trains in the folder of a run."""
