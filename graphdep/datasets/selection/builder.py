"""Builds the store of a corpus."""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

import numpy as np
from torch_geometric.data import Data

from graphdep.datasets.selection.store import Pool, SelectionStore, key_of, parse_utterances
from graphdep.parsing.parser import Parser
from graphdep.vocab.vocab import SPECIALS, Tokens, Vocab

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


_WORDS = 10_000


class WordPieces:
    r"""Encodes each word of a lexicon once; utterances are then looked up without a loop over their words.

    Args:
        words: The words by their numbers.
        tokens: Ids of their pieces.

    Shapes:
        - ``ids``: :math:`(\text{pieces})`, int32, the pieces of all words, one word after the other
        - ``counts``: :math:`(\text{words})`, int32, the pieces of each word
    """

    def __init__(self, words: Iterable[str], tokens: Tokens) -> None:
        ids, counts = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        rest = iter(words)
        while some := list(islice(rest, _WORDS)):
            pieces = tokens.encode(some)
            ids.append(np.fromiter(chain.from_iterable(pieces), np.int32))
            counts.append(np.fromiter(map(len, pieces), np.int32))
        self.ids, self.counts = np.concatenate(ids), np.concatenate(counts)
        self._first = self.counts.cumsum(dtype=np.int64) - self.counts

    def of(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pieces of words by their numbers, and how many each has, both int64."""
        counts = self.counts[words].astype(np.int64)
        ends = counts.cumsum()
        size = int(ends[-1]) if len(ends) else 0
        place = np.arange(size) + (self._first[words] - ends + counts).repeat(counts)
        return self.ids[place].astype(np.int64), counts

    def holds(self, piece: int) -> np.ndarray:
        """Whether each word has that piece."""
        found = np.zeros(len(self.counts), dtype=bool)
        word = np.arange(len(self.counts)).repeat(self.counts)
        found[word[self.ids == piece]] = True
        return found


_PAIRS = 1024  # looked at in one go


def count_cut(
    store: SelectionStore, sizes: np.ndarray, max_length: int, load: Callable[[list[int]], list[Data]]
) -> dict[str, int]:
    """See :meth:`graphdep.datasets.selection.dataset.SelectionDataset.count_cut`.

    Args:
        store: The pairs.
        sizes: The number of pieces of each utterance.
        max_length: The largest number of nodes of an example.
        load: Gives the examples of some pairs.
    """
    found: Counter[str] = Counter(cut_pairs=0, cut_context_words=0, cut_responses=0, cut_response_words=0)
    for some in _long_pairs(store, sizes, max_length):
        for data in load(some):
            context, response = data.cut_words[0].tolist()
            found["cut_pairs"] += 1
            found["cut_context_words"] += context
            found["cut_responses"] += response > 0
            found["cut_response_words"] += response
    return dict(found)


def _long_pairs(store: SelectionStore, sizes: np.ndarray, max_length: int) -> Iterator[list[int]]:
    """Numbers of the pairs with more nodes than there may be, some at a time.

    There are [CLS], two [SEP] and an [EOU] an utterance of the context beside the pieces.
    """
    some: list[int] = []
    for number, pair in store.each_pair():
        nodes = sizes[pair.context].sum() + len(pair.context) + sizes[pair.response] + 3
        if nodes > max_length:
            some.append(number)
        if len(some) == _PAIRS:
            yield some
            some = []
    yield some
