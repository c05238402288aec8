"""Universal Dependencies treebanks with a label for each word."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.word_options import WordOptions
from graphdep.datasets.labels.column import Column
from graphdep.datasets.labels.label_dataset import LabelDataset
from graphdep.datasets.labels.labelled_words import LabelledWords
from graphdep.datasets.sentences.ud_treebank import UDTreebank
from graphdep.io import read_conllu
from graphdep.parsing import Parser
from graphdep.sentence import Sentence


class UDTags(LabelDataset):
    r"""The sentences of a treebank with a label for each word: a column of it, or a key of a column.

    The classes are learned from the training file, whole as it is, and from it alone, and sorted by name.

    Args:
        root: Folder of one treebank. (default: ``"datasets/ud"``)
        split: ``"train"``, ``"val"`` (the treebank's dev) or ``"test"``. (default: ``"train"``)
        parser: ``"gold"`` for the treebank's own trees; else a parser, or its name for
            :func:`graphdep.parsing.resolve_parser`, which parses the treebank's words. (default: ``"gold"``)
        key, absent: Of :class:`~graphdep.datasets.labels.column.Column`. (default: ``"upos"``, :obj:`None`)
        options: Further ones, see :class:`~graphdep.datasets.base.word_options.WordOptions`.

    Shapes:
        - as of :class:`~graphdep.datasets.labels.label_dataset.LabelDataset`

    Raises:
        FileNotFoundError, ConlluError: As :class:`~graphdep.datasets.UDTreebank`.
        ValueError: Likewise, or if no word of the training file has a label, or all have the same; the
            message has the keys that there are.

    Example:
        >>> from graphdep.datasets import UDTags
        >>> dataset = UDTags("datasets/mini/ud", key="upos")
        >>> dataset.labels[:3], dataset[0].y.shape
        (('ADJ', 'ADP', 'AUX'), torch.Size([7]))
    """

    corpus = UDTreebank.corpus
    published = UDTreebank.published
    raw_files = UDTreebank.raw_files
    raw_file_pattern = UDTreebank.raw_file_pattern

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/ud",
        split: str = "train",
        parser: str | Parser = "gold",
        *,
        key: str = "upos",
        absent: str | None = None,
        **options: Unpack[WordOptions],
    ) -> None:
        self.column = Column(key, absent)
        self.scored_by = f" by their {key}"
        super().__init__(root, split, parser, **options)

    def options(self) -> dict[str, Any]:
        return super().options() | {"key": self.column.key, "absent": self.column.absent}

    def read(self, folder: Path, split: str) -> list[LabelledWords]:
        return [
            LabelledWords(sentence.form, self.column.labels(sentence), tree=sentence, place=place)
            for path in self.raw_files(folder, split)
            for place, sentence in _numbered(path)
        ]

    def classes(self, train: Sequence[LabelledWords]) -> tuple[str, ...]:
        return self.column.classes([example.tree for example in train if example.tree is not None])


def _numbered(path: Path) -> list[tuple[str, Sentence]]:
    return [(f"{path}: sentence {number}", one) for number, one in enumerate(read_conllu(path), 1)]
