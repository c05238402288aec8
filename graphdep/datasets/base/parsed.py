"""The base classes of parsed corpora: parses, vocabulary, processed files and their digest."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import logging
import os
import pickle
import re
import types
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, TypedDict

import torch
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from graphdep.data.encoded import trees_data
from graphdep.data.node_table import NodeType
from graphdep.datasets.base.raw import RawFiles
from graphdep.datasets.base.rows import KnownOptions
from graphdep.io.files import atomic_path, file_digest, home_path
from graphdep.io.limits import check_choice, check_least, plural
from graphdep.io.progress import say, with_progress
from graphdep.parsing.enhanced import LEVELS, check_arcs, check_engine, enhance, enhance_fingerprint
from graphdep.parsing.parser import Input, Parser, parse_joined
from graphdep.parsing.resolver import resolve_parser
from graphdep.sentence.sentence import Sentence
from graphdep.version import __version__
from graphdep.vocab.pieces import vocab_from_state
from graphdep.vocab.relations import GRAPH_MIN_FREQ, RELATIONS, UD_SHARE, RelationVocab, label_counts
from graphdep.vocab.vectors import words_with_vector
from graphdep.vocab.vocab import UNK_ID, Tokens, Vocab

_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial)
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def digest(value: object) -> str:
    """The first sixteen digits of the SHA-256 of a value (:func:`describe`)."""
    return hashlib.sha256(describe(value).encode()).hexdigest()[:16]


def digests(texts: Iterable[str]) -> Tensor:
    """A 64-bit digest of each text, ``[n]``, long."""
    found = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return torch.tensor([int.from_bytes(value, "big", signed=True) for value in found], dtype=torch.long)


def describe(value: Any) -> str:
    """A text that is the same for equal values only: an object's class and all of its attributes.

    The :func:`repr` of many transforms lacks arguments.
    """
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, Tensor):
        content = value.detach().cpu().contiguous().flatten().tolist()
        return f"tensor({value.dtype}, {tuple(value.shape)}, {digest(content)})"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(describe, value))})"
    if isinstance(value, (set, frozenset)):
        return f"{type(value).__name__}({', '.join(sorted(map(describe, value)))})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{describe(key)}: {describe(item)}' for key, item in value.items())})"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    return _describe_object(value)


def _describe_object(value: Any) -> str:
    if isinstance(value, _FUNCTIONS):
        raise ValueError(
            f"{value!r} cannot be distinguished from another function of that name, so processed files could "
            "be stale: use a transform object (a BaseTransform with its arguments as attributes) instead"
        )
    if hasattr(value, "__dict__"):
        return f"{describe(type(value))}{describe(vars(value))}"
    text = repr(value)
    if " at 0x" in text:
        raise ValueError(f"{text} shows an address instead of its arguments: processed files could be stale")
    return f"{describe(type(value))}{text}"


logger = logging.getLogger("graphdep.datasets")

FORMAT = "graphdep examples 5"
_MAGIC = f"{FORMAT}\n".encode()
_START = len(_MAGIC) + hashlib.sha256().digest_size


def save_examples(payload: dict[str, Any], path: Path) -> None:
    """Writes tensors and plain values to a file, atomically.

    The file has a line with the format, the SHA-256 of the content, and the content, so a truncated or
    changed file is recognised before its content is read.
    """
    buffer = io.BytesIO()
    torch.save(payload, buffer)
    content = buffer.getvalue()
    try:
        torch.load(io.BytesIO(content), weights_only=True)
    except pickle.UnpicklingError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"examples must hold tensors and plain values only ({reason})") from None
    with atomic_path(path) as temporary:
        temporary.write_bytes(_MAGIC + hashlib.sha256(content).digest() + content)


def load_examples(path: Path) -> dict[str, Any] | None:
    """Reads a file of :func:`save_examples`; :obj:`None` if it is missing, damaged or holds other objects."""
    try:
        file = path.read_bytes()
    except FileNotFoundError:
        return None
    content = file[_START:]
    if file[: len(_MAGIC)] != _MAGIC or hashlib.sha256(content).digest() != file[len(_MAGIC) : _START]:
        logger.warning("%s is damaged (%d bytes) and is made again", path, len(file))
        return None
    try:
        return torch.load(io.BytesIO(content), weights_only=True)
    except pickle.UnpicklingError:
        logger.warning("%s holds more than tensors and plain values and is made again", path)
        return None
    except Exception as error:  # torch raises anything for a damaged archive with a correct digest
        logger.warning("%s is damaged (%s) and is made again", path, str(error)[:100])
        return None


def known_relations(given: str | RelationVocab, reads_train: bool) -> tuple[RelationVocab, bool]:
    """The relations of a corpus before its arcs are read, and whether they are learned from these.

    Args:
        given: Option ``relations`` of the corpus.
        reads_train: Whether the training split is read anyway.
    """
    if isinstance(given, RelationVocab):
        return given.copy(), False
    check_choice("relations", given, RELATIONS)
    return RelationVocab(), given == "learned" or (given == "auto" and reads_train)


def warn_of_relations(corpus: str, split: str, relations: RelationVocab, labels: Counter[str]) -> None:
    """Logs a warning if a split read without the training split has labels other than those of UD."""
    if relations.unknown(labels).total() > (1 - UD_SHARE) * labels.total():
        text = "%s (%s): %s; use relations=train.relations for those of the training split"
        logger.warning(text, corpus, split, relations.note(labels))


_LIMIT = re.compile(r"max_words=(\d+)")


def warn_of_chains(corpus: str, split: str, failures: int, parser: str) -> None:
    """Logs a warning if texts have chain trees.

    Args:
        corpus, split: Corpus and split of the texts.
        failures: Number of texts with chain trees.
        parser: Fingerprint of the parser, which may have its limit of words.
    """
    if not failures:
        return
    limit = _LIMIT.search(parser)
    split_long = f"split sentences of more than {limit[1]} words, then " if limit else ""
    logger.warning(
        "%s (%s): %s could not be parsed (each word below the one before): %sdelete processed/ in the root "
        "to parse again (in Python force_reload=True)",
        *(corpus, split, plural(failures, "text"), split_long),
    )


class CorpusOptions(TypedDict, total=False):
    """Options of every corpus, all of them keywords.

    Args:
        raw_from: Local folder to copy the raw files from, after they were checked. (default: :obj:`None`)
        vocab: The vocabulary, e.g. of a checkpoint; :obj:`None` builds it from the training split.
            (default: :obj:`None`)
        relations: Ids of relations, e.g. of a checkpoint, or how they are chosen from the arcs of the
            training split: ``"auto"``, ``"ud"`` or ``"learned"`` (:meth:`RelationVocab.of_arcs`). For another
            split that needs nothing else of the training split, ``"auto"`` uses Universal Dependencies and
            warns if more than 5% of the arcs are unknown; then pass the relations of the training split.
            (default: ``"auto"``)
        min_freq: Rarer words are unknown in a vocabulary that is built. (default: :obj:`1`, for dialogues
            :obj:`3`)
        lower: Lower-case words in a vocabulary that is built. (default: :obj:`True`)
        limit: The largest number of examples, the first ones unless the corpus says otherwise; applied before
            parsing. The vocabulary of a limited training split is built from its examples, that of any other
            split from the whole training split. (default: :obj:`None`)
        transform: Applied to an example at each access, as in PyG. (default: :obj:`None`)
        log: Print what is processed to stderr, as in PyG. (default: :obj:`True`)
        force_reload: Process the corpus again, as in PyG. (default: :obj:`False`)
    """

    raw_from: str | os.PathLike[str] | None
    vocab: Vocab | None
    relations: str | RelationVocab
    min_freq: int
    lower: bool
    limit: int | None
    transform: Callable | None
    log: bool
    force_reload: bool


class SavedOptions(CorpusOptions, total=False):
    """Options of corpora with saved examples: those of :class:`CorpusOptions`, and these.

    Args:
        pre_transform, pre_filter: Applied before examples are saved, as in PyG; objects, not functions.
            (default: :obj:`None`)
    """

    pre_transform: Callable | None
    pre_filter: Callable | None


class ParsedOptions(SavedOptions, total=False):
    """Options of every corpus of sentences: those of :class:`SavedOptions`, and these.

    Args:
        vocab_from: ``"train"`` builds the vocabulary from the training split only, so that its unknown words
            are [UNK] in all splits. ``"vectors"`` adds each word of any split, however rare, that has a
            vector in :obj:`vectors`, with ids after the others. It uses the words, though not the labels, of
            the test split, as is usual with GloVe (the code of Tree-LSTM does so). By default a model has not
            seen the test texts. (default: ``"train"``)
        vectors: With ``vocab_from="vectors"`` the file, as for :func:`~graphdep.vocab.vectors.load_vectors`.
            (default: :obj:`None`)
        tokens: Ids of word pieces, instead of a vocabulary; an example is then one text or a pair, and
            :attr:`vocab` has no words. (default: :obj:`None`)
        max_length: With ``tokens``, the largest number of nodes of an example; :obj:`None` for no limit.
            (default: :obj:`None`)
        arcs: Source of ``arc_index``: ``"basic"`` trees, or graphs, ``"enhanced"`` or ``"enhanced++"``, made
            from trees if the parser returns none (:func:`graphdep.parsing.enhance`). (default: ``"basic"``)
        engine: Makes enhanced graphs, ``"rules"`` or ``"pybart"``. (default: ``"rules"``)
        relation_min_freq: If relations are learned from enhanced graphs, rarer labels are reduced to the part
            before the colon. (default: :obj:`5`)
        constituents: Read constituents of the parser (``resolve_parser("bundled", constituents=True)``), for
            edges such as ``"constituents"``; ``"tagged"`` without ``tokens`` also reads the tags of words.
            (default: :obj:`False`)
        one_sentence: Give each text one tree, wherever the parser ends sentences. (default: :obj:`False`)
        root_node: Add a ROOT node before the words of each sentence, except with ``tokens``.
            (default: :obj:`True`)
    """

    vocab_from: str
    vectors: str | os.PathLike[str] | None
    tokens: Tokens | None
    max_length: int | None
    arcs: str
    engine: str
    relation_min_freq: int
    constituents: bool | str
    one_sentence: bool
    root_node: bool


@dataclass(frozen=True)
class Example:
    """The trees of an example, and its graph-level keys such as ``y``."""

    sentences: list[Sentence]
    targets: Mapping[str, Tensor] = field(default_factory=dict)
    segment: list[int] | None = None
    given: Sequence[Any] = field(default=(), kw_only=True)
    """Texts or words, marks and labels from the corpus, independent of the parser, as JSON values; if empty,
    the words of the trees and ``y`` are used.
    """

    def digest(self) -> str:
        """A digest that is independent of the parser (:func:`example_digest`)."""
        if self.given:
            return example_digest(*self.given)
        y = self.targets.get("y")
        return example_digest(*map(words_alone, self.sentences), None if y is None else y.tolist())


def example_digest(*given: Any) -> str:
    """The first twelve digits of the SHA-256 of plain values."""
    return hashlib.sha256(json.dumps(given).encode("ascii")).hexdigest()[:12]


def words_alone(sentence: Sentence) -> str:
    """The words without spaces, since parsers split words differently."""
    return "".join("".join(sentence.form).split())


class ParsedDataset(KnownOptions, RawFiles, InMemoryDataset):
    """Base class of corpora: one PyG ``Data`` per example.

    It is made by :func:`graphdep.to_data`, with one node per word; with :obj:`tokens`, as for pretrained
    encoders, by :func:`graphdep.data.encoded`, with [CLS], [SEP] and one node per piece.

    The name of a processed file has a digest of everything that it depends on (raw files, parser, options,
    vocabulary, :obj:`pre_transform` with its arguments, versions), so no other setting loads it. It is
    written atomically and checked when it is loaded; a damaged file is made again.

    A subclass names the raw files of a split (:meth:`raw_files`), reads them (:meth:`read`), makes examples
    (:meth:`examples`), and sets its own options before it calls ``super().__init__``.

    Args:
        root: Folder of the corpus, with ``raw/``, ``processed/`` and ``cache/``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        to_data_options: Further arguments of :func:`graphdep.to_data`. (default: none)
        raw_from, vocab, vocab_from, vectors, tokens, max_length, arcs, engine, relation_min_freq,
            constituents, relations, min_freq, lower, limit, transform, pre_transform, pre_filter, log,
            force_reload: See :class:`ParsedOptions`.

    Shapes:
        - ``cut_words``: :math:`(1, 2)`, long, with :obj:`tokens`: number of words of the first and of the
          second text that are missing or incomplete
    """

    arc_labels: Counter[str]
    """The number of arcs with each label in the whole split."""
    bracketed = False
    """Whether the corpus has gold constituents."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        *,
        raw_from: str | os.PathLike[str] | None = None,
        vocab: Vocab | None = None,
        vocab_from: str = "train",
        vectors: str | os.PathLike[str] | None = None,
        tokens: Tokens | None = None,
        max_length: int | None = None,
        arcs: str = "basic",
        engine: str = "rules",
        relation_min_freq: int = GRAPH_MIN_FREQ,
        constituents: bool | str = False,
        one_sentence: bool = False,
        relations: str | RelationVocab = "auto",
        min_freq: int = 1,
        lower: bool = True,
        limit: int | None = None,
        to_data_options: Mapping[str, Any] | None = None,
        transform: Callable | None = None,
        pre_transform: Callable | None = None,
        pre_filter: Callable | None = None,
        log: bool = True,
        force_reload: bool = False,
    ) -> None:
        check_split(split, self.splits, limit, tokens, vocab)
        if tokens is None and max_length is not None:
            raise ValueError(f"'max_length' counts pieces and needs 'tokens' (got {max_length})")
        check_arcs(arcs)
        check_engine(engine)
        check_least("relation_min_freq", relation_min_freq, 1)
        self.vectors = _checked_vectors(vocab_from, vectors)
        self.split, self.limit, self.min_freq, self.lower = split, limit, min_freq, lower
        self.raw_from = None if raw_from is None else home_path(raw_from)
        self.tokens, self.max_length = tokens, max_length
        self.arcs, self.engine, self.relation_min_freq = arcs, engine, relation_min_freq
        self.constituents = constituents
        self._given_vocab = vocab if tokens is None else Vocab()
        reads_train = split == "train" or self._given_vocab is None or arcs != "basic"
        self.relations, self._learns_relations = known_relations(relations, reads_train)
        self._relations = relations if isinstance(relations, str) else ""
        if self._learns_relations and self._given_vocab is not None:
            self.train_is_for = "the relations are learned from it unless 'relations' is given"
        self.to_data_options = dict(to_data_options or {})
        super().__init__(os.fspath(root), transform, pre_transform, pre_filter, log, force_reload)
        self._restore(self.__dict__.pop("_payload"))

    def __getstate__(self) -> dict[str, Any]:
        # Workers of a DataLoader get no models and no database.
        return {key: value for key, value in self.__dict__.items() if key != "_parser"}

    @abstractmethod
    def read(self, folder: Path, split: str) -> list[Any]:
        """The content of the raw files of a split in ``folder``, checked but not parsed, one item per
        example.
        """

    @abstractmethod
    def examples(self, split: str, limit: int | None) -> list[Example]:
        """Reads and parses the examples of a split, at most ``limit`` of them."""

    def make_vocab(self, examples: list[Example]) -> Vocab:
        """The vocabulary of the training examples."""
        words = (sentence.form for example in examples for sentence in example.sentences)
        return Vocab.build(words, min_freq=self.min_freq, lower=self.lower)

    def learn_relations(self, examples: list[Example]) -> None:
        """Learns the relations from the arcs of the training split."""
        least = self.relation_min_freq if self.arcs in LEVELS else None
        labels = self._labels_of(examples)
        self.relations = RelationVocab.of_arcs(labels, self._relations, graph_min_freq=least)

    def _labels_of(self, examples: list[Example]) -> Counter[str]:
        """The number of arcs with each label."""
        return label_counts((tree for example in examples for tree in example.sentences), self.arcs)

    def make_data(self, examples: list[Example], vocab: Vocab) -> Iterator[Data]:
        """One ``Data`` per example, before :obj:`pre_filter` and :obj:`pre_transform`."""
        own: dict[str, Any] = {
            "vocab": vocab,
            "tokens": self.tokens,
            "max_length": self.max_length,
            "arcs": self.arcs,
            "phrases": self.constituents or self.bracketed,
        }
        for example in examples:
            options = {"segment": example.segment, **self.to_data_options}
            data = trees_data(example.sentences, self.relations, **own, **options)
            for key, value in example.targets.items():
                data[key] = value
            yield data

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        """Tensors and plain values to store with the examples, for :meth:`restore`."""
        return {}

    def restore(self, notes: dict[str, Any]) -> None:
        """Restores the values of :meth:`notes`, also after loading a processed file."""

    def texts(self) -> list[tuple[str, ...]]:
        """The texts of each example as in the raw files; empty if unknown."""
        return []

    def example_digests(self) -> list[str]:
        """A digest of each example's texts or words, marks and labels, independent of other options."""
        return [self._example_digests[number] for number in self.indices()]

    def copy(self, idx: Any = None) -> Self:
        copied = super().copy(idx)
        copied._example_digests = (self if idx is None else self.index_select(idx)).example_digests()
        return copied

    def options(self) -> dict[str, Any]:
        """The options of a subclass that change its examples, including the parser's fingerprint."""
        return {}

    @property
    def processed_file_names(self) -> list[str]:
        return [f"{self.split}-{self._digest}.pt"]

    @property
    def follow_batch(self) -> list[str]:
        """Keys for ``follow_batch`` of PyG's ``DataLoader``."""
        return ["target_ids"] if "target_ids" in self._data else []

    def update_digest(self, sha: hashlib._Hash) -> None:
        """Adds the trees, words and targets of all examples to a digest."""
        for key, value in sorted(self._data.to_dict().items()):
            if isinstance(value, Tensor):
                sha.update(f"{key} {tuple(value.shape)} {value.dtype}".encode())
                sha.update(value.contiguous().numpy().tobytes())
        if self.relations.used is not None:
            sha.update(repr(self.relations.state_dict()).encode())  # the meaning of the relation numbers

    def describe(self) -> dict[str, Any]:
        """Describes the examples in plain values: sizes, unknown words, failures of the parser.

        With :obj:`tokens`, ``words`` counts the remaining words, ``unknown_words`` is the share of them with
        an unknown piece, ``cut_words`` in ``cut_examples`` are missing or incomplete, and ``forms`` counts
        the distinct words before truncation; there is no ``vocabulary``.

        For a slice, values that are known for the whole split only are left out.
        """
        if self._indices is not None:  # a slice shares the data of the whole
            return self.copy().describe()
        described = {
            "corpus": self.corpus,
            "split": self.split,
            "examples": self.len(),
            "words": self._num_words(),
            **({"vocabulary": len(self.vocab)} if self.tokens is None else self._describe_cut()),
            "unknown_words": self._unknown_words(),
            "parser": self.parser_fingerprint,
        }
        return described | (self._describe_loading() if self.len() == self._num_loaded else {})

    def _num_words(self) -> int:
        words = self._data.node_type == NodeType.WORD
        return int((words if self.tokens is None else _first_pieces(self._data)).sum())

    def _unknown_words(self) -> float:
        """The share of words that are ``[UNK]`` or have an unknown piece."""
        words = self._data.node_type == NodeType.WORD
        unknown = words & (self._data.input_ids == getattr(self.tokens, "unk_id", UNK_ID))
        if self.tokens is None:
            return float(unknown.sum() / words.sum())
        number = _first_pieces(self._data).cumsum(0)
        return number[unknown & (self._data.word >= 0)].unique().numel() / max(1, self._num_words())

    def _describe_cut(self) -> dict[str, int]:
        cut = self._data.cut_words.sum(dim=1)
        return {"cut_examples": int((cut > 0).sum()), "cut_words": int(cut.sum())}

    def _describe_loading(self) -> dict[str, Any]:
        """Values that are known for the whole split only."""
        return {
            **({} if self.tokens is None else {"forms": self._forms}),
            "parser_failures": self.parser_failures,
            "unknown_relations": self.relations.fallbacks.total(),
            "relation_types": self.relations.types(self.arc_labels),
            **({"relations": self.relations.about(self.arc_labels)} if self.split == "train" else {}),
        }

    def process(self) -> None:
        """Makes the examples of the split and writes them."""
        payload = self._make()
        save_examples(payload, Path(self.processed_paths[0]))
        self._payload = payload

    def _process(self) -> None:
        # PyG's method only checks whether the file exists, and unpickles two others.
        self._digest = digest(self._depends_on())
        loaded = None if self.force_reload else load_examples(Path(self.processed_paths[0]))
        if loaded is not None:
            self._payload = loaded
            return
        if self.log and "PYTEST_CURRENT_TEST" not in os.environ:
            own = getattr(self, "files", {}).get(self.split)
            name = own.name if own else f"{self.corpus} ({self.split})"
            say(f"Processing {name}{self.kept_in} ...")
        self.process()

    def _needed(self) -> list[str]:
        learns = self._given_vocab is None or self._learns_relations or self.learns_labels
        return sorted({self.split, *(["train"] if learns else [])})

    def _depends_on(self) -> dict[str, Any]:
        paths = [path for split in self._needed() for path in self.raw_files(Path(self.raw_dir), split)]
        relations = self._relations if self._learns_relations else self.relations.state_dict()
        return {
            "format": [FORMAT, __version__, type(self)],
            "raw": [(path.name, file_digest(path)) for path in paths],
            "split": [self.split, self.limit],
            "options": self.options(),
            "to_data": self.to_data_options,
            "vocab": self._ids_depend_on(),
            "relations": [self.arcs, relations, *([self.relation_min_freq] if self.arcs in LEVELS else [])],
            "pre": [self.pre_transform, self.pre_filter],
            **({"constituents": self.constituents} if self.constituents else {}),
        }

    def _ids_depend_on(self) -> object:
        if self.tokens is not None:
            return [self.tokens.fingerprint, self.max_length]
        if self._given_vocab is not None:
            return self._given_vocab.state_dict()
        learned = [self.min_freq, self.lower]
        if self.vectors is None:
            return learned
        raw = [path for split in self._other_splits() for path in self.raw_files(Path(self.raw_dir), split)]
        return [*learned, file_digest(self.vectors), *((path.name, file_digest(path)) for path in raw)]

    def _make(self) -> dict[str, Any]:
        self.parser_failures = 0
        examples = self._some_examples(self.split, self.limit)
        failures = self.parser_failures  # without those of the training split
        vocab = self._learn(examples)
        made = zip(with_progress(examples, "making examples"), self.make_data(examples, vocab))
        kept = [(data, example) for example, data in made if self.pre_filter is None or self.pre_filter(data)]
        if not kept:
            raise ValueError(f"'pre_filter' removes all {len(examples)} examples (got {self.pre_filter!r})")
        change = self.pre_transform
        data, slices = self.collate([data if change is None else change(data) for data, _ in kept])
        return {
            "data": data.to_dict(),
            "digests": [example.digest() for _, example in kept],
            "slices": slices,
            "vocab": vocab.state_dict(),
            "relations": self.relations.state_dict(),
            "forms": None if self.tokens is None else _num_forms(examples),
            "parser": self.options().get("parser", "gold"),
            "parser_failures": failures,
            "fallbacks": dict(self.relations.fallbacks),
            "arc_labels": dict(self._labels_of(examples)),
            "notes": self.notes(examples),
        }

    def _learn(self, examples: list[Example]) -> Vocab:
        """Learns the relations, and returns the vocabulary, from the training split unless they are given."""
        given = self._given_vocab
        if self.split != "train" and (given is None or self._learns_relations):
            examples = self._some_examples("train", None)
        if self._learns_relations:
            self.learn_relations(examples)
        if given is not None:
            return given
        vocab = self.make_vocab(examples)
        return vocab if self.vectors is None else self._with_vectors(vocab, examples, self.vectors)

    def _other_splits(self) -> list[str]:
        """Existing splits other than the training split."""
        raw = Path(self.raw_dir)
        return [split for split in self.splits if split != "train" and self.raw_files(raw, split)]

    def _with_vectors(self, vocab: Vocab, train: list[Example], vectors: Path) -> Vocab:
        """The vocabulary, extended by further words of all splits that have a vector."""
        more = [example for split in self._other_splits() for example in self.examples(split, None)]
        forms = (sentence.form for example in [*train, *more] for sentence in example.sentences)
        others = [word for word in Vocab.build(forms, lower=self.lower).words if word not in vocab]
        there = words_with_vector(vectors, others)
        own = vocab.state_dict()["words"]
        return Vocab([*own, *(word for word in others if word in there)], lower=vocab.lower)

    def _some_examples(self, split: str, limit: int | None) -> list[Example]:
        examples = self.examples(split, limit)
        self._check_some(len(examples), Path(self.raw_dir), split)
        return examples

    def _restore(self, payload: dict[str, Any]) -> None:
        self.data, self.slices = Data.from_dict(payload["data"]), payload["slices"]
        self._num_loaded, self._example_digests = self.len(), payload["digests"]
        self.vocab = vocab_from_state(payload["vocab"])
        if self._learns_relations:
            self.relations = RelationVocab.from_state_dict(payload["relations"])
        if self.tokens is not None:
            self._forms = payload["forms"]
            self._report_cut()
        self.parser_fingerprint, self.parser_failures = payload["parser"], payload["parser_failures"]
        self.relations.fallbacks = Counter(payload["fallbacks"])
        self.arc_labels = Counter(payload["arc_labels"])
        if self._relations == "auto" and not self._learns_relations:
            warn_of_relations(self.corpus, self.split, self.relations, self.arc_labels)
        warn_of_chains(self.corpus, self.split, self.parser_failures, self.parser_fingerprint)
        self.restore(payload["notes"])

    def _report_cut(self) -> None:
        cut = self._describe_cut()
        if cut["cut_words"]:
            logger.warning(
                "%s (%s): 'max_length' %d cuts %d words of %d examples",
                *(self.corpus, self.split, self.max_length, cut["cut_words"], cut["cut_examples"]),
            )


def check_split(split: str, splits: Sequence[str], limit: int | None, tokens: object, vocab: object) -> None:
    """Raises :class:`ValueError` if an option that all corpora share is wrong."""
    check_choice("split", split, splits)
    check_least("limit", limit, 1)
    if tokens is not None and vocab is not None:
        raise ValueError("'tokens' and 'vocab' cannot both be given: either one defines the ids")


def _checked_vectors(vocab_from: str, vectors: str | os.PathLike[str] | None) -> Path | None:
    """The file of vectors with ``vocab_from="vectors"``, else :obj:`None`."""
    check_choice("vocab_from", vocab_from, ("train", "vectors"))
    if (vocab_from == "vectors") != (vectors is not None):
        got = f"(got {vectors!r}, vocab_from={vocab_from!r})"
        raise ValueError(f"'vectors' must be a file with vocab_from='vectors', and only then {got}")
    return None if vectors is None else home_path(vectors)


def _num_forms(examples: list[Example]) -> int:
    return len({form for example in examples for tree in example.sentences for form in tree.form})


def _first_pieces(data: Data) -> Tensor:
    """Whether each node is the first piece of a word; two texts are separated by another node."""
    before = torch.cat([torch.tensor([-1]), data.word[:-1]])
    return (data.word >= 0) & (data.word != before)


def parser_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a corpus for :func:`graphdep.parsing.resolve_parser`."""
    reads = {name: options[name] for name in ("arcs", "engine", "one_sentence") if name in options}
    return {**reads, "constituents": bool(options.get("constituents"))}


class TextDataset(ParsedDataset):
    """Base class of corpora whose texts are parsed; parses are stored in ``cache/parses.sqlite``.

    Args:
        root: Folder of the corpus.
        split: ``"train"``, ``"val"`` or ``"test"``.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser.
        options: Further options, see :class:`ParsedOptions`.
    """

    shared_options: ClassVar[type] = ParsedOptions

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        parser: str | Parser,
        *,
        root_node: bool = True,
        **options: Any,
    ) -> None:
        cache = home_path(root) / "cache" / "parses.sqlite"
        self._parser = resolve_parser(parser, cache=cache, **parser_options(options))
        self.parser_fingerprint = self._parser.fingerprint
        super().__init__(root, split, to_data_options={"root": root_node}, **options)

    def options(self) -> dict[str, Any]:
        enhanced = {} if self.arcs == "basic" else {"enhance": enhance_fingerprint(self.engine)}
        return {"parser": self.parser_fingerprint, **enhanced}

    def trees_of_texts(self, texts: Sequence[Input], roots: str = "first") -> list[Sentence]:
        """One tree per text, list of words or tree (:func:`parse_joined`)."""
        trees, failures = parse_joined(self._parser, texts, roots=roots)
        self.parser_failures += failures
        return self._enhanced(trees)

    def trees_of_words(self, words: Sequence[Sequence[str]]) -> list[Sentence]:
        """One tree per list of words, which are kept."""
        before = self._parser.failures
        trees = self._parser.parse_words(words)
        self.parser_failures += self._parser.failures - before
        return self._enhanced(trees)

    def _enhanced(self, trees: list[Sentence]) -> list[Sentence]:
        return trees if self.arcs == "basic" else enhance(trees, self.arcs, self.engine)
