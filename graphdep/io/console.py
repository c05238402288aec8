"""The console that commands write to."""

from __future__ import annotations

import os
import sys
from typing import IO

from rich.console import Console


class PlainConsole(Console):
    """Rich's console, for whose end of a pipe a command decides what it means.

    Rich itself ends the process with 1, without a word, and in the middle of a training as well.
    """

    def on_broken_pipe(self) -> None:
        """Progress that nobody reads any more is not told, and the work goes on; of results the
        :class:`BrokenPipeError` is raised, after which a command ends as if all had been read.
        """
        if not self.stderr:
            raise
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def plain_console(
    *, stderr: bool = False, quiet: bool = False, file: IO[str] | None = None, width: int | None = None
) -> PlainConsole:
    """A console for which ``[bold]`` and ``:dog:`` in a path, a label or a cell of a table are text.

    Rich's default takes them for markup and emoji: it drops what looks like a tag, and raises an error at
    ``[/]``, when the work may be done and written.

    Args:
        stderr: Whether it writes there. (default: :obj:`False`, stdout)
        quiet: Whether it writes nothing. (default: :obj:`False`)
        file: Where it writes instead. (default: :obj:`None`)
        width: Columns. (default: those of the terminal)
    """
    return PlainConsole(
        stderr=stderr, quiet=quiet, file=file, width=width, markup=False, highlight=False, emoji=False
    )
