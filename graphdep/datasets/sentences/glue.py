"""GLUE: nine corpora of sentences and pairs of sentences."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

import torch

from graphdep.datasets.base.draw import Draw, spread_rows
from graphdep.datasets.base.parsed_dataset import Example
from graphdep.datasets.base.parsed_options import ParsedOptions
from graphdep.datasets.base.text_dataset import TextDataset
from graphdep.datasets.sentences.glue_files import (
    CORPORA,
    GLUERow,
    corpus_folder,
    part_files,
    part_name,
    part_pattern,
    read_part,
)
from graphdep.parsing import Parser
from graphdep.sentence import Sentence

VAL_FROM = ("train", "dev")
# The share of the training file that is held out, and the seed that it is drawn with.
_TENTH, _SEED = 10, 20180420
# A text without a word is this one: a zero-width space, of which a tokenizer leaves nothing but [UNK].
NO_WORD = "\u200b"


class GLUE(TextDataset):
    r"""A corpus of `"GLUE: A Multi-Task Benchmark and Analysis Platform for Natural Language Understanding"
    <https://arxiv.org/abs/1804.07461>`_, a tree a text.

    GLUE's test sets have no public labels, so what is reported here is the score on its **dev set**, and
    nothing may be chosen on it. Which files the splits come from is said by :obj:`val_from`:

    =================== ==================== ==================================
    split               ``val_from="train"`` ``val_from="dev"``
    =================== ==================== ==================================
    ``train``           nine tenths of train all of train
    ``val``             the other tenth      dev (MNLI: matched)
    ``test``            dev (MNLI: matched)  test, without ``y``, to be handed in
    ``test-mismatched`` dev, mismatched      test, mismatched, without ``y``
    =================== ==================== ==================================

    With ``"train"``, epochs and settings are chosen on examples that were drawn from the training file, with
    one fixed seed for everybody, and the dev set is seen once, as a test set. With ``"dev"`` it is used as
    the papers on GLUE use it, and the test set is what ``graphdep submit`` predicts. MNLI alone has
    mismatched sets. The diagnostic set ``"ax"`` is for a model of MNLI, whose labels it has: there is the
    split ``test`` alone, without ``y``, and ``vocab`` or ``tokens`` must be given.

    The files are those of GLUE's download, below ``raw/CoLA``, ``raw/STS-B`` and so on. Instead of the
    official ones, CoLA may have those of its own public download (``in_domain_train.tsv``; dev is
    ``in_domain_dev.tsv`` and ``out_of_domain_dev.tsv``; also in a folder ``raw``), MRPC the published ones
    with ``mrpc_dev_ids.tsv``, and all a sample of 10,000 as JSON (``sample10k-train.json``,
    ``sample10k-dev.json``); where there are official files, those are read. There is no quoting: a quotation
    mark is part of the text.

    An empty question, of which QQP has a few, is one unknown word (:obj:`NO_WORD`); in other corpora an
    empty text is an error. Lines of QQP's files with labels that are no rows are left out, and named in a
    warning. In test files without labels each row must have its own number, from 0, as index.

    Args:
        root: Folder of GLUE, such as ``"datasets/glue"``.
        name: ``"cola"``, ``"sst2"``, ``"mrpc"``, ``"stsb"``, ``"qqp"``, ``"mnli"``, ``"qnli"``, ``"rte"`` or
            ``"ax"``.
        split: See above. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. SST-2 is tokenised: its words
            are kept. (default: ``"bundled"``)
        val_from: ``"train"`` or ``"dev"``, see above. (default: ``"train"``)
        options: Further ones, see :class:`ParsedOptions`; :obj:`raw_from` may be the folder of this corpus,
            that of GLUE, or the unpacked public download of CoLA, and :obj:`limit` takes rows that are spread
            over all of the split (``spread_rows``), for CoLA's files are sorted by source.

    Shapes:
        - ``y``: :math:`(1)` long, the number of the label in :attr:`labels`; of STS-B :math:`(1)` float, the
          score from 0 to 5; absent where the files have no labels

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
        if name not in CORPORA:
            raise ValueError(f"'name' must be one of {', '.join(CORPORA)} (got {name!r})")
        if val_from not in VAL_FROM:
            raise ValueError(f"'val_from' must be one of {', '.join(VAL_FROM)} (got {val_from!r})")
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
        """The labels as GLUE writes them, by their numbers; none for the scores of STS-B."""
        return self.glue_corpus.labels

    @property
    def num_classes(self) -> int:
        """The number of labels, whatever the split holds; 1 for the scores of STS-B."""
        return len(self.labels) or 1

    @property
    def raw_dir(self) -> str:
        """A folder of its own for each corpus."""
        return str(Path(self.root, "raw", self.glue_corpus.folder))

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return part_files(folder, self.name, self._part(split))

    def raw_file_name(self, split: str) -> str:
        return part_name(self.name, self._part(split))

    def raw_file_pattern(self, split: str) -> str:
        return part_pattern(self.name, self._part(split))

    def options(self) -> dict[str, Any]:
        # The kind of limit also tells the examples from those made when it took the first rows.
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
            Example([next(trees) for _ in row.texts], self._targets(row), segment=segment) for row in rows
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
        """The part of GLUE that a split is, or is drawn from."""
        kind, dash, genres = split.partition("-")
        parts = {"train": "train", "val": "train", "test": "dev"}
        if self.val_from == "dev" or self.name == "ax":
            parts = {"train": "train", "val": "dev", "test": "test"}
        return parts[kind] + dash + genres


def _check_ids(options: ParsedOptions) -> None:
    if options.get("vocab") is None and options.get("tokens") is None:
        raise ValueError("'vocab' or 'tokens' must be given: 'ax' has no training split to take words from")
    if options.get("arcs", "basic") != "basic" and options.get("relations") is None:
        raise ValueError("'relations' must be given: 'ax' has no training split to learn them from")
