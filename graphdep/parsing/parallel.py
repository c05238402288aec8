"""Parsing in several processes; the results are those of one."""

from __future__ import annotations

import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Protocol

from graphdep.io.limits import check_whole
from graphdep.io.process import end_with_parent
from graphdep.parsing.parser import AroundParser, Chunk, Parsed, Parser


class _Future(Protocol):
    def done(self) -> bool: ...

    def result(self) -> list[Parsed]: ...


def in_order(
    parts: Iterable[Chunk], submit: Callable[[Chunk], _Future], ahead: Callable[[], int]
) -> Iterator[tuple[Chunk, list[Parsed]]]:
    """Hands out chunks and gives each with its parses. No more are taken from :obj:`parts` than may be under
    way, be they parsed already: the first of them is waited for, so that memory is bounded.

    Args:
        parts: The chunks. Of one without an input nothing is handed out.
        submit: Hands out a chunk.
        ahead: How many may be under way; asked for each.
    """
    waiting: deque[tuple[Chunk, _Future | None]] = deque()
    for chunk in parts:
        waiting.append((chunk, submit(chunk) if chunk else None))
        most = ahead()
        while waiting and (len(waiting) >= most or _is_done(waiting[0][1])):
            yield _result(*waiting.popleft())
    while waiting:
        yield _result(*waiting.popleft())


def _is_done(future: _Future | None) -> bool:
    return future is None or future.done()


def _result(chunk: Chunk, future: _Future | None) -> tuple[Chunk, list[Parsed]]:
    return chunk, [] if future is None else future.result()


# Chunks of each process: what it works on, what it goes on with, what is parsed and waits for one before it.
_AHEAD = 4


class ParallelParser(AroundParser):
    """Hands the chunks of a call to processes, each with a copy of another parser.

    Chunks, and so results, are the same as with one process. Only this process writes to a cache
    (:class:`CachedParser` around it), a whole chunk at a time, so that nothing is half there if one of them
    dies. A process takes seconds to start and holds the models once more (the bundled ones: 0.5 GB), so that
    inputs which are one chunk (256 texts, or 100,000 characters) are parsed here. Each process has at most
    four chunks under way, so that texts may be a stream (:meth:`Parser.iter_parse`).

    The processes are started afresh (``spawn``): a script that makes this parser has its work below
    ``if __name__ == "__main__":``, as for the workers of a ``DataLoader``.

    Args:
        parser: The parser; each process gets a copy.
        workers: Number of processes; more than there are cores gain nothing.

    Raises:
        ValueError: If :obj:`workers` is below 1, or the parser cannot be copied to another process.
        RuntimeError: Where texts are parsed, if one of the processes is killed.

    Example:
        >>> from graphdep.parsing import ParallelParser, resolve_parser
        >>> parser = ParallelParser(resolve_parser("chain"), 2)
        >>> [[sentence]] = parser.parse(["She sings ."])
        >>> sentence.head
        [0, 1, 2]
    """

    def __init__(self, parser: Parser, workers: int) -> None:
        super().__init__(parser)
        check_whole("workers", workers)
        self.workers = workers
        self._pickled()

    def parse_chunks(self, parts: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Parsed]]]:
        """Parses chunks at the same time, and gives them in order."""
        parts = iter(parts)
        first = list(islice(parts, 2))
        if self.workers < 2 or len(first) < 2:
            yield from self.parser.parse_chunks(chain(first, parts))
            return
        others = {*active_children()}
        pool = ProcessPoolExecutor(self.workers, get_context("spawn"), _start, (self._pickled(),))
        try:
            ahead = self.workers * _AHEAD
            yield from in_order(chain(first, parts), lambda chunk: pool.submit(_parse, chunk), lambda: ahead)
        except BrokenProcessPool as error:
            raise RuntimeError(
                f"one of {self.workers} parsing processes was killed, perhaps as there was too little memory "
                f"for so many{_why_none_starts()}; chunks that are done are in the cache, if there is one"
            ) from error
        except BaseException:  # those that are in the middle of a chunk, too
            for process in {*active_children()} - others:
                process.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parser!r}, {self.workers})"


def _why_none_starts() -> str:
    """That this program is no file, which processes that are started afresh would run."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main is None or Path(main).exists():
        return ""
    return f", or as this program is no file that they could be started from ({main}): save it as one"


# The parser of a process that _start has made ready.
_own: list[Parser] = []


def _start(parser: bytes) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for this one ends it
    end_with_parent()
    _own.append(pickle.loads(parser))


def _parse(chunk: Chunk) -> list[Parsed]:
    return _own[-1].parse_items(chunk)
