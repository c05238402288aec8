"""A parser that remembers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from graphdep.parsing.around_parser import AroundParser
from graphdep.parsing.items import Chunk, Item
from graphdep.parsing.parse_cache import ParseCache
from graphdep.parsing.parsed import Parsed
from graphdep.parsing.parser import Parser


class CachedParser(AroundParser):
    """Keeps what another parser gives in one SQLite file.

    Parses are stored chunk by chunk, so that an interrupted call goes on where it stopped. Chain trees
    that the parser would give again (too long a sentence) are stored as such and counted again on every
    call; those that came from an error are not stored, and are tried again.

    Args:
        parser: The parser. It is not loaded as long as everything is in the file.
        path: The SQLite file; see :class:`~graphdep.parsing.parse_cache.ParseCache`. Several parsers and
            processes may share it.

    Raises:
        ValueError: If the file is no cache of graphdep's, of another version, or damaged.

    Example:
        >>> from graphdep.parsing import CachedParser, resolve_parser
        >>> parser = CachedParser(resolve_parser("chain"), "parses.sqlite")
        >>> [[sentence]] = parser.parse(["She sings ."])
        >>> sentence.head
        [0, 1, 2]
    """

    def __init__(self, parser: Parser, path: str | Path) -> None:
        super().__init__(parser)
        self.cache = ParseCache(path)

    def known(self, items: Sequence[Item]) -> dict[Item, Parsed]:
        """Those of the inputs that are in the file."""
        return self.cache.load(self.fingerprint, items)

    def parse_chunks(self, parts: Iterable[Chunk]) -> Iterator[tuple[Chunk, list[Parsed]]]:
        """Parses and stores chunk by chunk."""
        for chunk, results in self.parser.parse_chunks(parts):
            if chunk:
                self.cache.store(self.fingerprint, self.parser._paired(chunk, results))
            yield chunk, results

    def parse_items(self, items: Sequence[Item]) -> list[Parsed]:
        """Parses a chunk and stores it."""
        results = self.parser.parse_items(items)
        self.cache.store(self.fingerprint, self.parser._paired(items, results))
        return results
