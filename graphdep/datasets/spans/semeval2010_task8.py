"""SemEval-2010 Task 8: relations between two marked nominals."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.drawn_val import DrawnVal
from graphdep.datasets.base.raw import check_words, read_lines, row_error
from graphdep.datasets.base.word_options import WordOptions
from graphdep.datasets.spans.label_names import LABELS, UNDIRECTED
from graphdep.datasets.spans.marked_text import mark_text, read_tags
from graphdep.datasets.spans.span_dataset import SpanDataset
from graphdep.datasets.spans.span_example import SpanExample
from graphdep.parsing import Parser

logger = logging.getLogger("graphdep.datasets")

TRAIN, TEST = "TRAIN_FILE.TXT", "TEST_FILE_FULL.TXT"
SIZES = {TRAIN: 8_000, TEST: 2_717}
_FOLDERS = {TRAIN: "SemEval2010_task8_training", TEST: "SemEval2010_task8_testing_keys"}
_ALL = "SemEval2010_task8_all_data"
_SENTENCE = re.compile(r'([0-9]{1,9})\t"(.*)"\s*')


class SemEval2010Task8(SpanDataset):
    r"""The sentences of `"SemEval-2010 Task 8: Multi-Way Classification of Semantic Relations between Pairs
    of Nominals" <https://aclanthology.org/S10-1006/>`_, each with two marked nominals and the relation
    between them.

    There are nine relations, each in two directions, and *Other*, which has none. The corpus has no trees:
    the parser gets the words of :func:`~graphdep.datasets.spans.marked_text.mark_text`, so that no mark is on
    a part of a word. It has no split for validation either: one is drawn from the training file.

    Args:
        root: Folder of the corpus. (default: ``"datasets/semeval2010"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser. (default: ``"bundled"``)
        direction: Tell ``Cause-Effect(e1,e2)`` from ``Cause-Effect(e2,e1)``: 19 classes, else 10.
            (default: :obj:`True`)
        val_fraction: The share of the training file's sentences that is drawn for validation.
            (default: :obj:`0.1`)
        seed: Of that draw. (default: :obj:`0`)
        options: Further ones, see :class:`~graphdep.datasets.base.word_options.WordOptions`.

    Shapes:
        - as of :class:`~graphdep.datasets.spans.span_dataset.SpanDataset`, with two spans
        - ``number``: :math:`(1)`, long, the sentence's number in the files, as official answers have it

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ValueError: If an option is wrong, or a sentence is damaged: a missing or open tag, a label that is
            none, a number that is there twice; the message has file, line and value.

    Example:
        >>> from graphdep.datasets import SemEval2010Task8
        >>> dataset = SemEval2010Task8("datasets/semeval2010", split="test", parser="chain")
        >>> dataset.labels[dataset[0].y], dataset[0].mark
        ('Cause-Effect(e1,e2)', tensor([0, 0, 0, 1, 0, 0, 2, 0]))
    """

    corpus = "SemEval-2010 Task 8"
    published = "https://semeval2.fbk.eu/semeval2.php?location=data (SemEval2010_task8_all_data)"
    own_trees = False

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/semeval2010",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        direction: bool = True,
        val_fraction: float = 0.1,
        seed: int = 0,
        **options: Unpack[WordOptions],
    ) -> None:
        self.direction, self.drawn_val = bool(direction), DrawnVal(val_fraction, seed)
        if options.get("labels") is None:
            options["labels"] = LABELS if direction else UNDIRECTED
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        name = TEST if split == "test" else TRAIN
        inner = _FOLDERS[name]
        places = (folder, folder / inner, folder / _ALL / inner)
        return [place / name for place in places if (place / name).is_file()][:1]

    def raw_file_pattern(self, split: str) -> str:
        return TEST if split == "test" else TRAIN

    def options(self) -> dict[str, Any]:
        return super().options() | {"direction": self.direction, "val": self.drawn_val}

    def read(self, folder: Path, split: str) -> list[SpanExample]:
        path = self.raw_files(folder, split)[0]
        examples, cut = read_semeval2010(path, direction=self.direction)
        said = [f"{cut} words of {path.name} cut at a mark"] if cut else []
        if len(examples) != SIZES[path.name]:
            logger.warning(
                "%s: %s has %d sentences, the published file %d",
                *(self.corpus, path, len(examples), SIZES[path.name]),
            )
        if split != "test":
            examples, drawn = self.drawn_val.part(examples, split)
            said.append(drawn)
        self.said[split] = "; ".join(said)
        return examples


def read_semeval2010(path: Path, *, direction: bool = True) -> tuple[list[SpanExample], int]:
    """The sentences of a file, and how many words are cut at a tag.

    A sentence is three lines and a blank one: a number, a tab and the sentence in quotation marks; the label;
    and a comment, which is not read. At seven tags of the published files a space is missing (``The<e1>``),
    so that a word is cut there: there are two words.

    Raises:
        ValueError: If the file is another one, with file, line and value.
    """
    examples: list[SpanExample] = []
    seen: dict[str, int] = {}
    cut = 0
    for block in _blocks(path):
        line, text = block[0]
        match = _SENTENCE.fullmatch(text)
        if not match:
            raise row_error(path, line, "no number, tab and sentence in quotation marks", text)
        if match[1] in seen:
            raise row_error(path, line, f"the number is that of line {seen[match[1]]}", match[1])
        seen[match[1]] = line
        check_words(path, line, "the sentence", match[2])
        try:
            marked = mark_text(*read_tags(match[2]))
        except ValueError as error:
            raise row_error(path, line, str(error), match[2]) from None
        if len(marked.spans) != 2:
            raise row_error(path, line, "no <e2>", match[2])
        cut += marked.inside
        label = _label(path, block)
        label = label if direction else label.partition("(")[0]
        place = f"{path}:{line}"
        examples.append(SpanExample(marked.words, marked.spans, label, number=int(match[1]), place=place))
    return examples, cut


def _blocks(path: Path) -> list[list[tuple[int, str]]]:
    """The lines between blank ones, each with its number."""
    blocks: list[list[tuple[int, str]]] = [[]]
    for line, text in read_lines(path):
        if text.strip():
            blocks[-1].append((line, text))
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def _label(path: Path, block: Sequence[tuple[int, str]]) -> str:
    if len(block) < 2:
        raise row_error(path, block[0][0], "the sentence has no label below it")
    line, text = block[1]
    if text.strip() not in LABELS:
        raise row_error(path, line, "none of the 19 labels", text)
    for number, more in block[2:]:
        if not more.startswith("Comment:"):
            raise row_error(path, number, "neither a comment nor a blank line behind a label", more)
    return text.strip()
