"""The base class of corpora of response selection."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import sys
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
from graphdep.parsing.enhanced import LEVELS, check_arcs, check_engine, enhance, enhance_fingerprint
from graphdep.parsing.parser import Parser, ParserUnavailableError
from graphdep.parsing.resolver import resolve_parser, resolving_now
from graphdep.sentence.sentence import Sentence
from graphdep.version import __version__
from graphdep.vocab.pieces import VocabTokens
from graphdep.vocab.relations import GRAPH_MIN_FREQ, RelationVocab
from graphdep.vocab.vocab import UNK_ID, Tokens, Vocab

T = TypeVar("T")


def spread_pools(read: Callable[[], Iterable[Pool]], limit: int) -> Iterator[Pool]:
    r"""Some pools, evenly spread, so that no part of a split, such as its oldest logs, stands for all of it.

    Of :math:`T` pools these are :math:`n`, those whose number :math:`j`, from 0, has

    .. math::
        \lfloor (j + 1) \cdot n / T \rfloor > \lfloor j \cdot n / T \rfloor

    Of pools of one size, :math:`n` is the least number that has ``limit`` pairs; of pools of several sizes
    the least that has them if each had the mean size, and so there may be a few pairs less. No pool is kept
    in memory.

    Args:
        read: Gives all pools, the same ones in the same order whenever it is called; called twice.
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

    ``vocab`` is built of the different utterances of the training split, each counted once. ``limit`` counts
    pairs, of whole pools that are spread evenly over the split: at least as many where all pools have one
    size, else about as many (``spread``).

    Args:
        tokens: Ids of words' pieces; :obj:`None` for those of ``vocab``. (default: :obj:`None`)
        max_length: The largest number of nodes of an example; see :func:`~graphdep.data.encoded`
            for what is cut. (default: :obj:`256`)
        max_turns: The number of utterances of a context, the last ones; :obj:`None` for all.
            (default: :obj:`None`)
        keep_parses: Keep parses in ``cache/parses.sqlite``; off where the parser is faster than the disk.
            (default: :obj:`True`)
        cache_size: The number of utterances that are kept in memory, those that were used last.
            (default: :obj:`20_000`)
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
    """Options of the corpora with one candidate a line: those of :class:`SelectionOptions`, and this one.

    Args:
        pool_size: The number of candidates that every pool of test must have; :obj:`None` for any number.
            (default: :obj:`10`)
    """

    pool_size: int | None


class DrawnOptions(SelectionOptions, total=False):
    """Options of the corpora with drawn negatives: those of :class:`SelectionOptions`, and these.

    Args:
        negatives: The number of negatives of a pool; :obj:`None` for 1 in train and 9 in val and test.
            (default: :obj:`None`)
        seed: What the draws start from. (default: :obj:`0`)
    """

    negatives: int | None
    seed: int


logger = logging.getLogger("graphdep.datasets")

# Pairs that tell whether contexts are cut: to build them takes a moment, and all of them a pass.
_LOOKED_AT = 200


class SelectionDataset(KnownOptions, RawFiles, Dataset):
    r"""Base of the corpora of response selection: one PyG ``Data`` a pair of a context and a candidate.

    Pairs stay on disk, in one SQLite file (``SelectionStore``), and
    become a ``Data`` when they are asked for, by :func:`graphdep.data.encoded`. The file has
    every utterance and every context once, however often they occur, as numbers of words and a tree in a few
    bytes a word; it does not depend on :obj:`tokens`, :obj:`max_length` and :obj:`relations`. Neither
    building nor loading needs memory for more than a few hundred pools and the lexicon.

    The name of the file holds a digest of all that it depends on (raw files, parser, options, versions), so
    that no other setting can load it. It is there once it is whole: a build that was stopped begins anew,
    without parsing again what ``cache/parses.sqlite`` has, where parses are kept for other settings, too.
    Equal utterances are parsed once.

    Pairs of one pool follow one another, in the order of the raw file. Nothing is left out: blank utterances,
    pools without a right candidate and the like are counted, see :meth:`describe`.

    Args:
        root: Folder of the corpus, with ``raw/``, ``processed/`` and ``cache/``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser.
        raw_from, tokens, max_length, max_turns, vocab, relations, min_freq, lower, limit, keep_parses,
            cache_size, arcs, engine, relation_min_freq, constituents, transform, log, force_reload: See
            :class:`SelectionOptions`.

    Shapes:
        - the node table of :func:`~graphdep.data.encoded`, and its ``cut_words``
        - ``y``: :math:`(1)`, float, 1 for a right response, else 0
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
        """The pools of the raw files of a split, one by one, the same ones in every call."""

    def options(self, split: str) -> dict[str, Any]:
        """The options of a subclass that the pools of a split depend on."""
        return {}

    @property
    def processed_file_names(self) -> list[str]:
        return [self._store.path.name]

    @property
    def vocab(self) -> Vocab:
        """The vocabulary that was given or built; where :obj:`tokens` are given, it is built on demand."""
        if self._vocab is None:
            self._vocab = build_vocab(self._train(), self.min_freq, self.lower)
        return self._vocab

    def _train(self) -> SelectionStore:
        """The file of the training split, whole unless this is that split, built if it is not there."""
        if self.split == "train":
            train, limit = SelectionStore(self._store.path), self.limit
        else:
            train, limit = self._store_of("train", None), None
        self._build(train, "train", limit)
        return train

    def len(self) -> int:
        return self._totals["pairs"]

    def get(self, idx: int) -> Data:
        """The pair of that number, of the whole split and before :obj:`transform`."""
        return self._load([int(idx)])[0]

    def multi_get(self, indices: Iterable[int] | Tensor | slice, batch_size: int | None = None) -> list[Data]:
        """As :meth:`get`, several pairs at once, after :obj:`transform`."""
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
        """The trees of a pair's context and of its candidate, uncut; :obj:`None` for one without words."""
        pair = self._pairs([self.indices()[number]])[0]
        turns = [*pair.context.tolist(), pair.response]
        sentences = self._sentences(self._store.trees(turns))
        *context, response = [sentences[turn] for turn in turns]
        return context, response

    def _sentences(self, trees: Mapping[int, Tree]) -> dict[int, Sentence | None]:
        """Utterances as sentences, with their graphs and constituents where these are stored."""
        words = self._store.words_of({word for tree in trees.values() for word in tree[0].tolist()})
        graphs = self._store.graphs(trees) if self.has_graphs else {}
        return {
            turn: sentence_of(tree, words, self._labels, graphs.get(turn)) for turn, tree in trees.items()
        }

    def context(self, number: int) -> list[list[str]]:
        """The words of each utterance of a pair's context, uncut."""
        return [list(tree.form) if tree else [] for tree in self.sentences(number)[0]]

    def response(self, number: int) -> list[str]:
        """The words of a pair's candidate, uncut."""
        tree = self.sentences(number)[1]
        return list(tree.form) if tree else []

    def encoded(self, numbers: Sequence[int]) -> list[tuple[list[EncodedUtterance], EncodedUtterance]]:
        """The utterances of pairs' contexts and their candidates, uncut; equal ones are one object."""
        own = self.indices()
        pairs = self._pairs([own[number] for number in numbers])
        found = self._encoded({turn for pair in pairs for turn in (*pair.context.tolist(), pair.response)})
        return [([found[turn] for turn in pair.context.tolist()], found[pair.response]) for pair in pairs]

    def openings(self, numbers: Sequence[int]) -> list[int | None]:
        """The first utterance of each pair's context by its number in the file, which equal ones share;
        :obj:`None` of an empty context.
        """
        own = self.indices()
        pairs = self._pairs([own[number] for number in numbers])
        return [int(pair.context[0]) if len(pair.context) else None for pair in pairs]

    def example_digests(self) -> list[str]:
        """A digest of the words of each pair's context and candidate, and of its label, in a pass over the
        file; what is between the words is no part of it, which parsers split at other places.
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
        """Keys whose bounds a batch must know, for PyG's ``DataLoader``: none."""
        return []

    def update_digest(self, sha: hashlib._Hash) -> None:
        """Puts all that the examples are into a digest: what is stored, and what makes graphs of it."""
        used = [] if self.relations.used is None else [self.relations.used]
        parts = [self._store.content(), self.tokens.fingerprint, self.max_length]
        parts += [self.relations.learned, *used]
        own = self.indices()
        numbers = [own.start, own.stop, own.step] if isinstance(own, range) else list(map(int, own))
        sha.update(json.dumps([*parts, numbers]).encode())

    def describe(self) -> dict[str, Any]:
        """What is in the file, as plain values; of the whole split, also where this is a slice of it.

        ``utterances`` and ``words`` are those that are stored, each different utterance once, and
        ``bytes_per_word`` what they take without the lexicon of ``forms``; ``file_bytes`` is the whole file.
        ``unknown_words`` is the share of stored words with an unknown piece. ``empty_utterances`` counts
        blank turns and candidates, ``duplicate_candidates`` those that their pool has had before. Where pairs
        are longer than :obj:`max_length`, a ``note`` says how many of some that are spread over the split.
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
        """How many pairs lose words, of a few that are spread over the split: to count all takes a pass."""
        own = self.indices()
        numbers = list(own[:: max(1, len(own) // _LOOKED_AT)])
        cut = sum(bool(data.cut_words.sum()) for data in self._load(numbers))
        if not cut:
            return {}
        said = f"{cut} of {len(numbers)} pairs that were looked at lose words at max_length={self.max_length}"
        return {"note": f"{said}, their contexts the first ones"}

    def count_cut(self) -> dict[str, int]:
        """What :obj:`max_length` cuts, exactly, over all pairs of the split: a pass over the file.

        ``cut_pairs`` have a word less, in their context or response; ``cut_context_words`` and
        ``cut_response_words`` are what is cut in all pairs together, ``cut_responses`` the cut responses.
        """
        counts = self._pieces.counts
        sizes = np.fromiter((counts[tree[0]].sum() for tree in self._store.each_tree()), np.int64)
        if self.has_graphs:  # some of which have empty nodes
            found = self._encoded({*range(len(sizes))})
            sizes = np.array([found[turn].num_pieces for turn in range(len(sizes))])
        return count_cut(self._store, sizes, self.max_length, self._load)

    def process(self) -> None:
        """Builds the file, unless it is there and whole."""
        self._build(self._store, self.split, self.limit, again=self.force_reload)

    def _process(self) -> None:
        # PyG's own only looks whether a file exists, and unpickles two more.
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
        """The raw files that the pools of a split depend on."""
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
        """Builds the file of a split, unless it is whole or to be made again."""
        if store.path.exists() and not again:
            try:
                return store.check()
            except ValueError as error:
                text = "%s is damaged or no file of pairs (%s): it is made again"
                logger.warning(text, store.path, error.__cause__)
        if self._parser is None:
            text = "is not there, and a dataset that was unpickled has no parser to make it"
            raise RuntimeError(f"{store.path} {text}: ask the first one for its 'vocab' before")
        if not self._raw_of(split):
            raise FileNotFoundError(self._missing(split))
        self._check_some(sum(1 for _ in islice(self._pools(split, None), 1)), Path(self.raw_dir), split)
        name = f"{self.corpus} ({split})"
        quiet = resolving_now().progress is False
        shown = self.log and not quiet and "PYTEST_CURRENT_TEST" not in os.environ
        if shown:
            print(f"Processing {name} ...", file=sys.stderr)
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
        """Whether utterances have more than their tree: an enhanced graph or constituents."""
        return self.arcs != "basic" or bool(self.constituents)

    def _enhanced(self, trees: list[Sentence]) -> list[Sentence]:
        return trees if self.arcs == "basic" else enhance(trees, self.arcs, self.engine)

    def _pools(self, split: str, limit: int | None) -> Iterator[Pool]:
        """The pools to build, with the last turns of their contexts."""

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
        """Encodes every different word, once, so that loading does not look at words."""
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
        self._known = self.relations.copy()  # whose count of fallbacks is nobody's
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
                raise IndexError(f"there is no pair {number}: they are 0 to {self.len() - 1}")
        found = self._store.pairs(numbers)
        return [found[number] for number in numbers]

    def _encoded(self, turns: set[int]) -> dict[int, EncodedUtterance]:
        """Utterances by their numbers; those that are not in memory are read with one query."""
        # A dict keeps the order in which keys were put in: what is used now becomes the last.
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
        # Neither models nor what is in memory travel to the workers of a DataLoader.
        return {**self.__dict__, "_parser": None, "_cache": {}}

    def __copy__(self) -> SelectionDataset:
        copy = type(self).__new__(type(self))  # else copies and slices were without that, too
        copy.__dict__.update(self.__dict__)
        return copy


def _arc_labels(store: SelectionStore) -> Counter[str]:
    """How many arcs have each label, of each utterance once."""
    return +Counter(dict(zip(store.relations(), store.counts("relations").tolist())))


class Row(NamedTuple):
    """One line of a raw file."""

    line: int
    label: int
    context: list[str]
    response: str


def read_rows(path: Path) -> Iterator[Row]:
    """The lines of a raw file.

    Control characters, which texts of users have, are read as spaces.
    """
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
    """The pools of a raw file: lines with the same context that follow one another.

    Args:
        path: The file.
        make: Makes an utterance of a column.
        size: The number of candidates that every pool must have; where two pools of the same context follow
            one another, they are told apart. :obj:`None` for any number. (default: :obj:`None`)
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
    "is in Chinese: it takes a parser of Chinese, such as 'stanza:zh', StanzaParser('zh', directory=FOLDER), "
    "'bundled:FOLDER' with models that `graphdep train-parser` made, or 'conllu:FILE' with "
    "the trees"
)

Names = dict[str, tuple[str, ...]]

TEXT_FILES: Names = {
    "train": ("train.txt",),
    "val": ("valid.txt", "dev.txt"),
    "test": ("test.txt",),
}


class RowsSelection(SelectionDataset):
    """Base of the corpora in the layout ``label <TAB> utterances ... <TAB> response``.

    Words are those that white space separates. Lines with the same context that follow one another are one
    pool. Those of test are published with ten candidates each.

    Args:
        root, split, parser: As in :class:`SelectionDataset`.
        pool_size, options: See :class:`RowsOptions`.
    """

    shared_options = RowsOptions

    # The names of each split's file; the first that is there counts.
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
        """An utterance of a column."""
        return given_words(text)

    def _size(self, split: str) -> int | None:
        return self.pool_size if split in self.sized else None


class ChineseSelection(RowsSelection):
    """Base of the corpora in segmented Chinese, for which no parser comes with the package."""

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


_TRIES = 20  # a draw, before all that is left is listed


class DrawnSelection(SelectionDataset):
    """Base of the corpora whose negatives are drawn: pools of one true response and :obj:`negatives` others.

    The true response is the first of a pool; the metrics do not favour it where scores are equal. The
    negatives are those of a seed, the same on every machine and in every version of Python.

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
    """Draws the negatives of one pool after the other.

    Args:
        count: How many a pool has.
        seed: What the draws start from.
    """

    def __init__(self, count: int, seed: str) -> None:
        self.count, self.draw = count, Draw(random.Random(seed))
        self.hint = ""

    def of(
        self, responses: Sequence[str], allowed: Callable[[int], bool], taken: str, place: str
    ) -> list[int]:
        """Numbers of responses whose texts differ from each other and from :obj:`taken`.

        Args:
            responses: All responses of the split, without what makes no difference.
            allowed: Whether a number may be drawn.
            taken: The true response.
            place: Where that is, for messages.
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
        """Random numbers, and where those were no good, all of them in random order."""
        everything = range(len(responses))
        for _ in range(_TRIES * self.count):
            yield self.draw.pick(everything)
        yield from self.draw.shuffled(everything)


def normal(text: str) -> str:
    """A text without case and white space, which differ between copies of one message."""
    return "".join(text.casefold().split())
