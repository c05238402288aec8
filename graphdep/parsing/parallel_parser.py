"""A parser in several processes."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context

from graphdep.parsing.items import Chunk, Item, Words, chunks
from graphdep.parsing.parsed import Parsed
from graphdep.parsing.parser import Parser

# Of each process: what it works on and what it goes on with.
_AHEAD = 2


class ParallelParser(Parser):
    """Hands the chunks of a call to processes, each with a copy of another parser.

    Chunks are those of one process, and so are the results. Only this process writes to a cache
    (:class:`CachedParser` around it), a whole chunk at a time, so that nothing is half there if one of them
    dies. A process takes seconds to start and holds the models once more (the bundled ones: 0.5 GB), so that
    inputs which are one chunk (256 texts, or 100,000 characters) are parsed here.

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
        super().__init__(progress=parser.progress)
        if workers < 1:
            raise ValueError(f"'workers' must be at least 1 (got {workers})")
        self.parser, self.workers = parser, workers
        self.language, self.gives_graphs = parser.language, parser.gives_graphs
        self._pickled()

    @property
    def fingerprint(self) -> str:
        """The parser's fingerprint."""
        return self.parser.fingerprint

    def known(self, items: Sequence[Item]) -> dict[Item, Parsed]:
        """What the parser knows."""
        return self.parser.known(items)

    def parse_chunks(self, items: Sequence[Item]) -> Iterator[tuple[Chunk, list[Parsed]]]:
        """Parses chunk by chunk, and gives each when it is done."""
        parts = list(chunks(items))
        workers = min(self.workers, len(parts))
        if workers < 2:
            yield from self.parser.parse_chunks(items)
            return
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _start, (self._pickled(),))
        try:
            yield from _results(pool, iter(parts), workers * _AHEAD)
        except BrokenProcessPool as error:
            raise RuntimeError(
                f"one of {workers} parsing processes was killed, perhaps as there was too little memory for "
                "so many; chunks that are done are in the cache, if there is one"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses a chunk of texts."""
        return self.parser.parse_texts(texts)

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Parses a chunk of sentences whose words are given."""
        return self.parser.parse_sentences(sentences)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parser!r}, {self.workers})"

    def _pickled(self) -> bytes:
        try:
            return pickle.dumps(self.parser)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            name = type(self.parser).__name__
            raise ValueError(f"'parser' cannot be copied to other processes: {name} ({error})") from error


def _results(
    pool: ProcessPoolExecutor, parts: Iterator[Chunk], ahead: int
) -> Iterator[tuple[Chunk, list[Parsed]]]:
    waiting: dict[Future[list[Parsed]], Chunk] = {}
    while True:
        for chunk in islice(parts, ahead - len(waiting)):
            waiting[pool.submit(_parse, chunk)] = chunk
        if not waiting:
            return
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            yield waiting.pop(future), future.result()


# The parser of a process that _start has made ready.
_own: list[Parser] = []


def _start(parser: bytes) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for this one ends it
    _own.append(pickle.loads(parser))


def _parse(chunk: Chunk) -> list[Parsed]:
    return _own[-1].parse_items(chunk)
