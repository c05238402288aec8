"""``python -m graphdep`` and the program ``graphdep``: the command line."""

import sys


def main() -> None:
    """Runs the command line, or says which extra has what it needs."""
    try:
        from graphdep.cli import app
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError):
            raise
        sys.stderr.write(f"graphdep: error: {error}\n")
        sys.exit(2)
    app(prog_name="graphdep")


if __name__ == "__main__":
    main()
