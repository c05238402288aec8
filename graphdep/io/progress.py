"""Progress of long work on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from graphdep.io.extras import is_installed

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")

# Seconds before the first line, and between two lines.
_FIRST, _NEXT = 2.0, 10.0
_showing: ContextVar[tuple[Console | None, str]] = ContextVar("showing", default=(None, ""))


@contextmanager
def showing_progress(console: Console, title: str = "") -> Iterator[None]:
    """A context in which progress goes to a console instead of stderr; to a quiet one for none.

    Args:
        console: The console.
        title: The beginning of each line. (default: none)
    """
    token = _showing.set((console, title))
    try:
        yield
    finally:
        _showing.reset(token)


def say(text: str) -> None:
    """Prints a line about the work."""
    console, title = _showing.get()
    line = f"{title}  {text}" if title else text
    if console is None:  # rich may not be installed
        print(line, file=sys.stderr, flush=True)
    else:
        console.print(line, soft_wrap=True, markup=False, highlight=False, emoji=False)


class Progress:
    """Progress of one work: a bar on a terminal, removed at the end, and else a line every ten seconds.

    Args:
        what: The work, as in "reading texts".
        total: Number of its parts; :obj:`None` if it is unknown. (default: :obj:`None`)
        shown: Whether to show anything. (default: :obj:`True`)
        at_once: Show the bar from the beginning. (default: :obj:`False`)
        wait: Seconds before anything else is shown. (default: :obj:`2.0`)

    Example:
        >>> from graphdep.io.progress import Progress
        >>> with Progress("spelling", total=3) as progress:
        ...     progress.advance(3)
    """

    _latest: Progress | None = None  # a terminal shows one bar

    def __init__(
        self,
        what: str,
        total: int | None = None,
        *,
        shown: bool = True,
        at_once: bool = False,
        wait: float = _FIRST,
    ) -> None:
        self.what, self.total, self.done = what, total, 0
        console, self._title = _showing.get()
        if console is None and shown and sys.stderr.isatty() and is_installed("rich"):
            from graphdep.io.console import plain_console

            console = plain_console(stderr=True)
        self._shown = shown and not (console is not None and console.quiet)
        self._terminal = console if console is not None and console.is_terminal else None
        self._due = time.monotonic() + wait
        self._bar: Any = None
        if at_once and self._shown and self._terminal is not None:
            self._open()

    def advance(self, count: int = 1) -> None:
        """Counts parts that are done."""
        self.done += count
        if self._bar is not None:
            self._bar.update(0, completed=self.done)
        elif self._shown and self.done != self.total and time.monotonic() > self._due:
            self._due = time.monotonic() + _NEXT
            if self._terminal is not None:
                self._open()
            else:
                say(f"{self.what}: " + (f"{self.done / self.total:.0%}" if self.total else f"{self.done:,}"))

    def _open(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        if Progress._latest is not None:
            Progress._latest.close()
        about = TextColumn("{task.description}", markup=False)
        columns = (about, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Bar(*columns, console=self._terminal, transient=True)
        self._bar.add_task(f"{self._title} {self.what}".strip(), total=self.total, completed=self.done)
        self._bar.start()
        Progress._latest = self

    def close(self) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar, Progress._latest = None, None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def with_progress(
    items: Collection[T], what: str, *, shown: bool = True, at_once: bool = False
) -> Iterator[T]:
    """Iterates over the items, parts of the work about equally large, with :class:`Progress`.

    Example:
        >>> from graphdep.io.progress import with_progress
        >>> [*with_progress("abc", "spelling")]
        ['a', 'b', 'c']
    """
    with Progress(what, len(items), shown=shown, at_once=at_once) as progress:
        for item in items:
            yield item
            progress.advance()
