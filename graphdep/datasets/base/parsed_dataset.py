"""What the corpora share: raw files, parses, vocabulary, and processed files that are never stale."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from graphdep.data import NodeType
from graphdep.data.encoded import trees_data
from graphdep.datasets.base.chain_trees import warn_of_chains
from graphdep.datasets.base.digest import digest, file_digest
from graphdep.datasets.base.known_options import KnownOptions
from graphdep.datasets.base.raw_files import RawFiles
from graphdep.datasets.base.storage import FORMAT, load_examples, save_examples
from graphdep.parsing.enhanced import check_arcs
from graphdep.parsing.resolver import resolving_now
from graphdep.sentence import Sentence
from graphdep.version import __version__
from graphdep.vocab import UNK_ID, RelationVocab, Tokens, Vocab
from graphdep.vocab.pieces import vocab_from_state
from graphdep.vocab.vectors import words_with_vector

logger = logging.getLogger("graphdep.datasets")


@dataclass(frozen=True)
class Example:
    """The trees of one example, and its graph-level keys such as ``y``."""

    sentences: list[Sentence]
    targets: Mapping[str, Tensor] = field(default_factory=dict)
    segment: list[int] | None = None


class ParsedDataset(KnownOptions, RawFiles, InMemoryDataset):
    """Base of the corpora: one PyG ``Data`` an example.

    It is made by :func:`graphdep.to_data`, with a node a word; where :obj:`tokens` are given, as for
    pretrained encoders, by :func:`graphdep.data.encoded`, with [CLS], [SEP] and a node a piece.

    The name of a processed file holds a digest of all that it depends on (raw files, parser, options,
    vocabulary, :obj:`pre_transform` with all its arguments, versions), so that no other setting can load
    it. It is written whole or not at all and checked when it is loaded; a damaged one is made again.

    A subclass says which raw files a split has (:meth:`raw_files`), reads them (:meth:`read`), makes examples
    of them (:meth:`examples`), and sets its own options before it calls ``super().__init__``.

    Args:
        root: Folder of the corpus, with ``raw/``, ``processed/`` and ``cache/``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        to_data_options: Further arguments of :func:`graphdep.to_data`. (default: none)
        raw_from, vocab, vocab_from, vectors, tokens, max_length, arcs, constituents, relations, min_freq,
            lower, limit, transform, pre_transform, pre_filter, log, force_reload: See :class:`ParsedOptions`.

    Shapes:
        - ``cut_words``: :math:`(1, 2)`, long, with :obj:`tokens`: words of the first and of the second text
          that are not there, or not as a whole
    """

    bracketed = False
    """Whether the corpus has constituents of its own."""

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
        constituents: bool | str = False,
        relations: RelationVocab | None = None,
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
        if split not in self.splits:
            raise ValueError(f"'split' must be one of {', '.join(self.splits)} (got {split!r})")
        if limit is not None and limit < 1:
            raise ValueError(f"'limit' must be at least 1 (got {limit})")
        if tokens is not None and vocab is not None:
            raise ValueError("'tokens' and 'vocab' are both given: the ids are those of one of them")
        if tokens is None and max_length is not None:
            raise ValueError(f"'max_length' counts pieces and needs 'tokens' (got {max_length})")
        check_arcs(arcs)
        self.vectors = _checked_vectors(vocab_from, vectors)
        self.split, self.limit, self.min_freq, self.lower = split, limit, min_freq, lower
        self.raw_from = None if raw_from is None else Path(raw_from).expanduser()
        self.tokens, self.max_length, self.arcs = tokens, max_length, arcs
        self.constituents = constituents
        self._given_vocab = vocab if tokens is None else Vocab()
        self._learns_relations = arcs != "basic" and relations is None
        if self._learns_relations and self._given_vocab is not None:
            self.train_is_for = "the relations are learned from it unless 'relations' is given"
        self.relations = RelationVocab(relations.learned if relations is not None else ())
        self.to_data_options = dict(to_data_options or {})
        super().__init__(os.fspath(root), transform, pre_transform, pre_filter, log, force_reload)
        self._restore(self.__dict__.pop("_payload"))

    @abstractmethod
    def read(self, folder: Path, split: str) -> list[Any]:
        """What the raw files of a split in ``folder`` have, checked but not parsed, one item an example."""

    @abstractmethod
    def examples(self, split: str, limit: int | None) -> list[Example]:
        """Reads and parses the examples of a split, or ``limit`` of them."""

    def make_vocab(self, examples: list[Example]) -> Vocab:
        """The vocabulary of the examples of the training split."""
        words = (sentence.form for example in examples for sentence in example.sentences)
        return Vocab.build(words, min_freq=self.min_freq, lower=self.lower)

    def make_relations(self, examples: list[Example]) -> RelationVocab:
        """The relations of the arcs of the training split."""
        sentences = (sentence for example in examples for sentence in example.sentences)
        return RelationVocab.learn(label for sentence in sentences for label in _arc_labels(sentence))

    def make_data(self, examples: list[Example], vocab: Vocab) -> Iterator[Data]:
        """One ``Data`` an example, before :obj:`pre_filter` and :obj:`pre_transform`."""
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
        """Tensors and plain values to keep beside the examples; :meth:`restore` gets them back."""
        return {}

    def restore(self, notes: dict[str, Any]) -> None:
        """Takes up what :meth:`notes` gave, also where the examples come from a processed file."""

    def texts(self) -> list[tuple[str, ...]]:
        """The texts of each example as the raw files have them, for people; empty where nobody knows them."""
        return []

    def options(self) -> dict[str, Any]:
        """The options of a subclass that its examples depend on, its parser's fingerprint among them."""
        return {}

    @property
    def processed_file_names(self) -> list[str]:
        return [f"{self.split}-{self._digest}.pt"]

    @property
    def follow_batch(self) -> list[str]:
        """Keys whose bounds a batch must know, for PyG's ``DataLoader``."""
        return ["target_ids"] if "target_ids" in self._data else []

    def update_digest(self, sha: hashlib._Hash) -> None:
        """Puts all that the examples are into a digest: trees, words and targets."""
        for key, value in sorted(self._data.to_dict().items()):
            if isinstance(value, Tensor):
                sha.update(f"{key} {tuple(value.shape)} {value.dtype}".encode())
                sha.update(value.contiguous().numpy().tobytes())

    def describe(self) -> dict[str, Any]:
        """What was loaded, as plain values: sizes, unknown words, failures of the parser.

        With :obj:`tokens`, ``words`` are those that are left, ``unknown_words`` is the share of them with an
        unknown piece, ``cut_words`` of ``cut_examples`` are not there as a whole, and ``forms`` are the
        different words before anything is cut; there is no ``vocabulary``.

        Of a slice, without what is known of all examples together only.
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
        """The share of unknown ones among the words of all examples: of ``[UNK]``, or with such a piece."""
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
        """What is known of all examples together, and not of some of them."""
        return {
            **({} if self.tokens is None else {"forms": self._forms}),
            "parser_failures": self.parser_failures,
            "unknown_relations": self.relations.fallbacks.total(),
        }

    def process(self) -> None:
        """Makes the examples of the split and writes them."""
        payload = self._make()
        save_examples(payload, Path(self.processed_paths[0]))
        self._payload = payload

    def _process(self) -> None:
        # PyG's own only looks whether a file exists, and unpickles two more.
        self._digest = digest(self._depends_on())
        loaded = None if self.force_reload else load_examples(Path(self.processed_paths[0]))
        if loaded is not None:
            self._payload = loaded
            return
        quiet = resolving_now().progress is False
        if self.log and not quiet and "PYTEST_CURRENT_TEST" not in os.environ:
            print(f"Processing {self.corpus} ({self.split}) ...", file=sys.stderr)
        self.process()

    def _needed(self) -> list[str]:
        learns = self._given_vocab is None or self._learns_relations or self.learns_labels
        return sorted({self.split, *(["train"] if learns else [])})

    def _depends_on(self) -> dict[str, Any]:
        paths = [path for split in self._needed() for path in self.raw_files(Path(self.raw_dir), split)]
        relations = None if self._learns_relations else self.relations.state_dict()
        return {
            "format": [FORMAT, __version__, type(self)],
            "raw": [(path.name, file_digest(path)) for path in paths],
            "split": [self.split, self.limit],
            "options": self.options(),
            "to_data": self.to_data_options,
            "vocab": self._ids_depend_on(),
            "relations": relations if self.arcs == "basic" else [self.arcs, relations],
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
        failures = self.parser_failures  # of this split alone
        vocab = self._learn(examples)
        data_list = list(self._filtered(self.make_data(examples, vocab)))
        if not data_list:
            raise ValueError(
                f"'pre_filter' leaves none of {len(examples)} examples (got {self.pre_filter!r})"
            )
        data, slices = self.collate(data_list)
        return {
            "data": data.to_dict(),
            "slices": slices,
            "vocab": vocab.state_dict(),
            "relations": self.relations.state_dict(),
            "forms": None if self.tokens is None else _num_forms(examples),
            "parser": self.options().get("parser", "gold"),
            "parser_failures": failures,
            "fallbacks": dict(self.relations.fallbacks),
            "notes": self.notes(examples),
        }

    def _learn(self, examples: list[Example]) -> Vocab:
        """The vocabulary; it and the relations are learned from the training split, unless they are given."""
        given = self._given_vocab
        if self.split != "train" and (given is None or self._learns_relations):
            examples = self._some_examples("train", None)
        if self._learns_relations:
            self.relations = self.make_relations(examples)
        if given is not None:
            return given
        vocab = self.make_vocab(examples)
        return vocab if self.vectors is None else self._with_vectors(vocab, examples, self.vectors)

    def _other_splits(self) -> list[str]:
        """Splits that are there beside the training split."""
        raw = Path(self.raw_dir)
        return [split for split in self.splits if split != "train" and self.raw_files(raw, split)]

    def _with_vectors(self, vocab: Vocab, train: list[Example], vectors: Path) -> Vocab:
        """A vocabulary, and after its words the others, of training and of all splits, with a vector."""
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

    def _filtered(self, data_list: Iterable[Data]) -> Iterator[Data]:
        for data in data_list:
            if self.pre_filter is None or self.pre_filter(data):
                yield data if self.pre_transform is None else self.pre_transform(data)

    def _restore(self, payload: dict[str, Any]) -> None:
        self.data, self.slices = Data.from_dict(payload["data"]), payload["slices"]
        self._num_loaded = self.len()
        self.vocab = vocab_from_state(payload["vocab"])
        if self._learns_relations:
            self.relations = RelationVocab.from_state_dict(payload["relations"])
        if self.tokens is not None:
            self._forms = payload["forms"]
            self._report_cut()
        self.parser_fingerprint, self.parser_failures = payload["parser"], payload["parser_failures"]
        self.relations.fallbacks = Counter(payload["fallbacks"])
        warn_of_chains(self.corpus, self.split, self.parser_failures, self.parser_fingerprint)
        self.restore(payload["notes"])

    def _report_cut(self) -> None:
        cut = self._describe_cut()
        if cut["cut_words"]:
            logger.warning(
                "%s (%s): 'max_length' %d cuts %d words of %d examples",
                *(self.corpus, self.split, self.max_length, cut["cut_words"], cut["cut_examples"]),
            )


def _checked_vectors(vocab_from: str, vectors: str | os.PathLike[str] | None) -> Path | None:
    """The file whose words a vocabulary has beside those of training, if there is to be one."""
    if vocab_from not in ("train", "vectors"):
        raise ValueError(f"'vocab_from' must be 'train' or 'vectors' (got {vocab_from!r})")
    if (vocab_from == "vectors") != (vectors is not None):
        raise ValueError(
            f"'vectors' must be a file for vocab_from='vectors', and for it alone (got {vectors!r}, "
            f"vocab_from={vocab_from!r})"
        )
    return None if vectors is None else Path(vectors).expanduser()


def _num_forms(examples: list[Example]) -> int:
    return len({form for example in examples for tree in example.sentences for form in tree.form})


def _first_pieces(data: Data) -> Tensor:
    """Which nodes are the first piece of a word; between two texts there is a node that is no word."""
    before = torch.cat([torch.tensor([-1]), data.word[:-1]])
    return (data.word >= 0) & (data.word != before)


def _arc_labels(sentence: Sentence) -> list[str]:
    """The labels of the enhanced arcs of a sentence, or of its tree where it has no others."""
    return sentence.deprel if sentence.deps is None else [label for *_, label in sentence.enhanced_arcs]
