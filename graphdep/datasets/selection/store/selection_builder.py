"""A file of pairs, built a few pools at a time."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from graphdep.datasets.selection.store.selection_pool import Pool, key_of, parse_utterances
from graphdep.datasets.selection.store.selection_store import SelectionStore
from graphdep.parsing import Parser
from graphdep.vocab import SPECIALS, Vocab

logger = logging.getLogger("graphdep.datasets")

# What is parsed and written in one go, and what a kill costs.
POOLS = 512
_SECONDS = 10.0  # between two lines of progress


def build_store(
    store: SelectionStore, read: Callable[[], Iterable[Pool]], parser: Parser, *, log: str | None = None
) -> None:
    """Reads, parses and writes pools until the file is whole, going on where an earlier call was stopped.

    No more than a few pools are in memory. Utterances that the file has are not parsed again. Where several
    processes build one file, each batch of pools is written by the one that is first, and the file is the
    same as if one had built it. A file that ends inside of a batch is built anew, with a warning.

    Args:
        store: The file.
        read: Gives all pools, the same ones in the same order whenever it is called.
        parser: The parser.
        log: What to call it in lines of progress on stderr; :obj:`None` for none. (default: :obj:`None`)

    Raises:
        ValueError: If the file has more pools than there are.
    """
    while not store.is_done():
        store.create()
        before = store.totals()["pools"]
        progress = _Progress(log)
        position = 0
        for pools in _batches(read()):
            first, position = position, position + len(pools)
            if store.totals()["pools"] < position:
                _add(store, first, pools, parser)
                progress.say(store)
        store.finish(position)
        found = store.totals()["pools"]
        if found > position:
            raise ValueError(f"{store.path} has {found} pools, but the raw files have {position}: delete it")
        if found == before < position:  # it ends inside of a batch, and so no batch follows what it has
            logger.warning(
                "%s was begun with %d pools, where no batch of %d ends: it is made again",
                *(store.path, found, POOLS),
            )
            store.clear(found)


def build_vocab(train: SelectionStore, min_freq: int, lower: bool) -> Vocab:
    """As :meth:`graphdep.Vocab.build` of the words of all utterances, from their counts."""
    counts: Counter[str] = Counter()
    for word, count in zip(train.words(), train.counts("words").tolist()):
        counts[word.lower() if lower else word] += count
    kept = [word for word, count in counts.items() if count >= min_freq and word not in SPECIALS]
    return Vocab(sorted(kept, key=lambda word: (-counts[word], word)), lower=lower)


def _batches(pools: Iterable[Pool]) -> Iterator[list[Pool]]:
    rest = iter(pools)
    while batch := list(islice(rest, POOLS)):
        yield batch


def _add(store: SelectionStore, first: int, pools: list[Pool], parser: Parser) -> None:
    keys = {turn: key_of(turn) for pool in pools for turn in (*pool.context, *pool.candidates)}
    known = store.known(keys.values())
    new = {key: turn for turn, key in keys.items() if key not in known}
    trees, failures = parse_utterances(parser, list(new.values()))
    store.add(first, pools, keys, dict(zip(new, trees)), failures)


class _Progress:
    """A line on stderr from time to time."""

    def __init__(self, name: str | None) -> None:
        self.name, self.last = name, time.monotonic()

    def say(self, store: SelectionStore) -> None:
        if self.name is not None and time.monotonic() - self.last > _SECONDS:
            self.last, totals = time.monotonic(), store.totals()
            text = f"{self.name}: {totals['pairs']:,} pairs, {totals['utterances']:,} different utterances"
            print(text, file=sys.stderr, flush=True)
