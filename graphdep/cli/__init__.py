"""The command line: ``graphdep parse | train | evaluate | generate | ablate | compare | embed | draw |
explore | human-eval | demo``.
"""

from graphdep.cli.app import app

__all__ = ["app"]
