"""The base class of corpora of response selection."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data, Dataset

from graphdep.data.encoded import selection_data
from graphdep.data.node_table import EncodedUtterance
from graphdep.datasets.base.parsed import (
    CorpusOptions,
    check_split,
    digest,
    example_digest,
    known_relations,
    warn_of_chains,
    warn_of_relations,
)
from graphdep.datasets.base.raw import (
    BINARY,
    MAYBE_TEXT,
    RawFiles,
    check_forms,
    read_lines,
    row_error,
)
from graphdep.datasets.base.rows import Draw, KnownOptions
from graphdep.datasets.selection.builder import WordPieces, build_store, build_vocab, count_cut
from graphdep.datasets.selection.store import (
    FORMAT,
    Pair,
    Pool,
    SelectionStore,
    Tree,
    Utterance,
    given_words,
    sentence_of,
)
from graphdep.io.files import file_digest, home_path
from graphdep.io.limits import check_least
from graphdep.io.progress import say
from graphdep.parsing.enhanced import LEVELS, check_arcs, check_engine, enhance, enhance_fingerprint
from graphdep.parsing.parser import Parser, ParserUnavailableError
from graphdep.parsing.resolver import resolve_parser
from graphdep.sentence.sentence import Sentence
from graphdep.version import __version__
from graphdep.vocab.pieces import VocabTokens
from graphdep.vocab.relations import GRAPH_MIN_FREQ, RelationVocab
from graphdep.vocab.vocab import UNK_ID, Tokens, Vocab

T = TypeVar("T")


def spread_pools(read: Callable[[], Iterable[Pool]], limit: int) -> Iterator[Pool]:
    r"""Evenly spread pools, so that a split is not represented by one part, such as its oldest logs.

    Of :math:`T` pools, these are the :math:`n` pools whose number :math:`j`, from 0, satisfies

    .. math::
        \lfloor (j + 1) \cdot n / T \rfloor > \lfloor j \cdot n / T \rfloor

    :math:`n` is the smallest number of pools that has ``limit`` pairs if all pools have the mean size; with
    different sizes there may be slightly fewer pairs. No pool is kept in memory.

    Args:
        read: Returns all pools, in the same order at each call; called twice.
        limit: The number of pairs.
    """
    pools = pairs = 0
    for pool in read():
        pools, pairs = pools + 1, pairs + len(pool.candidates)
    count = min(pools, -(-limit * pools // max(1, pairs)))
    for number, pool in enumerate(read()):
        if (number + 1) * count // pools > number * count // pools:
            yield pool


class SelectionOptions(CorpusOptions, total=False):
    """Options of every corpus of response selection: those of :class:`CorpusOptions`, and these.

    ``vocab`` is built from the distinct utterances of the training split. ``limit`` is a number of pairs, in
    whole pools that are spread over the split: at least as many if all pools have the same size, else about
    as many (``spread``).

    Args:
        tokens: Ids of word pieces; :obj:`None` for the ids of ``vocab``. (default: :obj:`None`)
        max_length: The largest number of nodes of an example; :func:`~graphdep.data.encoded` describes the
            truncation. (default: :obj:`256`)
        max_turns: Keep only this number of last utterances of a context. (default: :obj:`None`, all)
        keep_parses: Store parses in ``cache/parses.sqlite``, which slows a very fast parser down.
            (default: :obj:`True`)
        cache_size: The number of recently used utterances in memory. (default: :obj:`20_000`)
        arcs, engine, relation_min_freq, constituents: As in
            :class:`~graphdep.datasets.base.parsed.ParsedOptions`; graphs and constituents are stored beside
            the trees. (default: ``"basic"``, ``"rules"``, :obj:`5`, :obj:`False`)
    """

    tokens: Tokens | None
    max_length: int
    max_turns: int | None
    keep_parses: bool
    cache_size: int
    arcs: str
    engine: str
    relation_min_freq: int
    constituents: bool


class RowsOptions(SelectionOptions, total=False):
    """Options of corpora with one candidate per line: those of :class:`SelectionOptions`, and this one.

    Args:
        pool_size: The required number of candidates in a pool of test; :obj:`None` for any number.
            (default: :obj:`10`)
    """

    pool_size: int | None


class DrawnOptions(SelectionOptions, total=False):
    """Options of corpora with drawn negatives: those of :class:`SelectionOptions`, and these.

    Args:
        negatives: The number of negatives of a pool; :obj:`None` for 1 in train and 9 in val and test.
            (default: :obj:`None`)
        seed: Seed of the draws. (default: :obj:`0`)
    """

    negatives: int | None
    seed: int


logger = logging.getLogger("graphdep.datasets")

# Pairs from which truncation is estimated, which is quick; an exact count needs a pass over all pairs.
_LOOKED_AT = 200


class SelectionDataset(KnownOptions, RawFiles, Dataset):
    r"""Base class of corpora of response selection: one PyG ``Data`` per pair of a context and a candidate.

    Pairs are in one SQLite file (``SelectionStore``), and become a ``Data`` on access, by
    :func:`graphdep.data.encoded`. The file has each distinct utterance and context once, as numbers of words
    and a tree in a few bytes per word; it does not depend on :obj:`tokens`, :obj:`max_length` and
    :obj:`relations`. Building and loading need memory for a few hundred pools and the lexicon only.

    The name of the file has a digest of everything that it depends on (raw files, parser, options, versions),
    so no other setting loads it. It is renamed when it is complete: an interrupted build starts again, with
    the parses in ``cache/parses.sqlite``, which all settings share. Equal utterances are parsed once.

    Pairs of a pool are adjacent, in the order of the raw file. Nothing is left out: blank utterances, pools
    without a true candidate and the like are counted, see :meth:`describe`.

    Args:
        root: Folder of the corpus, with ``raw/``, ``processed/`` and ``cache/``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser.
        raw_from, tokens, max_length, max_turns, vocab, relations, min_freq, lower, limit, keep_parses,
            cache_size, arcs, engine, relation_min_freq, constituents, transform, log, force_reload: See
            :class:`SelectionOptions`.

    Shapes:
        - the node table of :func:`~graphdep.data.encoded`, and its ``cut_words``
        - ``y``: :math:`(1)`, float, 1 for a true response, else 0
        - ``group``: :math:`(1)`, long, number of the pool
    """

    shared_options: ClassVar[type] = SelectionOptions

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        parser: str | Parser,
        *,
        raw_from: str | os.PathLike[str] | None = None,
        tokens: Tokens | None = None,
        max_length: int = 256,
        max_turns: int | None = None,
        vocab: Vocab | None = None,
        relations: str | RelationVocab = "auto",
        min_freq: int = 1,
        lower: bool = True,
        limit: int | None = None,
        keep_parses: bool = True,
        cache_size: int = 20_000,
        arcs: str = "basic",
        engine: str = "rules",
        relation_min_freq: int = GRAPH_MIN_FREQ,
        constituents: bool = False,
        transform: Callable | None = None,
        log: bool = True,
        force_reload: bool = False,
    ) -> None:
        check_split(split, self.splits, limit, tokens, vocab)
        check_least("max_length", max_length, 4)
        check_least("max_turns", max_turns, 1)
        check_least("min_freq", min_freq, 1)
        check_least("cache_size", cache_size, 0)
        self.split, self.limit, self.max_turns, self.max_length = split, limit, max_turns, max_length
        self.min_freq, self.lower = min_freq, lower
        self.raw_from = None if raw_from is None else home_path(raw_from)
        check_arcs(arcs)
        check_engine(engine)
        check_least("relation_min_freq", relation_min_freq, 1)
        self.arcs, self.engine, self.constituents = arcs, engine, constituents
        self.relation_min_freq = relation_min_freq
        reads_train = split == "train" or (tokens is None and vocab is None) or arcs != "basic"
        self.relations, self._learns_relations = known_relations(relations, reads_train)
        self._relations = relations if isinstance(relations, str) else ""
        self.cache_size = cache_size
        self._given, self._vocab = tokens, vocab
        resolved = self._resolve(parser, home_path(root) / "cache" / "parses.sqlite", keep_parses)
        self._parser: Parser | None = resolved
        self.parser_fingerprint = resolved.fingerprint
        super().__init__(os.fspath(root), transform, log=log, force_reload=force_reload)
        self._encode_lexicon()

    @abstractmethod
    def read(self, folder: Path, split: str) -> Iterable[Pool]:
        """The pools of the raw files of a split, one by one, the same in every call."""

    def options(self, split: str) -> dict[str, Any]:
        """The options of a subclass that change the pools of a split."""
        return {}

    @property
    def processed_file_names(self) -> list[str]:
        return [self._store.path.name]

    @property
    def vocab(self) -> Vocab:
        """The given or built vocabulary; with :obj:`tokens` it is built on demand."""
        if self._vocab is None:
            self._vocab = build_vocab(self._train(), self.min_freq, self.lower)
        return self._vocab

    def _train(self) -> SelectionStore:
        """The file of the training split, built if missing; without ``limit`` unless this is that split."""
        if self.split == "train":
            train, limit = SelectionStore(self._store.path), self.limit
        else:
            train, limit = self._store_of("train", None), None
        self._build(train, "train", limit)
        return train

    def len(self) -> int:
        return self._totals["pairs"]

    def get(self, idx: int) -> Data:
        """The pair with a number in the whole split, before :obj:`transform`."""
        return self._load([int(idx)])[0]

    def multi_get(self, indices: Iterable[int] | Tensor | slice, batch_size: int | None = None) -> list[Data]:
        """As :meth:`get`, for several pairs, after :obj:`transform`."""
        if isinstance(indices, slice):
            indices = range(*indices.indices(self.len()))
        data_list = self._load([int(number) for number in indices])
        return data_list if self.transform is None else [self.transform(data) for data in data_list]

    def __getitems__(self, indices: list[int]) -> list[Data]:
        numbers = self.indices()
        return self.multi_get([numbers[number] for number in indices])

    def labels(self) -> np.ndarray:
        """The label of each pair, without loading it: ``[num_pairs]``, 0 or 1."""
        return self._store.column("label")[self._own()]

    def groups(self) -> np.ndarray:
        """The pool of each pair, without loading it: ``[num_pairs]``."""
        return self._store.column("pool")[self._own()]

    def sentences(self, number: int) -> tuple[list[Sentence | None], Sentence | None]:
        """The trees of a pair's context and candidate, untruncated; :obj:`None` for one without words."""
        pair = self._pairs([self.indices()[number]])[0]
        turns = [*pair.context.tolist(), pair.response]
        sentences = self._sentences(self._store.trees(turns))
        *context, response = [sentences[turn] for turn in turns]
        return context, response

    def _sentences(self, trees: Mapping[int, Tree]) -> dict[int, Sentence | None]:
        """Utterances as sentences, with their graphs and constituents if these are stored."""
        words = self._store.words_of({word for tree in trees.values() for word in tree[0].tolist()})
        graphs = self._store.graphs(trees) if self.has_graphs else {}
        return {
            turn: sentence_of(tree, words, self._labels, graphs.get(turn)) for turn, tree in trees.items()
        }

    def context(self, number: int) -> list[list[str]]:
        """The words of each utterance of a pair's context, untruncated."""
        return [list(tree.form) if tree else [] for tree in self.sentences(number)[0]]

    def response(self, number: int) -> list[str]:
        """The words of a pair's candidate, untruncated."""
        tree = self.sentences(number)[1]
        return list(tree.form) if tree else []

    def encoded(self, numbers: Sequence[int]) -> list[tuple[list[EncodedUtterance], EncodedUtterance]]:
        """The contexts and candidates of pairs, untruncated; equal utterances are one object."""
        own = self.indices()
        pairs = self._pairs([own[number] for number in numbers])
        found = self._encoded({turn for pair in pairs for turn in (*pair.context.tolist(), pair.response)})
        return [([found[turn] for turn in pair.context.tolist()], found[pair.response]) for pair in pairs]

    def openings(self, numbers: Sequence[int]) -> list[int | None]:
        """The number of the first utterance of each pair's context; :obj:`None` for an empty context."""
        own = self.indices()
        pairs = self._pairs([own[number] for number in numbers])
        return [int(pair.context[0]) if len(pair.context) else None for pair in pairs]

    def example_digests(self) -> list[str]:
        """A digest of each pair's words and label, in a pass over the file; spaces are ignored, since parsers
        split words differently.
        """
        forms = [*self._store.words()]
        utterances = [
            example_digest("".join("".join(forms[word] for word in words.tolist()).split()))
            for words, *_ in self._store.each_tree()
        ]
        pairs = [
            example_digest(
                *(utterances[turn] for turn in (*pair.context.tolist(), pair.response)), pair.label
            )
            for _, pair in self._store.each_pair()
        ]
        return [pairs[number] for number in self.indices()]

    @property
    def follow_batch(self) -> list[str]:
        """Keys for ``follow_batch`` of PyG's ``DataLoader``: none."""
        return []

    def update_digest(self, sha: hashlib._Hash) -> None:
        """Adds the stored content and the options of its graphs to a digest."""
        used = [] if self.relations.used is None else [self.relations.used]
        parts = [self._store.content(), self.tokens.fingerprint, self.max_length]
        parts += [self.relations.learned, *used]
        own = self.indices()
        numbers = [own.start, own.stop, own.step] if isinstance(own, range) else list(map(int, own))
        sha.update(json.dumps([*parts, numbers]).encode())

    def describe(self) -> dict[str, Any]:
        """Describes the whole split in plain values, also for a slice.

        ``utterances`` and ``words`` count distinct utterances and their words, and ``bytes_per_word`` is
        their size without the lexicon of ``forms``; ``file_bytes`` is the whole file. ``unknown_words`` is
        the share of stored words with an unknown piece. ``empty_utterances`` counts blank turns and
        candidates, and ``duplicate_candidates`` repeated candidates of a pool. If pairs are longer than
        :obj:`max_length`, a ``note`` has their number in a sample.
        """
        totals = self._totals
        words = max(1, totals["words"])
        odd = ("empty_utterances", "duplicate_candidates", "pools_without_positive", "pools_all_positive")
        sizes = ("pairs", "pools", "utterances", "words", "forms")
        unknown = self._pieces.holds(getattr(self.tokens, "unk_id", UNK_ID))
        return {
            "corpus": self.corpus,
            "split": self.split,
            **{name: totals[name] for name in sizes},
            "bytes_per_word": totals["tree_bytes"] / words,
            "file_bytes": self._store.path.stat().st_size,
            "unknown_words": float(self._store.counts("words")[unknown].sum() / words),
            "parser": self.parser_fingerprint,
            "parser_failures": self.parser_failures,
            "unknown_relations": self.relations.fallbacks.total(),
            "relation_types": self.relations.types(self.arc_labels),
            **({"relations": self.relations.about(self.arc_labels)} if self.split == "train" else {}),
            **{name: totals[name] for name in odd},
            **self._cut_note(),
        }

    def _cut_note(self) -> dict[str, str]:
        """A note about the number of truncated pairs in a sample, since counting all takes a pass."""
        own = self.indices()
        numbers = list(own[:: max(1, len(own) // _LOOKED_AT)])
        cut = sum(bool(data.cut_words.sum()) for data in self._load(numbers))
        if not cut:
            return {}
        said = f"{cut} of {len(numbers)} sampled pairs lose words at max_length={self.max_length}"
        return {"note": f"{said}; contexts lose their first words"}

    def count_cut(self) -> dict[str, int]:
        """Counts exactly what :obj:`max_length` truncates, in a pass over the file.

        ``cut_pairs`` is the number of truncated pairs, ``cut_responses`` that of truncated responses;
        ``cut_context_words`` and ``cut_response_words`` are the total numbers of removed words.
        """
        counts = self._pieces.counts
        sizes = np.fromiter((counts[tree[0]].sum() for tree in self._store.each_tree()), np.int64)
        if self.has_graphs:  # some of which have empty nodes
            found = self._encoded({*range(len(sizes))})
            sizes = np.array([found[turn].num_pieces for turn in range(len(sizes))])
        return count_cut(self._store, sizes, self.max_length, self._load)

    def process(self) -> None:
        """Builds the file unless it is complete."""
        self._build(self._store, self.split, self.limit, again=self.force_reload)

    def _process(self) -> None:
        # PyG's method only checks whether the file exists, and unpickles two others.
        self._store = self._store_of(self.split, self.limit)
        self.process()
        self._store.hold()
        self._totals = self._store.totals()
        self.parser_failures = self._totals["parser_failures"]
        warn_of_chains(self.corpus, self.split, self.parser_failures, self.parser_fingerprint)

    def _needed(self) -> list[str]:
        learns = self._learns_relations or (self._given is None and self._vocab is None)
        return sorted({self.split, *(["train"] if learns else [])})

    def _raw_of(self, split: str) -> list[Path]:
        """The raw files of the pools of a split."""
        return self.raw_files(Path(self.raw_dir), split)

    def _store_of(self, split: str, limit: int | None) -> SelectionStore:
        raw = Path(self.raw_dir)
        depends_on = {
            "format": [FORMAT, __version__, type(self)],
            "raw": [(str(path.relative_to(raw)), file_digest(path)) for path in self._raw_of(split)],
            "split": [split, limit, self.max_turns],
            "options": self.options(split),
            "parser": self.parser_fingerprint,
            "arcs": "basic" if self.arcs == "basic" else [self.arcs, enhance_fingerprint(self.engine)],
            "constituents": self.constituents,
        }
        return SelectionStore(Path(self.processed_dir, f"{split}-{digest(depends_on)}.sqlite"))

    def _build(self, store: SelectionStore, split: str, limit: int | None, *, again: bool = False) -> None:
        """Builds the file of a split unless it is complete and ``force_reload`` is off."""
        if store.path.exists() and not again:
            try:
                return store.check()
            except ValueError as error:
                text = "%s is damaged or not a file of pairs (%s) and is made again"
                logger.warning(text, store.path, error.__cause__)
        if self._parser is None:
            text = "does not exist, and an unpickled dataset has no parser to make it"
            raise RuntimeError(f"{store.path} {text}: read 'vocab' of the dataset before it is pickled")
        if not self._raw_of(split):
            raise FileNotFoundError(self._missing(split))
        self._check_some(sum(1 for _ in islice(self._pools(split, None), 1)), Path(self.raw_dir), split)
        name = f"{self.corpus} ({split})"
        shown = self.log and "PYTEST_CURRENT_TEST" not in os.environ
        if shown:
            say(f"Processing {name}{self.kept_in} ...")
        build_store(
            store.path,
            self._pools(split, limit),
            self._parser,
            log=name if shown else None,
            graphs=self._enhanced if self.has_graphs else None,
            arcs=self.arcs,
        )

    @property
    def has_graphs(self) -> bool:
        """Whether utterances have an enhanced graph or constituents."""
        return self.arcs != "basic" or bool(self.constituents)

    def _enhanced(self, trees: list[Sentence]) -> list[Sentence]:
        return trees if self.arcs == "basic" else enhance(trees, self.arcs, self.engine)

    def _pools(self, split: str, limit: int | None) -> Iterator[Pool]:
        """The pools to store, with the last turns of their contexts."""

        def read() -> Iterable[Pool]:
            return self.read(Path(self.raw_dir), split)

        for pool in read() if limit is None else spread_pools(read, limit):
            last = pool.context[-self.max_turns :] if self.max_turns else pool.context
            yield Pool(last, pool.candidates, pool.labels, pool.counts)

    def _resolve(self, parser: str | Parser, cache: Path, keep_parses: bool) -> Parser:
        reads: dict[str, Any] = {"arcs": self.arcs, "engine": self.engine}
        reads["constituents"] = bool(self.constituents)
        return resolve_parser(parser, cache=cache if keep_parses else None, **reads)

    def _encode_lexicon(self) -> None:
        """Encodes every distinct word once, so that loading is fast."""
        self.tokens = VocabTokens(self.vocab) if self._given is None else self._given
        self._labels = self._store.relations()
        self._pieces = WordPieces(self._store.words(), self.tokens)
        self.arc_labels = _arc_labels(self._store)
        if self._learns_relations:
            train = self.arc_labels if self.split == "train" else _arc_labels(self._train())
            least = self.relation_min_freq if self.arcs in LEVELS else None
            self.relations = RelationVocab.of_arcs(train, self._relations, graph_min_freq=least)
        elif self._relations == "auto":
            warn_of_relations(self.corpus, self.split, self.relations, self.arc_labels)
        self.relations.fallbacks.update(
            {label: count for label, count in self.arc_labels.items() if label not in self.relations}
        )
        self._known = self.relations.copy()  # counts fallbacks apart from 'relations'
        self._deprel = np.array([self._known[label] for label in self._labels], dtype=np.int64)
        self._cache: dict[int, EncodedUtterance] = {}

    def _own(self) -> np.ndarray:
        return np.array(self.indices(), dtype=np.int64)

    def _load(self, numbers: Sequence[int]) -> list[Data]:
        pairs = self._pairs(numbers)
        encoded = self._encoded({turn for pair in pairs for turn in (*pair.context.tolist(), pair.response)})
        return [self._data(pair, encoded) for pair in pairs]

    def _pairs(self, numbers: Sequence[int]) -> list[Pair]:
        for number in numbers:
            if not 0 <= number < self.len():
                raise IndexError(f"no pair {number}: the pairs are 0 to {self.len() - 1}")
        found = self._store.pairs(numbers)
        return [found[number] for number in numbers]

    def _encoded(self, turns: set[int]) -> dict[int, EncodedUtterance]:
        """Utterances by their numbers; all that are not in memory are read with one query."""
        # A dict keeps the order of insertion: an utterance that is used moves to the end.
        found = {turn: self._cache.pop(turn) for turn in turns if turn in self._cache}
        new = self._store.trees(turns - found.keys())
        if self.has_graphs:
            for turn, sentence in self._sentences(new).items():
                found[turn] = EncodedUtterance.of(
                    sentence,
                    self.tokens,
                    self._known,
                    "basic" if self.arcs == "basic" else "enhanced",
                    phrases=bool(self.constituents),
                )
        else:
            found |= {turn: self._encode(*tree) for turn, tree in new.items()}
        self._cache |= found
        for turn in list(islice(self._cache, max(0, len(self._cache) - self.cache_size))):
            del self._cache[turn]
        return found

    def _encode(self, words: np.ndarray, head: np.ndarray, relations: np.ndarray) -> EncodedUtterance:
        input_ids, counts = self._pieces.of(words)
        governor = np.where(head == 0, np.arange(len(head)), head.astype(np.int64) - 1)
        return EncodedUtterance(input_ids, counts, governor, self._deprel[relations])

    def _data(self, pair: Pair, encoded: dict[int, EncodedUtterance]) -> Data:
        context = [encoded[turn] for turn in pair.context.tolist()]
        data = selection_data(
            context, encoded[pair.response], self.tokens, max_length=self.max_length, y=float(pair.label)
        )
        data.group = torch.tensor([pair.pool])
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)})"

    def __getstate__(self) -> dict[str, Any]:
        # Workers of a DataLoader get no models and no cached utterances.
        return {**self.__dict__, "_parser": None, "_cache": {}}

    def __copy__(self) -> SelectionDataset:
        copy = type(self).__new__(type(self))  # without __getstate__, which removes parser and cache
        copy.__dict__.update(self.__dict__)
        return copy


def _arc_labels(store: SelectionStore) -> Counter[str]:
    """The number of arcs with each label, counting each distinct utterance once."""
    return +Counter(dict(zip(store.relations(), store.counts("relations").tolist())))


class Row(NamedTuple):
    """A line of a raw file."""

    line: int
    label: int
    context: list[str]
    response: str


def read_rows(path: Path) -> Iterator[Row]:
    """The lines of a raw file; control characters in users' texts are read as spaces."""
    for line, text in read_lines(path, control=True):
        label, *utterances = text.split("\t")
        check_forms(f"{path}:{line}", {"label": label}, {"label": BINARY})
        if len(utterances) <= 1:
            columns = f"{len(utterances) + 1} tab-separated columns"
            raise row_error(path, line, f"{columns} instead of a label, utterances and a response", text)
        numbered = {f"utterance {number}": utterance for number, utterance in enumerate(utterances, start=1)}
        check_forms(f"{path}:{line}", numbered, dict.fromkeys(numbered, MAYBE_TEXT))
        yield Row(line, int(label), utterances[:-1], utterances[-1])


def read_pools(path: Path, make: Callable[[str], Utterance], *, size: int | None = None) -> Iterator[Pool]:
    """The pools of a raw file: adjacent lines with the same context.

    Args:
        path: The file.
        make: Makes an utterance from a column.
        size: The number of candidates of each pool, which also separates adjacent pools with the same
            context; :obj:`None` for any number. (default: :obj:`None`)
    """
    for context, group in groupby(read_rows(path), key=lambda row: row.context):
        rows = list(group)
        if size is not None and len(rows) % size != 0:
            raise row_error(
                path,
                rows[0].line,
                f"the context has {len(rows)} candidates from here on instead of {size} (pool_size)",
                "\t".join(context),
            )
        for start in range(0, len(rows), size or len(rows)):
            pool = rows[start : start + (size or len(rows))]
            yield Pool(
                tuple(map(make, context)),
                tuple(make(row.response) for row in pool),
                tuple(row.label for row in pool),
            )


_TAKES = (
    "is in Chinese and needs a parser of Chinese, such as 'stanza:zh', StanzaParser('zh', directory=FOLDER), "
    "'bundled:FOLDER' with models of `graphdep train-parser`, or 'conllu:FILE' with the trees"
)

Names = dict[str, tuple[str, ...]]

TEXT_FILES: Names = {
    "train": ("train.txt",),
    "val": ("valid.txt", "dev.txt"),
    "test": ("test.txt",),
}


class RowsSelection(SelectionDataset):
    """Base class of corpora with lines ``label <TAB> utterances ... <TAB> response``.

    White space separates words. Adjacent lines with the same context are one pool; pools of test are
    published with ten candidates.

    Args:
        root, split, parser: As in :class:`SelectionDataset`.
        pool_size, options: See :class:`RowsOptions`.
    """

    shared_options = RowsOptions

    # File names of each split; the first existing file is read.
    files: Mapping[str, tuple[str, ...]] = TEXT_FILES
    sized: tuple[str, ...] = ("test",)

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        parser: str | Parser,
        *,
        pool_size: int | None = 10,
        **options: Any,
    ) -> None:
        check_least("pool_size", pool_size, 1)
        self.pool_size = pool_size
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return [folder / name for name in self.files[split] if (folder / name).is_file()][:1]

    def raw_file_pattern(self, split: str) -> str:
        return " or ".join(self.files[split])

    def options(self, split: str) -> dict[str, Any]:
        return {"pool_size": self._size(split)}

    def read(self, folder: Path, split: str) -> Iterator[Pool]:
        (path,) = self.raw_files(folder, split)
        return read_pools(path, self.utterance, size=self._size(split))

    def utterance(self, text: str) -> Utterance:
        """The utterance in a column."""
        return given_words(text)

    def _size(self, split: str) -> int | None:
        return self.pool_size if split in self.sized else None


class ChineseSelection(RowsSelection):
    """Base class of corpora in segmented Chinese, for which the package has no parser."""

    def _resolve(self, parser: str | Parser, cache: Path, keep_parses: bool) -> Parser:
        made = resolve_parser(parser)
        if made.language is not None and made.language.split("-")[0] != "zh":
            shown = repr(parser) if isinstance(parser, str) else type(parser).__name__
            raise ValueError(f"'parser' is {shown}, of language {made.language!r}. {self.corpus} {_TAKES}")
        if self.arcs != "basic" and not made.gives_graphs:
            raise ValueError(
                f"'arcs' cannot be {self.arcs!r}: enhanced graphs are made of English trees, and "
                f"{self.corpus} is in Chinese: take 'basic' (model bert-dam-basic)"
            )
        resolved = super()._resolve(made, cache, keep_parses)
        try:
            resolved.fingerprint  # noqa: B018  # loads the models, if they are there
        except ParserUnavailableError as error:
            raise ParserUnavailableError(f"{error} {self.corpus} {_TAKES}") from error
        return resolved


_TRIES = 20  # per draw, before the remaining responses are listed


class DrawnSelection(SelectionDataset):
    """Base class of corpora with drawn negatives: pools of one true response and :obj:`negatives` others.

    The true response is the first candidate; the metrics do not favour it when scores are equal. A seed gives
    the same negatives on every machine and in every version of Python.

    Args:
        root, split, parser: As in :class:`SelectionDataset`.
        negatives, seed, options: See :class:`DrawnOptions`.
    """

    shared_options = DrawnOptions

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        parser: str | Parser,
        *,
        negatives: int | None = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        check_least("negatives", negatives, 1)
        self.negatives, self.seed = negatives, seed
        super().__init__(root, split, parser, **options)

    def options(self, split: str) -> dict[str, Any]:
        return {"negatives": self._num_negatives(split), "seed": self.seed}

    def _num_negatives(self, split: str) -> int:
        return (1 if split == "train" else 9) if self.negatives is None else self.negatives

    def _negatives(self, split: str) -> Negatives:
        return Negatives(self._num_negatives(split), f"{self.corpus} {split} {self.seed}")


class Negatives:
    """Draws the negatives of successive pools.

    Args:
        count: Number of negatives per pool.
        seed: Seed of the draws.
    """

    def __init__(self, count: int, seed: str) -> None:
        self.count, self.draw = count, Draw(random.Random(seed))
        self.hint = ""

    def of(
        self, responses: Sequence[str], allowed: Callable[[int], bool], taken: str, place: str
    ) -> list[int]:
        """Numbers of drawn responses, whose texts differ from each other and from :obj:`taken`.

        Args:
            responses: All responses of the split, normalized.
            allowed: Whether a number may be drawn.
            taken: The true response.
            place: Place of the true response, for messages.
        """
        found: dict[str, int] = {}
        for number in self._numbers(responses):
            if responses[number] not in found and responses[number] != taken and allowed(number):
                found[responses[number]] = number
                if len(found) == self.count:
                    return list(found.values())
        raise ValueError(
            f"{place}: {len(found)} responses can be negatives, fewer than {self.count}{self.hint}"
        )

    def _numbers(self, responses: Sequence[str]) -> Iterator[int]:
        """Random numbers, and after many failures all numbers in random order."""
        everything = range(len(responses))
        for _ in range(_TRIES * self.count):
            yield self.draw.pick(everything)
        yield from self.draw.shuffled(everything)


def normal(text: str) -> str:
    """A text without case and white space, in which copies of a message differ."""
    return "".join(text.casefold().split())
