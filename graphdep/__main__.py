"""``python -m graphdep`` and the program ``graphdep``: the command line."""

import contextlib
import io
import os
import sys


def main() -> None:
    """Runs the command line; for the tab key, an error completes nothing."""
    if not os.environ.get("_GRAPHDEP_COMPLETE", "").startswith("complete"):
        _run()
        return
    with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
        _run()


def _run() -> None:
    """Runs the command line, or says which extra has what it needs."""
    try:
        from graphdep.cli import app
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError):
            raise
        sys.stderr.write(f"graphdep: error: {error}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.stderr.write("graphdep: interrupted\n")
        sys.exit(130)
    app(prog_name="graphdep")


if __name__ == "__main__":
    main()
