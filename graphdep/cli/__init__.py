"""The command line: ``graphdep parse | train | evaluate | ablate | compare | embed | demo``."""

from graphdep.cli.app import app

__all__ = ["app"]
