"""The console for the output of commands."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Container, Sequence
from typing import IO, Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table


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


def fitting_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str,
    width: int,
    drop: Sequence[str] = (),
    words: Container[str] = (),
) -> Table:
    """A table that fits into ``width`` columns without breaking the names of rows or cutting numbers.

    If it is too wide, headers are broken, then deviations and intervals go below their numbers, then the
    columns ``drop`` are left out one by one, and listed in the caption. Cells of ``words`` may be broken.
    """
    broken = [name.replace("_", " ").replace(" ", "\n") for name in header]
    stacked = [[re.sub(r" (?=\[|±)", "\n", cell) for cell in row] for row in rows]
    drop = [name for name in drop if name in header]
    layouts = [(header, rows, 0), (broken, rows, 0), *((broken, stacked, n) for n in range(len(drop) + 1))]
    for names, cells, count in layouts:
        caption = f"not shown, for lack of width: {', '.join(drop[:count])}" if count else None
        table = Table(title=title, box=SIMPLE, caption=caption)
        kept = [place for place, name in enumerate(header) if name not in drop[:count]]
        for place in kept:
            own: dict[str, Any] = {"max_width": 12} if header[place] in words else {"no_wrap": True}
            own["justify"] = "left" if place == 0 or header[place] in words else "right"
            table.add_column(names[place], overflow="fold", **own)
        for row in cells:
            table.add_row(*(row[place] for place in kept))
        if plain_console(width=1000).measure(table).maximum <= width:
            break
    return table
