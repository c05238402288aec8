"""Parsing on a Dask cluster."""

from __future__ import annotations

import hashlib
import json
import logging
import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

from graphdep.io.extras import check_extra
from graphdep.parsing.parallel import AHEAD, in_order
from graphdep.parsing.parser import Chunk, Item, Parsed, Parser, ParserUnavailableError, ParserWrapper

if TYPE_CHECKING:
    from distributed import Client, Future


logger = logging.getLogger("graphdep.parsing")

# Workers come and go: seconds after which they are counted again.
_COUNT_AGAIN = 5
_CONNECT_SECONDS = 10.0


class ClusterParser(ParserWrapper):
    """Parses the chunks of a call, called shards, on the workers of a Dask cluster.

    The key of a shard is the SHA-256 of the parser's fingerprint and the texts, so concurrent calls share
    equal shards. If a worker dies, its shard goes to another one; after the fourth death an error is raised
    (``distributed.scheduler.allowed-failures``). Results are the same as with one process. Only the calling
    process writes to a cache (:class:`CachedParser` around this parser), in whole shards, so a repeated call
    sends only what is missing. At most four shards per thread of the cluster are in progress, so the texts
    may be a stream (:meth:`Parser.iter_parse`).

    The workers need graphdep and the parser's files, in the same place and with the same versions as the
    calling process, and one thread each (``dask worker --nthreads 1``), since a process runs one model at a
    time. **Whoever reaches the scheduler can run code on it and on all workers**: keep it in a private
    network or behind TLS (``tls://`` addresses, set in Dask's configuration).

    Args:
        parser: The parser; each worker gets a copy.
        scheduler: Address of the scheduler, such as ``"tcp://node1:8786"``; contacted with the first shard.

    Raises:
        ValueError: If the parser cannot be pickled.
        ImportError: If Dask's package ``distributed`` is not installed.
        ParserUnavailableError: During parsing, if there is no scheduler at this address, or a worker has
            other models or versions.
        RuntimeError: During parsing, if four workers died on one shard, or the scheduler is gone.

    Example:
        >>> from distributed import LocalCluster
        >>> from graphdep.parsing import ClusterParser, resolve_parser
        >>> with LocalCluster(1, processes=False, protocol="tcp", dashboard_address=":0") as cluster:
        ...     parser = ClusterParser(resolve_parser("chain"), cluster.scheduler_address)
        ...     [[sentence]] = parser.parse(["She sings ."])
        >>> sentence.head
        [0, 1, 2]
    """

    def __init__(self, parser: Parser, scheduler: str) -> None:
        super().__init__(parser)
        check_extra("parsing on a cluster", "cluster")
        self.scheduler = scheduler
        self._pickled()

    def parse_chunks(self, parts: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Parsed]]]:
        """Parses chunks in parallel and yields them in order."""
        parts = iter(parts)
        for chunk in parts:
            if chunk:
                yield from self._on_cluster(chain([chunk], parts))
            else:
                yield chunk, []

    def _on_cluster(self, parts: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Parsed]]]:
        data, fingerprint = self._pickled(), self.fingerprint
        with _client(self.scheduler) as client:

            def submit(chunk: Chunk) -> Future:
                return client.submit(_parse, data, fingerprint, chunk, key=shard_key(fingerprint, chunk))

            yield from in_order(parts, submit, _ahead(client))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parser!r}, {self.scheduler!r})"


def shard_key(fingerprint: str, chunk: Sequence[Item]) -> str:
    """The key of a shard."""
    # JSON escapes lone surrogates, which UTF-8 cannot encode.
    content = json.dumps([fingerprint, chunk]).encode("ascii")
    return f"graphdep-parse-{hashlib.sha256(content).hexdigest()}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Hides the pages that Dask logs about a broken connection, since the error says the same in a line."""
    dask = logging.getLogger("distributed")
    level = dask.level
    dask.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        dask.setLevel(level)


@contextmanager
def _client(address: str) -> Iterator[Client]:
    """A connection; its errors tell a user what to do."""
    from distributed import KilledWorker
    from distributed.comm.addressing import get_address_host_port

    with _quiet():
        try:
            host, port = get_address_host_port(address)
            socket.create_connection((host, port), _CONNECT_SECONDS).close()
            client = _connect(address)
        except MemoryError as error:  # Dask takes the answer for the size of a message
            raise ParserUnavailableError(
                f"no Dask scheduler at {address!r}: another program answers"
            ) from error
        except (OSError, ValueError, TypeError) as error:  # TypeError: TLS without certificates
            raise ParserUnavailableError(f"no Dask scheduler at {address!r}: {error}") from error
        try:
            if not client.nthreads():
                logger.warning("the scheduler %s has no workers yet: waiting for them", address)
            yield client
        except KilledWorker as error:
            raise RuntimeError(
                f"several workers of {address!r} died on one shard, perhaps for lack of memory "
                f"({error.last_worker} was the last); finished shards are in the cache, if there is one"
            ) from error
        except CancelledError as error:
            raise RuntimeError(
                f"the scheduler {address!r} is gone; finished shards are in the cache, if there is one"
            ) from error
        finally:
            client.close()


def _connect(address: str) -> Client:
    """A client, made in another thread, since Dask waits forever if a program accepts but never answers."""
    from distributed import Client

    found: list[Client | BaseException] = []

    def connect() -> None:
        try:
            found.append(Client(address, timeout=_CONNECT_SECONDS, set_as_default=False, name="graphdep"))
        except BaseException as error:
            found.append(error)

    waiting = threading.Thread(target=connect, daemon=True)
    waiting.start()
    waiting.join(2 * _CONNECT_SECONDS)
    if not found:
        raise TimeoutError(f"no answer within {2 * _CONNECT_SECONDS:.0f} seconds")
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def _ahead(client: Client) -> Callable[[], int]:
    @lru_cache(maxsize=1)
    def threads(_moment: int) -> int:
        return sum(client.nthreads().values())

    return lambda: AHEAD * max(1, threads(int(time.monotonic() // _COUNT_AGAIN)))


# -- on the workers --------------------------------------------------------------------------------------


def _parse(data: bytes, fingerprint: str, chunk: Chunk) -> list[Parsed]:
    return _loaded(data, fingerprint).parse_items(chunk)


@lru_cache(maxsize=1)
def _loaded(data: bytes, fingerprint: str) -> Parser:
    parser: Parser = pickle.loads(data)
    if parser.fingerprint != fingerprint:
        raise ParserUnavailableError(
            f"a worker has other models or versions than the calling process: {parser.fingerprint!r} there, "
            f"{fingerprint!r} here; install the same on all machines"
        )
    return parser
