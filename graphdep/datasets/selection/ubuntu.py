"""Ubuntu: dialogues of two people from the help channel of Ubuntu."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.layouts import choose_layout
from graphdep.datasets.base.raw import check_words, read_lines, row_error
from graphdep.datasets.selection.rows_selection import TEXT_FILES, Names, RowsSelection
from graphdep.datasets.selection.selection_options import RowsOptions
from graphdep.datasets.selection.selection_rows import read_pools
from graphdep.datasets.selection.store.selection_pool import Pool, Utterance, given_words, utterance
from graphdep.io.files import long_fields
from graphdep.parsing import Parser

LAYOUTS = ("v1", "v2")
FILES: dict[str, Names] = {
    "v1": TEXT_FILES,
    "v2": {
        "train": ("train.csv", "ubuntu_corpus_train.csv"),
        "val": ("valid.csv", "ubuntu_corpus_dev.csv"),
        "test": ("test.csv", "ubuntu_corpus_test.csv"),
    },
}
TRAIN_HEADER = ["Context", "Utterance", "Label"]
TEST_HEADER = ["Context", "Ground Truth Utterance", *(f"Distractor_{number}" for number in range(9))]
_LABELS = {"1": 1, "1.0": 1, "0": 0, "0.0": 0}
_UTTERANCE_END, _TURN_END = "__eou__", "__eot__"
_ENDS = re.compile(f"{_UTTERANCE_END}|{_TURN_END}")


class Ubuntu(RowsSelection):
    r"""Response selection of `"The Ubuntu Dialogue Corpus" <https://aclanthology.org/W15-4640/>`_, in two
    published layouts.

    - ``"v1"``: ``label <TAB> utterances ... <TAB> response`` a line, the form in which SIA, BERT-FP and
      others use version 1. The text is tokenised: its words, which white space separates, are kept. Train is
      1:1, pools of val and test have ten candidates.
    - ``"v2"``: CSV files of version 2, ``Context,Utterance,Label`` for train and ``Context,Ground Truth
      Utterance,Distractor_0,...,Distractor_8`` for val and test, in raw text.

    One turn of a person is one utterance, that is one tree: a column in ``"v1"``, what ``__eot__`` ends in
    ``"v2"``. Where ``__eou__`` marks several messages in it, or in a response, they are parsed one by one and
    joined (:func:`~graphdep.sentence.join_sentences`); each keeps its root.

    Args:
        root: Folder of the corpus; ``datasets/mini`` has self-written pools in the layout ``"v1"``.
            (default: ``"datasets/ubuntu"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        layout: ``"v1"`` or ``"v2"``; :obj:`None` for that of :obj:`raw_from`, else for the only one below
            :obj:`root`. (default: :obj:`None`)
        options: Further ones, see :class:`RowsOptions`; :obj:`pool_size` is for val and test, in the layout
            ``"v1"``.

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, both layouts are there and none is chosen, or a row of a raw file
            is damaged: the message has file, line and value.

    Example:
        >>> from graphdep.datasets import Ubuntu
        >>> dataset = Ubuntu("datasets/mini", split="test", parser="chain")
        >>> len(dataset), [float(dataset[i].y) for i in range(3)]
        (40, [1.0, 0.0, 0.0])
    """

    corpus = "Ubuntu"
    published = (
        "https://www.dropbox.com/s/2fdn26rj6h9bpvl/ubuntu_data.zip (version 1), "
        "https://github.com/rkadlec/ubuntu-ranking-dataset-creator (version 2)"
    )
    sized = ("val", "test")

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/ubuntu",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        layout: str | None = None,
        **options: Unpack[RowsOptions],
    ) -> None:
        self.layout = choose_layout(
            layout, LAYOUTS, options.get("raw_from"), root, to_copy=_layouts_in, copied=_layouts_below
        )
        self.files = FILES[self.layout]
        super().__init__(root, split, parser, **options)

    @property
    def raw_dir(self) -> str:
        """A folder of its own for each layout."""
        return str(_raw(Path(self.root, "raw"), self.layout))

    def options(self, split: str) -> dict[str, Any]:
        return super().options(split) | {"layout": self.layout}

    def read(self, folder: Path, split: str) -> Iterator[Pool]:
        (path,) = self.raw_files(folder, split)
        if self.layout == "v1":
            return read_pools(path, self.utterance, size=self._size(split))
        return read_train_csv(path) if split == "train" else read_test_csv(path)

    def utterance(self, text: str) -> Utterance:
        return given_words(*_ENDS.split(text))


def read_train_csv(path: Path) -> Iterator[Pool]:
    """The pools of a training file of version 2: rows with the same context that follow one another.

    Raises:
        ValueError: If a row is damaged, with file, line and value.
    """
    for context, group in groupby(_read_csv(path, TRAIN_HEADER), key=lambda row: row[1][0]):
        candidates, labels = [], []
        for line, (_, response, label) in group:
            if label not in _LABELS:
                raise row_error(path, line, "Label must be 0 or 1", label)
            candidates.append(_messages(response))
            labels.append(_LABELS[label])
        yield Pool(_turns(context), tuple(candidates), tuple(labels))


def read_test_csv(path: Path) -> Iterator[Pool]:
    """The pools of a validation or test file of version 2, one a row, the right candidate first.

    Raises:
        ValueError: If a row is damaged, with file, line and value.
    """
    for _, (context, *candidates) in _read_csv(path, TEST_HEADER):
        labels = (1, *[0] * (len(candidates) - 1))
        yield Pool(_turns(context), tuple(map(_messages, candidates)), labels)


def _turns(context: str) -> tuple[Utterance, ...]:
    *turns, rest = context.split(_TURN_END)
    return tuple(map(_messages, [*turns, rest] if rest.strip() else turns))


def _messages(text: str) -> Utterance:
    return utterance(*_ENDS.split(text))


def _read_csv(path: Path, header: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The rows below the header, each with the number of its last line."""
    with long_fields():
        reader = csv.reader((f"{text}\n" for _, text in read_lines(path, control=" ")), strict=True)
        try:
            first = next(reader)
            if first != header:
                raise row_error(path, 1, f"the header must be {','.join(header)}", ",".join(first))
            for row in reader:
                if len(row) != len(header):
                    text = f"{len(row)} columns instead of {len(header)}"
                    raise row_error(path, reader.line_num, text, ",".join(row))
                for name, cell in zip(header, row):
                    for turn in cell.split(_TURN_END):
                        check_words(path, reader.line_num, name, turn)
                yield reader.line_num, row
        except csv.Error as error:
            raise row_error(path, reader.line_num, str(error)) from None


def _layouts_in(folder: Path) -> list[str]:
    """The layouts of the files in a folder."""
    return [
        layout
        for layout in LAYOUTS
        if any((folder / name).is_file() for names in FILES[layout].values() for name in names)
    ]


def _layouts_below(raw: Path) -> list[str]:
    return [layout for layout in LAYOUTS if _layouts_in(_raw(raw, layout))]


def _raw(raw: Path, layout: str) -> Path:
    return raw / f"ubuntu-{layout}"
