"""The console for the output of commands."""

from __future__ import annotations

import os
import sys
from typing import IO

from rich.console import Console


class PlainConsole(Console):
    """Rich's console, with broken pipes left to the command.

    Rich itself silently ends the process with status 1, even in the middle of a training.
    """

    def on_broken_pipe(self) -> None:
        """Ignores a broken pipe for progress, so that the work goes on; for results raises
        :class:`BrokenPipeError`, after which a command ends normally.
        """
        if not self.stderr:
            raise
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def plain_console(
    *, stderr: bool = False, quiet: bool = False, file: IO[str] | None = None, width: int | None = None
) -> PlainConsole:
    """A console that prints ``[bold]`` and ``:dog:`` in paths, labels and table cells as plain text.

    By default Rich parses them as markup and emoji: it drops apparent tags, and raises an error at ``[/]``,
    perhaps after the work is done.

    Args:
        stderr: Write to stderr instead of stdout. (default: :obj:`False`)
        quiet: Write nothing. (default: :obj:`False`)
        file: Write to this file instead. (default: :obj:`None`)
        width: Number of columns. (default: that of the terminal)
    """
    return PlainConsole(
        stderr=stderr, quiet=quiet, file=file, width=width, markup=False, highlight=False, emoji=False
    )
