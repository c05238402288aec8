"""MRPC: pairs of sentences from the news, paraphrases or not."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import NamedTuple, Unpack

import torch

from graphdep.datasets.base.layouts import choose_layout
from graphdep.datasets.base.parsed_dataset import Example
from graphdep.datasets.base.parsed_options import ParsedOptions
from graphdep.datasets.base.raw import check_words, read_table, row_error
from graphdep.datasets.base.text_dataset import TextDataset
from graphdep.parsing import Parser

logger = logging.getLogger("graphdep.datasets")

HEADER = ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String")
LABELS = ("no paraphrase", "paraphrase")
TRAIN, TEST = "msr_paraphrase_train.txt", "msr_paraphrase_test.txt"
FILES = {
    "msrp": {"train": TRAIN, "val": TRAIN, "test": TEST},
    "glue": {"train": "train.tsv", "val": "dev.tsv", "test": TEST},
}
DEV_IDS = ("mrpc_dev_ids.tsv", "dev_ids.tsv", "glue_dev_ids.tsv")
# Without the dev pairs of GLUE, every tenth pair.
_TENTH = 10
# In the published training file one apostrophe is this control character.
_REPAIRS = {"\x12": "'"}
_ID = re.compile(r"[0-9]{1,18}")
Ids = tuple[int, int]


class MRPC(TextDataset):
    r"""The sentence pairs of `"Automatically Constructing a Corpus of Sentential Paraphrases"
    <https://aclanthology.org/I05-5002/>`_ (MSRP, or MRPC in GLUE), two trees a pair.

    There are two layouts. ``"msrp"`` is the published one, a file for training and one for testing. Its dev
    split is that of `"GLUE" <https://arxiv.org/abs/1804.07461>`_: the pairs of the training file that
    ``mrpc_dev_ids.tsv`` lists (``dev_ids.tsv`` and ``glue_dev_ids.tsv`` are read as well). Without that file
    it is every tenth pair of the training file, and a log line says so. ``"glue"`` is what GLUE's script
    makes of it, ``train.tsv`` and ``dev.tsv``; its ``test.tsv`` has no labels, so the test split is
    ``msr_paraphrase_test.txt`` here as well, which has the same pairs.

    A sentence in which the parser sees several is one tree all the same (:func:`join_sentences`). See
    :class:`ParsedDataset` for what makes a processed file.

    Args:
        root: Folder of the corpus; ``datasets/mini`` has self-written pairs. (default: ``"datasets/mrpc"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        layout: ``"msrp"`` or ``"glue"``; :obj:`None` for that of :obj:`raw_from` (``"glue"`` where it has
            both, as GLUE's script leaves them), else for the only one below :obj:`root`.
            (default: :obj:`None`)
        options: Further ones, see :class:`ParsedOptions`.

    Shapes:
        - ``y``: :math:`(1)` long, the number of the label in :attr:`labels` (1 is a paraphrase)
        - ``pair``: :math:`(1, 2)` long, the IDs of the two sentences

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, both layouts are there and none is chosen, or a row of a raw file
            is damaged: the message has file, line and value.

    Example:
        >>> from graphdep.datasets import MRPC
        >>> dataset = MRPC("datasets/mini", split="val", parser="chain", limit=20)
        >>> len(dataset), dataset[0].y
        (20, tensor([1]))
    """

    corpus = "MRPC"
    published = (
        "https://www.microsoft.com/en-us/download/details.aspx?id=52398, the pairs of GLUE's dev split at "
        "https://dl.fbaipublicfiles.com/glue/data/mrpc_dev_ids.tsv"
    )
    labels = LABELS

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/mrpc",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        layout: str | None = None,
        **options: Unpack[ParsedOptions],
    ) -> None:
        # GLUE's script leaves the published files beside its own, so a folder with both is GLUE's.
        self.layout = choose_layout(
            layout, tuple(FILES), options.get("raw_from"), root, to_copy=_layouts_in, copied=_layouts_in
        )
        super().__init__(root, split, parser, **options)
        if self._tenth():
            logger.warning(
                "MRPC: %s has no %s, so 'val' is every tenth pair of the training file, not GLUE's dev split",
                *(self.raw_dir, DEV_IDS[0]),
            )

    @property
    def num_classes(self) -> int:
        """The number of labels, whatever the split holds."""
        return len(self.labels)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        path = folder / FILES[self.layout][split]
        if not path.is_file():
            return []
        return [path, *(_dev_ids(folder) if path.name == TRAIN else [])]

    def raw_file_pattern(self, split: str) -> str:
        name = FILES[self.layout][split]
        unlabelled = self.layout == "glue" and split == "test"
        return f"{name} (GLUE's test.tsv has no labels)" if unlabelled else name

    def read(self, folder: Path, split: str) -> list[Paraphrase]:
        path, *dev_ids = self.raw_files(folder, split)
        pairs = read_mrpc(path)
        if path.name != TRAIN:
            return pairs
        chosen = read_dev_ids(dev_ids[0], pairs) if dev_ids else {p.ids for p in pairs[_TENTH - 1 :: _TENTH]}
        return [pair for pair in pairs if (pair.ids in chosen) == (split == "val")]

    def texts(self) -> list[tuple[str, ...]]:
        return [pair.sentences for pair in self.read(Path(self.raw_dir), self.split)]

    def examples(self, split: str, limit: int | None) -> list[Example]:
        pairs = self.read(Path(self.raw_dir), split)[:limit]
        trees = self.trees_of_texts([text for pair in pairs for text in pair.sentences])
        both = zip(trees[::2], trees[1::2])
        return [
            Example([*two], {"y": torch.tensor([p.label]), "pair": torch.tensor([p.ids])}, segment=[0, 1])
            for two, p in zip(both, pairs)
        ]

    def _tenth(self) -> bool:
        cut = self.layout == "msrp" and self._needed() != ["test"]
        return cut and not _dev_ids(Path(self.raw_dir))


class Paraphrase(NamedTuple):
    """One row of a raw file."""

    label: int
    ids: Ids
    sentences: tuple[str, str]


def read_mrpc(path: Path) -> list[Paraphrase]:
    """The pairs of a raw file.

    Raises:
        ValueError: If a row is damaged, with file, line and value.
    """
    pairs = []
    line_of: dict[Ids, int] = {}
    for line, (quality, *ids, first, second) in read_table(path, HEADER, repairs=_REPAIRS):
        if quality not in ("0", "1"):
            raise row_error(path, line, "Quality must be 0 or 1", quality)
        pair = _new_ids(path, line, ids, line_of)
        for name, text in zip(HEADER[3:], (first, second)):
            if not text.strip():
                raise row_error(path, line, f"{name} is empty", text)
            check_words(path, line, name, text)
        pairs.append(Paraphrase(int(quality), pair, (first.strip(), second.strip())))
    return pairs


def read_dev_ids(path: Path, pairs: list[Paraphrase]) -> set[Ids]:
    """The pairs of a file of IDs, two a line, all of which the training file must have.

    Raises:
        ValueError: If a line is damaged, with file, line and value.
    """
    known = {pair.ids for pair in pairs}
    line_of: dict[Ids, int] = {}
    for line, row in read_table(path, HEADER[1:3], header=False):
        if _new_ids(path, line, row, line_of) not in known:
            raise row_error(path, line, f"{TRAIN} has no such pair", " ".join(row))
    return set(line_of)


def _new_ids(path: Path, line: int, row: list[str], line_of: dict[Ids, int]) -> Ids:
    """The IDs of a pair, noted in ``line_of``, where they must not be yet."""
    for name, number in zip(HEADER[1:3], row):
        if not _ID.fullmatch(number):
            raise row_error(path, line, f"{name} must be a number", number)
    ids = int(row[0]), int(row[1])
    if ids in line_of:
        raise row_error(path, line, f"duplicate pair, first on line {line_of[ids]}", " ".join(row))
    line_of[ids] = line
    return ids


def _layouts_in(folder: Path) -> list[str]:
    """The layouts of a folder's files for training and validation; both layouts share that for testing."""
    return [
        layout
        for layout, files in FILES.items()
        if all((folder / files[split]).is_file() for split in ("train", "val"))
    ]


def _dev_ids(folder: Path) -> list[Path]:
    found = [folder / name for name in DEV_IDS if (folder / name).is_file()]
    if len(found) > 1:
        raise ValueError(f"{folder} has {' and '.join(path.name for path in found)}: keep one of them")
    return found
