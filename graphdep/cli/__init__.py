"""The command line: ``graphdep parse | train | evaluate | generate | ablate | compare | embed | draw |
explore | human-eval | demo``.
"""

from graphdep.io.extras import check_extra as _check_extra

_check_extra("the command line", "train")

from graphdep.cli.app import app  # noqa: E402

__all__ = ["app"]
