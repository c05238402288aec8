"""The inputs of a parser, cut into chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Words = tuple[str, ...]
# A raw text, or a sentence whose words are given.
Item = str | Words
Chunk = list[Item]

# A chunk is what is parsed, and stored in the cache, in one go.
_CHUNK_ITEMS = 256
_CHUNK_CHARACTERS = 100_000


def chunks(items: Iterable[Item]) -> Iterator[Chunk]:
    """Cuts into chunks of bounded size; a single huge input is a chunk of its own."""
    chunk: Chunk = []
    size = 0
    for item in items:
        length = len(item) if isinstance(item, str) else sum(len(word) + 1 for word in item)
        if chunk and (len(chunk) == _CHUNK_ITEMS or size + length > _CHUNK_CHARACTERS):
            yield chunk
            chunk, size = [], 0
        chunk.append(item)
        size += length
    if chunk:
        yield chunk
