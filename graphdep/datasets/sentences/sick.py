"""SICK: sentence pairs with relatedness and entailment."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import torch
from torch import Tensor

from graphdep.datasets.base.parsed_dataset import Example
from graphdep.datasets.base.parsed_options import ParsedOptions
from graphdep.datasets.base.raw import check_words, read_table, row_error
from graphdep.datasets.base.text_dataset import TextDataset
from graphdep.parsing import Parser

HEADER = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")
LABELS = ("NEUTRAL", "ENTAILMENT", "CONTRADICTION")
FILES = {"train": "SICK_train.txt", "val": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}
CLASSES = 5
_SCORE = re.compile(r"[0-9]{1,3}(\.[0-9]{1,20})?")
_PAIR = re.compile(r"[0-9]{1,18}")


class SICK(TextDataset):
    r"""The sentence pairs of `"A SICK cure for the evaluation of compositional distributional semantic
    models" <https://aclanthology.org/L14-1314/>`_, two trees a pair.

    Keys beside those of :func:`graphdep.to_data`: ``pair``, the pair's ID, and by task

    - ``"relatedness"`` (SICK-R): ``y``, the score :math:`r \in [1, 5]` as the sparse distribution of
      `"Improved Semantic Representations From Tree-Structured Long Short-Term Memory Networks"
      <https://arxiv.org/abs/1503.00075>`_, see :func:`relatedness_target`, and ``score``, :math:`r` itself;
    - ``"entailment"`` (SICK-E): ``y``, the number of the label in :attr:`labels`.

    A sentence in which the parser sees several is one tree all the same (:func:`join_sentences`). Parses are
    kept in ``cache/parses.sqlite`` under :obj:`root`; see :class:`ParsedDataset` for what makes a processed
    file.

    Args:
        root: Folder of the corpus; ``datasets/mini`` has self-written pairs. (default: ``"datasets/sick"``)
        split: ``"train"``, ``"val"`` (the trial file) or ``"test"``. (default: ``"train"``)
        task: ``"relatedness"`` or ``"entailment"``. (default: ``"relatedness"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        options: Further ones, see :class:`ParsedOptions`.

    Shapes:
        - ``y``: :math:`(1, 5)` float (relatedness) or :math:`(1)` long (entailment)
        - ``score``: :math:`(1)` float; ``pair``: :math:`(1)` long

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, or a row of a raw file is damaged: the message has file, line and
            value.

    Example:
        >>> from graphdep.datasets import SICK
        >>> dataset = SICK("datasets/mini", split="val", task="entailment", parser="chain", limit=20)
        >>> len(dataset), dataset[0].y, int(dataset[0].utterance.max()) + 1  # two sentences
        (20, tensor([2]), 2)
    """

    corpus = "SICK"
    published = "https://alt.qcri.org/semeval2014/task1 (SemEval-2014 Task 1, data and tools)"
    tasks = ("relatedness", "entailment")
    labels = LABELS

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/sick",
        split: str = "train",
        task: str = "relatedness",
        parser: str | Parser = "bundled",
        **options: Unpack[ParsedOptions],
    ) -> None:
        if task not in self.tasks:
            raise ValueError(f"'task' must be one of {', '.join(self.tasks)} (got {task!r})")
        self.task = task
        super().__init__(root, split, parser, **options)

    @property
    def num_classes(self) -> int:
        """5 grades of relatedness or 3 labels, whatever the split holds."""
        return CLASSES if self.task == "relatedness" else len(self.labels)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        path = folder / FILES[split]
        return [path] if path.is_file() else []

    def raw_file_pattern(self, split: str) -> str:
        return FILES[split]

    def options(self) -> dict[str, Any]:
        return {"task": self.task, **super().options()}

    def read(self, folder: Path, split: str) -> list[Pair]:
        return read_sick(folder / FILES[split])

    def texts(self) -> list[tuple[str, ...]]:
        return [pair.sentences for pair in self.read(Path(self.raw_dir), self.split)]

    def examples(self, split: str, limit: int | None) -> list[Example]:
        pairs = self.read(Path(self.raw_dir), split)[:limit]
        trees = self.trees_of_texts([text for pair in pairs for text in pair.sentences])
        both = zip(trees[::2], trees[1::2])
        return [Example([*two], self._targets(pair), segment=[0, 1]) for two, pair in zip(both, pairs)]

    def _targets(self, pair: Pair) -> dict[str, Tensor]:
        number = torch.tensor([pair.pair])
        if self.task == "entailment":
            return {"y": torch.tensor([self.labels.index(pair.label)]), "pair": number}
        target = relatedness_target(pair.score)[None]
        return {"y": target, "score": torch.tensor([pair.score], dtype=torch.float), "pair": number}


class Pair(NamedTuple):
    """One row of a raw file."""

    pair: int
    sentences: tuple[str, str]
    score: float
    label: str


def relatedness_target(score: float) -> Tensor:
    r"""The sparse distribution over the grades 1 to 5 whose mean is the score
    (`Tree-LSTM <https://arxiv.org/abs/1503.00075>`_, section 4.2).

    .. math::
        p_i = \begin{cases}
            r - \lfloor r \rfloor & i = \lfloor r \rfloor + 1 \\
            \lfloor r \rfloor - r + 1 & i = \lfloor r \rfloor \\
            0 & \text{otherwise}
        \end{cases}

    Raises:
        ValueError: If the score is not within 1 and 5.
    """
    if not 1 <= score <= CLASSES:
        raise ValueError(f"'score' must be within 1 and {CLASSES} (got {score!r})")
    target = torch.zeros(CLASSES)
    grade = math.floor(score)
    target[grade - 1] = grade - score + 1
    if grade < CLASSES:
        target[grade] = score - grade
    return target


def read_sick(path: Path) -> list[Pair]:
    """The pairs of a raw file.

    Raises:
        ValueError: If a row is damaged, with file, line and value.
    """
    pairs: list[Pair] = []
    line_of: dict[int, int] = {}
    for line, row in read_table(path, HEADER):
        pair = _pair(path, line, row)
        if pair.pair in line_of:
            raise row_error(path, line, f"duplicate pair_ID, first on line {line_of[pair.pair]}", row[0])
        line_of[pair.pair] = line
        pairs.append(pair)
    return pairs


def _pair(path: Path, line: int, row: list[str]) -> Pair:
    number, first, second, score, label = row
    if not _PAIR.fullmatch(number):
        raise row_error(path, line, "pair_ID must be a number", number)
    for name, text in zip(HEADER[1:3], (first, second)):
        if not text.strip():
            raise row_error(path, line, f"{name} is empty", text)
        check_words(path, line, name, text)
    if not _SCORE.fullmatch(score) or not 1 <= float(score) <= CLASSES:
        raise row_error(path, line, f"relatedness_score must be a number within 1 and {CLASSES}", score)
    if label not in LABELS:
        raise row_error(path, line, f"entailment_judgment must be one of {', '.join(LABELS)}", label)
    return Pair(int(number), (first, second), float(score), label)
