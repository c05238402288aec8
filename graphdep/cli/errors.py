"""Errors as one line on stderr."""

from __future__ import annotations

import errno
import os
import signal
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from graphdep.cli.ended import ended_as_by_ctrl_c

# Beside the ValueErrors of this package.
_OF_USERS = ("ParserUnavailableError", "TrainingError")


class ErrorGroup(TyperGroup):
    """Commands whose errors are one line on stderr and exit code 2; ``GRAPHDEP_DEBUG=1`` shows the
    traceback. Ctrl-C ends them with 130, SIGTERM with 143 and SIGHUP with 129, as shells count.
    """

    def invoke(self, ctx: Any) -> Any:
        with ended_as_by_ctrl_c() as came:
            try:
                return self._invoke(ctx)
            except KeyboardInterrupt:
                print(
                    "graphdep: interrupted (what is finished is kept; `train` goes on with --resume, "
                    "`ablate`, `needs-structure` and `demo` when they are run again)",
                    file=sys.stderr,
                )
                raise typer.Exit(128 + (came[0] if came else signal.SIGINT)) from None

    def _invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of stdout has gone, as in `graphdep parse ... | head`: nothing is wrong.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except Exception as error:
            if os.environ.get("GRAPHDEP_DEBUG") == "1" or _is_click(error):
                raise
            print(f"graphdep: error: {describe(error)}", file=sys.stderr)
            raise typer.Exit(2) from None


def describe(error: BaseException) -> str:
    """An error in one line; what a user cannot have caused keeps its name and says how to see more."""
    text = " ".join(str(error).split())
    ours = isinstance(error, ValueError) and type(error).__module__.startswith("graphdep.")
    if ours or type(error) is ValueError or type(error).__name__ in _OF_USERS:
        return text
    if type(error) is ImportError and "install" in text:  # an extra that is not there; the text names it
        return text
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename:
        return f"{error.filename}: {error.strerror}: free some there; what is finished is kept"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else text
    return f"{type(error).__name__}: {text[:500]} (GRAPHDEP_DEBUG=1 shows where)"


def _is_click(error: BaseException) -> bool:
    """Click's own, which Typer prints itself: wrong usage, and the exits."""
    return any(kind.__name__ in ("ClickException", "Exit", "Abort") for kind in type(error).__mro__)
