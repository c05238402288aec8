"""Universal Dependencies treebanks with a label for each word."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from typing_extensions import Unpack

from graphdep.datasets import UDTreebank
from graphdep.datasets.base.parsed_dataset import Example
from graphdep.datasets.base.parsed_options import ParsedOptions
from graphdep.datasets.base.text_rows import Label
from graphdep.parsing import Parser, resolve_parser
from graphdep.sentence import Sentence
from graphdep.tasks.labels.column import Column
from graphdep.tasks.labels.targets import UNKNOWN, UNSCORED


class UDTags(UDTreebank):
    r"""The sentences of a treebank with a label for each word: a column of it, or a key of a column.

    The classes are learned from the training file, whole as it is, and from it alone, and sorted by name.

    Args:
        root: Folder of one treebank. (default: ``"datasets/ud"``)
        split: ``"train"``, ``"val"`` (the treebank's dev) or ``"test"``. (default: ``"train"``)
        key, absent: Of :class:`~graphdep.tasks.labels.column.Column`. (default: ``"upos"``, :obj:`None`)
        labels: The classes, e.g. a checkpoint's; :obj:`None` learns them. (default: :obj:`None`)
        parser: ``"gold"`` for the treebank's own trees; else a parser, or its name for
            :func:`graphdep.parsing.resolve_parser`, which parses the treebank's words. (default: ``"gold"``)
        options: Further ones, as of :class:`~graphdep.datasets.UDTreebank`.

    Shapes:
        - ``y``: :math:`(W)`, long, for each word the number of its label in :attr:`labels`; -1 for a label
          that is not among them, -100 for none
        - ``form_id``: :math:`(W)`, long, a digest of each word as it is written, the same in all splits

    Raises:
        FileNotFoundError, ConlluError: As :class:`~graphdep.datasets.UDTreebank`.
        ValueError: Likewise, or if no word of the training file has a label, or all have the same; the
            message has the keys that there are.
    """

    labels: tuple[Label, ...]

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/ud",
        split: str = "train",
        *,
        key: str = "upos",
        absent: str | None = None,
        labels: Sequence[Label] | None = None,
        parser: str | Parser = "gold",
        **options: Unpack[ParsedOptions],
    ) -> None:
        self.column = Column(key, absent)
        self._learns_labels = labels is None
        self.labels = tuple(labels or ())
        if labels is None:
            self.train_is_for = "the labels are learned from it unless 'labels' are given"
        cache = Path(root).expanduser() / "cache" / "parses.sqlite"
        self._parser = None if parser == "gold" else resolve_parser(parser, cache=cache)
        super().__init__(root, split, **options)

    def __getstate__(self) -> dict[str, Any]:
        # Models and a database do not travel to the workers of a DataLoader.
        return {key: value for key, value in self.__dict__.items() if key != "_parser"}

    @property
    def num_classes(self) -> int:
        return len(self.labels)

    def options(self) -> dict[str, Any]:
        trees = super().options() if self._parser is None else {"parser": self._parser.fingerprint}
        labels = None if self._learns_labels else self.labels
        return {**trees, "key": self.column.key, "absent": self.column.absent, "labels": labels}

    def examples(self, split: str, limit: int | None) -> list[Example]:
        sentences = self.read(Path(self.raw_dir), split)
        if self._learns_labels and not self.labels:
            train = sentences if split == "train" else self.read(Path(self.raw_dir), "train")
            self.labels = self.column.classes(train)
        number: dict[Label, int] = {label: number for number, label in enumerate(self.labels)}
        targets = [self._targets(sentence, number) for sentence in sentences[:limit]]
        if all(bool((y == UNSCORED).all()) for y in targets):
            raise ValueError(f"'key' {self.column.key!r}: no word of the split {split!r} has it")
        pairs = zip(self._trees(sentences[:limit]), targets)
        return [Example([tree], {"y": y, "form_id": _form_ids(tree.form)}) for tree, y in pairs]

    def notes(self, examples: list[Example]) -> dict[str, Any]:
        return {"labels": list(self.labels)}

    def restore(self, notes: dict[str, Any]) -> None:
        self.labels = tuple(notes["labels"])

    def update_digest(self, sha: hashlib._Hash) -> None:
        super().update_digest(sha)
        sha.update(repr(self.labels).encode())  # what the numbers of learned classes stand for

    def describe(self) -> dict[str, Any]:
        """As of every corpus, with the numbers of words that are scored and whose label is unknown."""
        y: Tensor = self.y
        scored, unknown = int((y != UNSCORED).sum()), int((y == UNKNOWN).sum())
        note = f"{scored} of {y.numel()} words are scored by their {self.column.key}"
        note += f", {unknown} with a label that training does not have, which are wrong" if unknown else ""
        return super().describe() | {"scored_words": scored, "unknown_labels": unknown, "note": note}

    def _targets(self, sentence: Sentence, number: dict[Label, int]) -> Tensor:
        labels = self.column.labels(sentence)
        return torch.tensor([UNSCORED if label is None else number.get(label, UNKNOWN) for label in labels])

    def _trees(self, sentences: list[Sentence]) -> list[Sentence]:
        if self._parser is None:
            return sentences
        before = self._parser.failures
        trees = self._parser.parse_words([sentence.form for sentence in sentences])
        self.parser_failures += self._parser.failures - before
        return trees

    def _needed(self) -> list[str]:
        return sorted({*super()._needed(), *(["train"] if self._learns_labels else [])})


def _form_ids(form: Sequence[str]) -> Tensor:
    digests = (hashlib.blake2b(word.encode(), digest_size=8).digest() for word in form)
    return torch.tensor([int.from_bytes(digest, "big", signed=True) for digest in digests])
