"""The command line, ``graphdep COMMAND``."""

from graphdep.io.extras import check_extra as _check_extra

_check_extra("the command line", "train")

from graphdep.cli.app import app  # noqa: E402

__all__ = ["app"]
