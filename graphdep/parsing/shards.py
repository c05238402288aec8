"""The shards of a stream of texts that are under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from graphdep.parsing.items import Chunk, Item, chunks
from graphdep.parsing.parsed import Parsed
from graphdep.parsing.text_sample import TextSample


class Shards:
    """Cuts a stream into shards, and gives the parses of each when they are there.

    Args:
        texts: The stream. Of it a shard is read when it is asked for.
        known: Which texts of a shard need no parsing.

    Attributes:
        sample: Texts of the stream.
        given: Texts whose parses have been given.
        failed: How many of them the parser failed on.
        reason: Why it failed on the first.
    """

    def __init__(self, texts: Iterable[str], known: Callable[[Sequence[Item]], dict[Item, Parsed]]) -> None:
        self.sample, self.given, self.failed, self.reason = TextSample(), 0, 0, ""
        self._texts, self._known = texts, known
        self._waiting: deque[tuple[Chunk, dict[Item, Parsed]]] = deque()

    def todo(self) -> Iterator[Chunk]:
        """What is to be parsed of each shard, each text once; nothing of one that is known."""
        for shard in chunks(self._texts):
            unique = list(dict.fromkeys(shard))
            self.sample.add(unique)
            known = self._known(unique)
            self._waiting.append((shard, known))
            yield [item for item in unique if item not in known]

    def finish(self, parses: dict[Item, Parsed]) -> list[Parsed]:
        """The parses of the first shard that is under way, with those of what was to be parsed of it."""
        shard, done = self._waiting.popleft()
        done.update(parses)
        results = [done[item] for item in shard]
        reasons = [parsed.failure for parsed in results if parsed.failure]
        self.reason = self.reason or (reasons[0] if reasons else "")
        self.given, self.failed = self.given + len(results), self.failed + len(reasons)
        return results
