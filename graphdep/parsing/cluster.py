"""A parser on the machines of a Dask cluster."""

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
from graphdep.parsing.parallel import in_order
from graphdep.parsing.parser import AroundParser, Chunk, Item, Parsed, Parser, ParserUnavailableError

if TYPE_CHECKING:
    from distributed import Client, Future


logger = logging.getLogger("graphdep.parsing")

# Shards of each thread of a worker: what it works on, what it goes on with, and what waits for one before it.
_AHEAD = 4
# Workers come and go: how many there are is asked again after so many seconds.
_ASK_AGAIN = 5
_CONNECT_SECONDS = 10.0


class ClusterParser(AroundParser):
    """Hands the chunks of a call to the workers of a Dask cluster, as shards.

    A shard is known to the scheduler by the SHA-256 of the parser's fingerprint and its texts, so that two
    calls that ask for the same one at the same time share it. When a worker dies, what it worked on goes to
    another one; after the fourth death the shard is an error (``distributed.scheduler.allowed-failures``).
    Results are those of one process. Only this process writes to a cache (:class:`CachedParser` around it), a
    whole shard at a time: a call that is made again sends what is not in it. At most four shards for each
    thread of the cluster are under way, so that texts may be a stream (:meth:`Parser.iter_parse`).

    The workers need graphdep and the parser's files, in the same place and of the same versions as here, and
    one thread each (``dask worker --nthreads 1``): models run one at a time in a process. **Whoever reaches
    the scheduler can run code on it and on all workers**: it belongs into a private network or behind TLS,
    which is set where Dask has its settings (``tls://`` addresses).

    Args:
        parser: The parser; each worker gets a copy.
        scheduler: Address of the scheduler, such as ``"tcp://node1:8786"``. It is called with the first shard
            that is to be parsed.

    Raises:
        ValueError: If the parser cannot be copied to another process.
        ImportError: If Dask's package ``distributed`` is not installed.
        ParserUnavailableError: Where texts are parsed, if there is no scheduler at this address, or a worker
            has other models or versions.
        RuntimeError: Where texts are parsed, if four workers died on a shard, or the scheduler is gone.

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
        """Parses chunks at the same time, and gives them in order."""
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
    """The name of a shard: what it is made of, and who parses it."""
    # JSON escapes lone surrogates, which UTF-8 would refuse.
    content = json.dumps([fingerprint, chunk]).encode("ascii")
    return f"graphdep-parse-{hashlib.sha256(content).hexdigest()}"


@contextmanager
def _quiet() -> Iterator[None]:
    """What Dask logs of a connection that breaks is pages long, and the error says it in a line."""
    dasks = logging.getLogger("distributed")
    level = dasks.level
    dasks.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        dasks.setLevel(level)


@contextmanager
def _client(address: str) -> Iterator[Client]:
    """A connection; the errors of what is done with it say what a user can do."""
    from distributed import KilledWorker
    from distributed.comm.addressing import get_address_host_port

    with _quiet():
        try:
            host, port = get_address_host_port(address)
            socket.create_connection((host, port), _CONNECT_SECONDS).close()
            client = _answering(address)
        except MemoryError as error:  # what it says is read as the size of a message
            raise ParserUnavailableError(
                f"no Dask scheduler at {address!r}: another program answers"
            ) from error
        except (OSError, ValueError, TypeError) as error:  # of TLS without certificates the last
            raise ParserUnavailableError(f"no Dask scheduler at {address!r}: {error}") from error
        try:
            if not client.nthreads():
                logger.warning("the scheduler %s has no workers yet: waiting for them", address)
            yield client
        except KilledWorker as error:
            raise RuntimeError(
                f"workers of {address!r} died again and again on one shard, perhaps for lack of memory "
                f"({error.last_worker} was the last); shards that are done are in the cache, if there is one"
            ) from error
        except CancelledError as error:
            raise RuntimeError(
                f"the scheduler {address!r} is gone; shards that are done are in the cache, if there is one"
            ) from error
        finally:
            client.close()


def _answering(address: str) -> Client:
    """A client, in a thread of its own: Dask waits without end for what takes a call and never answers."""
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
        raise TimeoutError(f"it has not answered for {2 * _CONNECT_SECONDS:.0f} seconds")
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def _ahead(client: Client) -> Callable[[], int]:
    @lru_cache(maxsize=1)
    def threads(_moment: int) -> int:
        return sum(client.nthreads().values())

    return lambda: _AHEAD * max(1, threads(int(time.monotonic() // _ASK_AGAIN)))


# -- on the workers --------------------------------------------------------------------------------------


def _parse(data: bytes, fingerprint: str, chunk: Chunk) -> list[Parsed]:
    return _loaded(data, fingerprint).parse_items(chunk)


@lru_cache(maxsize=1)
def _loaded(data: bytes, fingerprint: str) -> Parser:
    parser: Parser = pickle.loads(data)
    if parser.fingerprint != fingerprint:
        raise ParserUnavailableError(
            f"a worker has other models or versions than the process that asks: {parser.fingerprint!r} "
            f"there, {fingerprint!r} here; install the same on all machines"
        )
    return parser
