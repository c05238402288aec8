"""Parsing in several processes, with the same results as in one."""

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
from graphdep.parsing.parser import Chunk, Parsed, Parser, ParserWrapper


class _Future(Protocol):
    def done(self) -> bool: ...

    def result(self) -> list[Parsed]: ...


def in_order(
    parts: Iterable[Chunk], submit: Callable[[Chunk], _Future], ahead: Callable[[], int]
) -> Iterator[tuple[Chunk, list[Parsed]]]:
    """Submits chunks and yields each with its parses, in order.

    A chunk counts as in progress until its parses are yielded, so memory is bounded.

    Args:
        parts: The chunks; an empty chunk is not submitted.
        submit: Submits a chunk.
        ahead: Returns how many chunks may be in progress; called for each chunk.
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


# Chunks in progress per process: the current one, the next one, and parsed ones that wait for an earlier one.
AHEAD = 4


class ParallelParser(ParserWrapper):
    """Parses the chunks of a call in several processes, each with a copy of a parser.

    Chunks and results are the same as with one process. Only the calling process writes to a cache
    (:class:`CachedParser` around this parser), in whole chunks, so a crash leaves no partial ones. A process
    takes seconds to start and loads the models again (the bundled ones: 0.5 GB); inputs that fit into one
    chunk (256 texts, or 100,000 characters) are therefore parsed in the calling process. At most four chunks
    per process are in progress, so the texts may be a stream (:meth:`Parser.iter_parse`).

    The start method is ``spawn``: a script must guard its main code with ``if __name__ == "__main__":``, as
    for the workers of a ``DataLoader``.

    Args:
        parser: The parser; each process gets a copy.
        workers: Number of processes; more than the number of cores gain nothing.

    Raises:
        ValueError: If :obj:`workers` is below 1, or the parser cannot be pickled.
        RuntimeError: During parsing, if one of the processes is killed.

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
        """Parses chunks in parallel and yields them in order."""
        parts = iter(parts)
        first = list(islice(parts, 2))
        if self.workers < 2 or len(first) < 2:
            yield from self.parser.parse_chunks(chain(first, parts))
            return
        others = {*active_children()}
        pool = ProcessPoolExecutor(self.workers, get_context("spawn"), _start, (self._pickled(),))
        try:
            ahead = self.workers * AHEAD
            yield from in_order(chain(first, parts), lambda chunk: pool.submit(_parse, chunk), lambda: ahead)
        except BrokenProcessPool as error:
            raise RuntimeError(
                f"one of {self.workers} parsing processes was killed, perhaps because they need too much "
                f"memory{_why_none_starts()}; finished chunks are in the cache, if there is one"
            ) from error
        except BaseException:  # do not wait for the chunks in progress
            for process in {*active_children()} - others:
                process.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parser!r}, {self.workers})"


def _why_none_starts() -> str:
    """A hint if this program is not a file that a spawned process could run."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main is None or Path(main).exists():
        return ""
    return f", or because this program is not in a file ({main}): save it in one"


# The parser of this process, set by _start.
_own: list[Parser] = []


def _start(parser: bytes) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent terminates this process
    end_with_parent()
    _own.append(pickle.loads(parser))


def _parse(chunk: Chunk) -> list[Parsed]:
    return _own[-1].parse_items(chunk)
