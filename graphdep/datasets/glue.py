"""GLUE and CoLA."""

from __future__ import annotations

import logging
import os
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import torch

from graphdep.datasets.base.parsed import Example, ParsedOptions, TextDataset
from graphdep.datasets.base.raw import (
    ANY,
    MAYBE_TEXT,
    TEXT,
    Form,
    check_forms,
    expect,
    like,
    one_of,
    read_json,
    read_table,
)
from graphdep.datasets.base.rows import Draw, spread_rows
from graphdep.datasets.sentences import DEV_IDS, read_dev_ids, read_mrpc
from graphdep.io.files import home_path
from graphdep.io.limits import check_choice
from graphdep.parsing.parser import Parser
from graphdep.sentence.sentence import Sentence

logger = logging.getLogger("graphdep.datasets")

_DATA = "https://dl.fbaipublicfiles.com/glue/data"
# The official QQP.zip has about two dozen broken rows; a file with more is another file.
MAX_BROKEN = 100
MAX_SCORE = 5
_SCORE = like(f"a number from 0 to {MAX_SCORE}", r"[0-4](\.[0-9]{1,20})?|5(\.0{1,20})?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_COLA = ("source", "label", "mark", "sentence")
_JSON_TEXTS = ("text_a", "text_b")


class GLUERow(NamedTuple):
    """One or two texts, and their class or score; a row of a test file has neither."""

    texts: tuple[str, ...]
    label: int | float | None


@dataclass(frozen=True)
class GLUECorpus:
    """The files of a corpus of GLUE.

    Args:
        folder: Its folder in GLUE's download, and its name.
        texts: Columns of the texts.
        label: Column of the label; :obj:`None` if no labels are public.
        labels: The labels as in the files and on the leaderboard; empty for scores from 0 to 5.
        published: Where it is published.
        tokenised: Whether white space separates the words. (default: :obj:`False`)
        may_be_empty: Whether empty texts are valid. (default: :obj:`False`)
        may_be_broken: Whether the official files with labels have broken rows. (default: :obj:`False`)
        index: Column of the row number in the test file. (default: ``"index"``)
    """

    folder: str
    texts: tuple[str, ...]
    label: str | None
    labels: tuple[str, ...]
    published: str
    tokenised: bool = False
    may_be_empty: bool = False
    may_be_broken: bool = False
    index: str = "index"

    @property
    def text_form(self) -> Form:
        """The form of a text."""
        return MAYBE_TEXT if self.may_be_empty else TEXT

    @property
    def label_form(self) -> Form:
        """The form of a label."""
        return one_of(*self.labels) if self.labels else _SCORE

    def number(self, label: str) -> int | float:
        """The number of a label, or the score."""
        return self.labels.index(label) if self.labels else float(label)


_PAIR, _BINARY, _RTE = ("sentence1", "sentence2"), ("0", "1"), ("entailment", "not_entailment")
_NLI = ("entailment", "neutral", "contradiction")
CORPORA = {
    "cola": GLUECorpus("CoLA", ("sentence",), "label", _BINARY, f"{_DATA}/CoLA.zip"),
    "sst2": GLUECorpus("SST-2", ("sentence",), "label", _BINARY, f"{_DATA}/SST-2.zip", tokenised=True),
    "mrpc": GLUECorpus(
        *("MRPC", ("#1 String", "#2 String"), "Quality", _BINARY),
        "https://www.microsoft.com/en-us/download/details.aspx?id=52398, the pairs of the dev split at "
        f"{_DATA}/mrpc_dev_ids.tsv",
    ),
    "stsb": GLUECorpus("STS-B", _PAIR, "score", (), f"{_DATA}/STS-B.zip"),
    "qqp": GLUECorpus(
        *("QQP", ("question1", "question2"), "is_duplicate", _BINARY, f"{_DATA}/QQP-clean.zip"),
        may_be_empty=True,
        may_be_broken=True,
        index="id",
    ),
    "mnli": GLUECorpus("MNLI", _PAIR, "gold_label", _NLI, f"{_DATA}/MNLI.zip"),
    "qnli": GLUECorpus("QNLI", ("question", "sentence"), "label", _RTE, f"{_DATA}/QNLIv2.zip"),
    "rte": GLUECorpus("RTE", _PAIR, "label", _RTE, f"{_DATA}/RTE.zip"),
    "ax": GLUECorpus("diagnostic", _PAIR, None, _NLI, f"{_DATA}/AX.tsv"),
}
_COLA_PUBLIC = {"train": ("in_domain_train.tsv",), "dev": ("in_domain_dev.tsv", "out_of_domain_dev.tsv")}
_SAMPLES = {"train": ("sample10k-train.json",), "dev": ("sample10k-dev.json",)}
_MSRP_TRAIN, _MSRP_TEST = "msr_paraphrase_train.txt", "msr_paraphrase_test.txt"


def part_files(folder: Path, name: str, part: str) -> list[Path]:
    """The files of a part in a folder: the official ones, else those of another layout.

    Args:
        folder: The folder.
        name: The corpus.
        part: ``"train"``, ``"dev"`` or ``"test"``, for MNLI also ``"dev-mismatched"`` and
            ``"test-mismatched"``.
    """
    for names in _choices(name, part):
        paths = [folder / file for file in names]
        if all(path.is_file() for path in paths):
            return paths
    return []


def corpus_folder(folder: str | os.PathLike[str], name: str) -> Path:
    """The folder with the files of a corpus, within that of GLUE or of CoLA's own download."""
    path = home_path(folder)
    own = path / CORPORA[name].folder
    path = own if own.is_dir() else path
    raw = path / "raw"
    return raw if name == "cola" and _has_part(raw, name) and not _has_part(path, name) else path


def part_name(name: str, part: str) -> str:
    """The name of the official file."""
    return _choices(name, part)[0][0]


def part_pattern(name: str, part: str) -> str:
    """The files of all layouts, for messages: ``dev.tsv (or a.tsv with b.tsv, or c.json)``."""
    choices = [names for names in _choices(name, part) if not set(names) & set(DEV_IDS[1:])]
    official, *others = (" with ".join(names) for names in choices)
    return f"{official} (or {', or '.join(others)})" if others else official


def read_part(paths: Sequence[Path], name: str, part: str) -> list[GLUERow]:
    """The rows of a part, from the files of :func:`part_files`.

    Control characters, of which CoLA has some, are read as white space. The rows of a test file must be
    numbered from 0 without gaps, since the position identifies an answer.
    """
    corpus, (first, *others) = CORPORA[name], paths
    if name == "mrpc" and first.name != "test.tsv":
        return _read_mrpc(first, others, part)
    if first.suffix == ".json":
        return list(_read_sample(first, corpus))
    header = _COLA if name == "cola" and part != "test" else True
    return [row for path in paths for row in _read_table(path, corpus, part, header)]


def _has_part(folder: Path, name: str) -> bool:
    return any(part_files(folder, name, part) for part in ("train", "dev", "test"))


def _choices(name: str, part: str) -> list[tuple[str, ...]]:
    """File names of each layout of a part, the official layout first."""
    if name == "ax":
        return [("diagnostic.tsv",), ("AX.tsv",)]
    if name == "mnli" and part != "train":
        kind, _, genres = part.partition("-")
        choices: list[tuple[str, ...]] = [(f"{kind}_{genres or 'matched'}.tsv",)]
    else:
        choices = [(f"{part}.tsv",)]
    if name == "cola" and part in _COLA_PUBLIC:
        choices.append(_COLA_PUBLIC[part])
    if name == "mrpc":
        choices += [(_MSRP_TEST,)] if part == "test" else [(_MSRP_TRAIN, ids) for ids in DEV_IDS]
    if part in _SAMPLES:
        choices.append(_SAMPLES[part])
    return choices


def _read_mrpc(path: Path, dev_ids: Sequence[Path], part: str) -> list[GLUERow]:
    pairs = read_mrpc(path)
    if dev_ids:
        dev = read_dev_ids(dev_ids[0], pairs)
        pairs = [pair for pair in pairs if (pair.ids in dev) == (part == "dev")]
    return [GLUERow(pair.sentences, None if part == "test" else pair.label) for pair in pairs]


def _read_table(path: Path, corpus: GLUECorpus, part: str, header: bool | Sequence[str]) -> Iterator[GLUERow]:
    test = part.startswith("test")
    columns = dict.fromkeys(corpus.texts, corpus.text_form)
    if test:
        columns[corpus.index] = ANY
    elif corpus.label:
        columns[corpus.label] = corpus.label_form
    broken = MAX_BROKEN if corpus.may_be_broken and not test else 0
    rows = read_table(path, columns, header=header, broken=broken, control=True)
    for number, (line, (*texts, last)) in enumerate(rows):
        expect(not test or last == str(number), path, line, f"{corpus.index} must be {number}", last)
        yield GLUERow(tuple(map(str.strip, texts)), None if test else corpus.number(last))


def _read_sample(path: Path, corpus: GLUECorpus) -> Iterator[GLUERow]:
    """An object of numbered entries, ``{"0": {"text_a": ..., "text_b": ..., "label": ...}, ...}``."""
    columns = _JSON_TEXTS[: len(corpus.texts)]
    forms = {**dict.fromkeys(columns, corpus.text_form), "label": corpus.label_form}
    entries = read_json(path)
    check_forms(str(path), entries, {})
    for key, entry in entries.items():
        check_forms(f"{path}: entry {key!r}", entry, forms)
        texts = tuple(_CONTROL.sub(" ", entry[column]).strip() for column in columns)
        yield GLUERow(texts, corpus.number(entry["label"]))


VAL_FROM = ("train", "dev")
# The share of the training file that is held out, and the seed of the draw.
_TENTH, _SEED = 10, 20180420
# Stands for an empty text: a zero-width space, which a tokenizer reads as [UNK].
NO_WORD = "\u200b"


class GLUE(TextDataset):
    r"""A corpus of `"GLUE: A Multi-Task Benchmark and Analysis Platform for Natural Language Understanding"
    <https://arxiv.org/abs/1804.07461>`_, one tree per text.

    GLUE's test sets have no public labels, so scores here are those on its **dev set**, which may not be used
    to choose anything. Option :obj:`val_from` selects the files of the splits:

    =================== ==================== ==================================
    split               ``val_from="train"`` ``val_from="dev"``
    =================== ==================== ==================================
    ``train``           nine tenths of train all of train
    ``val``             the other tenth      dev (MNLI: matched)
    ``test``            dev (MNLI: matched)  test, without ``y``, to be handed in
    ``test-mismatched`` dev, mismatched      test, mismatched, without ``y``
    =================== ==================== ==================================

    With ``"train"``, epochs and settings are chosen on examples that are drawn from the training file with a
    fixed seed, and the dev set is read once, as a test set. With ``"dev"`` it is used as in papers on GLUE,
    and ``graphdep submit`` predicts the test set. Only MNLI has mismatched sets. The diagnostic set ``"ax"``
    is for models of MNLI and has its labels: it has only the split ``test``, without ``y``, and ``vocab`` or
    ``tokens`` must be given.

    The files are those of GLUE's download, in ``raw/CoLA``, ``raw/STS-B`` and so on. Without the official
    files, CoLA is read from its own public download (``in_domain_train.tsv``; dev is ``in_domain_dev.tsv``
    and ``out_of_domain_dev.tsv``; also in a folder ``raw``), MRPC from the published files with
    ``mrpc_dev_ids.tsv``, and every corpus from a sample of 10,000 rows (``sample10k-train.json``,
    ``sample10k-dev.json``). There is no quoting: a quotation mark is part of the text.

    An empty question, of which QQP has a few, is one unknown word (:obj:`NO_WORD`); in other corpora an
    empty text is an error. Broken lines in QQP's files with labels are left out with a warning. The rows of a
    test file must be numbered from 0 in column ``index``.

    Args:
        root: Folder of GLUE, such as ``"datasets/glue"``.
        name: ``"cola"``, ``"sst2"``, ``"mrpc"``, ``"stsb"``, ``"qqp"``, ``"mnli"``, ``"qnli"``, ``"rte"`` or
            ``"ax"``.
        split: See above. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. SST-2 is tokenised: its words
            are kept. (default: ``"bundled"``)
        val_from: ``"train"`` or ``"dev"``, see above. (default: ``"train"``)
        options: Further options, see :class:`ParsedOptions`; :obj:`raw_from` may be the folder of this
            corpus, that of GLUE, or the public download of CoLA, and :obj:`limit` selects rows from the whole
            split (``spread_rows``), since CoLA's files are sorted by source.

    Shapes:
        - ``y``: :math:`(1)` long, the number of the label in :attr:`labels`; for STS-B :math:`(1)` float, the
          score from 0 to 5; absent if the files have no labels

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, or a row of a raw file is damaged: the message has file, line and
            value.

    Example:
        >>> from graphdep.datasets import GLUE
        >>> dataset = GLUE("datasets/glue", name="rte", split="train", parser="chain", limit=8)
        >>> len(dataset), dataset.num_classes
        (8, 2)
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        name: str,
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        val_from: str = "train",
        **options: Unpack[ParsedOptions],
    ) -> None:
        check_choice("name", name, CORPORA)
        check_choice("val_from", val_from, VAL_FROM)
        self.name, self.val_from, self.glue_corpus = name, val_from, CORPORA[name]
        if name == "ax":
            self.splits = ("test",)
            _check_ids(options)
        elif name == "mnli":
            self.splits = ("train", "val", "test", "test-mismatched")
        self.corpus = f"GLUE {self.glue_corpus.folder}"
        self.published = self.glue_corpus.published
        raw_from = options.get("raw_from")
        if raw_from is not None:
            options["raw_from"] = corpus_folder(raw_from, name)
        super().__init__(root, split, parser, **options)

    def __repr__(self) -> str:
        return f"GLUE({self.name!r}, {len(self)})"

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in GLUE's spelling, by their numbers; empty for the scores of STS-B."""
        return self.glue_corpus.labels

    @property
    def num_classes(self) -> int:
        """The number of labels, independent of the split; 1 for the scores of STS-B."""
        return len(self.labels) or 1

    @property
    def raw_dir(self) -> str:
        """A separate folder for each corpus."""
        return str(Path(self.root, "raw", self.glue_corpus.folder))

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return part_files(folder, self.name, self._part(split))

    def raw_file_name(self, split: str) -> str:
        return part_name(self.name, self._part(split))

    def raw_file_pattern(self, split: str) -> str:
        return part_pattern(self.name, self._part(split))

    def options(self) -> dict[str, Any]:
        # In the digest: a limit takes rows from the whole split, not the first ones.
        return {"name": self.name, "val_from": self.val_from, "limit": "spread", **super().options()}

    def read(self, folder: Path, split: str) -> list[GLUERow]:
        rows = read_part(self.raw_files(folder, split), self.name, self._part(split))
        if self.val_from == "train" and split in ("train", "val"):
            held_out = set(Draw(random.Random(_SEED)).shuffled(range(len(rows)))[: len(rows) // _TENTH])
            return [row for number, row in enumerate(rows) if (number in held_out) == (split == "val")]
        return rows

    def texts(self) -> list[tuple[str, ...]]:
        return [row.texts for row in self.read(Path(self.raw_dir), self.split)]

    def examples(self, split: str, limit: int | None) -> list[Example]:
        rows = self.read(Path(self.raw_dir), split)
        rows = rows if limit is None else spread_rows(rows, limit)
        trees = iter(self._trees([text for row in rows for text in row.texts]))
        segment = list(range(len(self.glue_corpus.texts)))
        return [
            Example(
                [next(trees) for _ in row.texts],
                self._targets(row),
                segment=segment,
                given=[row.texts, row.label],
            )
            for row in rows
        ]

    def _targets(self, row: GLUERow) -> dict[str, torch.Tensor]:
        if row.label is None:
            return {}
        return {"y": torch.tensor([row.label], dtype=torch.long if self.labels else torch.float)}

    def _trees(self, texts: Sequence[str]) -> list[Sentence]:
        some = [text for text in texts if text]
        parsed = iter(
            self.trees_of_words([text.split() for text in some])
            if self.glue_corpus.tokenised
            else self.trees_of_texts(some)
        )
        return [next(parsed) if text else Sentence.chain([NO_WORD]) for text in texts]

    def _part(self, split: str) -> str:
        """The part of GLUE from which a split is read or drawn."""
        kind, dash, genres = split.partition("-")
        parts = {"train": "train", "val": "train", "test": "dev"}
        if self.val_from == "dev" or self.name == "ax":
            parts = {"train": "train", "val": "dev", "test": "test"}
        return parts[kind] + dash + genres


def _check_ids(options: ParsedOptions) -> None:
    words = options.get("vocab") is not None or options.get("tokens") is not None
    relations = options.get("arcs", "basic") == "basic" or options.get("relations") is not None
    if not words or not relations:
        message = "'ax' has no training split to learn from: give 'vocab' or 'tokens'"
        raise ValueError(f"{message}, and 'relations' unless 'arcs' is 'basic'")


class CoLA(GLUE):
    r"""The sentences of `"Neural Network Acceptability Judgments" <https://arxiv.org/abs/1805.12471>`_, one
    tree per sentence: :class:`GLUE` with ``name="cola"``.

    Args:
        root: Folder of GLUE. (default: ``"datasets/glue"``)
        split: ``"train"``, ``"val"`` or ``"test"``, see :class:`GLUE`. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        val_from: ``"train"`` or ``"dev"``, see :class:`GLUE`. (default: ``"train"``)
        options: Further options, see :class:`GLUE`.

    Shapes:
        - ``y``: :math:`(1)` long, the number of the label in :attr:`labels` (1 is acceptable); absent if the
          files have no labels

    Raises:
        FileNotFoundError, ValueError: As :class:`GLUE`.

    Example:
        >>> from graphdep.datasets import CoLA
        >>> dataset = CoLA("datasets/glue", split="train", parser="chain", limit=8)
        >>> len(dataset), dataset.num_classes
        (8, 2)
    """

    shared_options = ParsedOptions

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/glue",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        val_from: str = "train",
        **options: Unpack[ParsedOptions],
    ) -> None:
        super().__init__(root, "cola", split, parser, val_from=val_from, **options)

    def __repr__(self) -> str:
        return f"CoLA({len(self)})"
