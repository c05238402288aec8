"""The command line: ``graphdep parse | train | evaluate | generate | ablate | compare | embed | human-eval |
demo``.
"""

from graphdep.cli.app import app

__all__ = ["app"]
