"""Marked spans of one's own, with a label for each example."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Unpack

from graphdep.datasets.base.drawn_val import DrawnVal
from graphdep.datasets.base.own_files import OwnFiles
from graphdep.datasets.base.text_rows import check_suffix
from graphdep.datasets.base.word_options import WordOptions
from graphdep.datasets.spans.span_dataset import SpanDataset
from graphdep.datasets.spans.span_example import SpanExample
from graphdep.datasets.spans.span_rows import read_span_rows
from graphdep.parsing import Parser


class OwnSpans(OwnFiles, SpanDataset):
    r"""The user's own sentences with one or two marked spans and a label each.

    In a ``.jsonl`` file a line is an object, and so is a row of a ``.parquet`` file:

    ====================  ====================================================================================
    ``words``             a list of words; ``spans`` are then numbers of words
    ``text``              or a text; ``spans`` are then numbers of characters, and
                          :func:`~graphdep.datasets.spans.marked_text.mark_text` splits it into words
    ``spans``             one or two ``[start, end]``, from 0, the end not included: ``[[0, 2], [5, 6]]``
    ``label``             the label, a text
    ``head``, ``deprel``  with ``words``, of each word the number of its governor, from 1, 0 for the root, and
                          its relation to it: then the parse is theirs, whatever the parser
    ====================  ====================================================================================

    In a ``.csv`` or ``.tsv`` file the column of texts has the spans marked, ``<e1>...</e1>`` and
    ``<e2>...</e2>``. The files are read where they are; below :obj:`root` are only processed examples and the
    cache of parses. The classes are learned from the training file, whole as it is; a label that it does not
    have is counted, and wrong whatever is predicted.

    Args:
        root: Folder of what is made of the files. (default: ``"datasets/spans"``)
        split: ``"train"``, ``"val"`` or, with a file for it, ``"test"``. (default: ``"train"``)
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser; ``"gold"`` where all examples
            have trees. (default: ``"bundled"``)
        train: File with the training examples.
        val: File with the examples for validation; :obj:`None` draws sentences from the training file.
            (default: :obj:`None`)
        test: File with the examples for testing; :obj:`None` for no such split. (default: :obj:`None`)
        text_column: Name of the texts. (default: ``"text"``)
        label_column: Name of the labels. (default: ``"label"``)
        val_fraction: The share of the sentences that is drawn for validation. (default: :obj:`0.1`)
        seed: Of that draw. (default: :obj:`0`)
        options: Further ones, see :class:`~graphdep.datasets.base.word_options.WordOptions`, but
            :obj:`raw_from`: the files are read where they are.

    Shapes:
        - as of :class:`~graphdep.datasets.spans.span_dataset.SpanDataset`

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If an option is wrong, or a row is: a span outside of the sentence, without a word, or by
            characters with an end inside of a word; a tag that does not close; words and a text at once; a
            tree that is none; the message has file, line and value.

    Example:
        >>> from pathlib import Path
        >>> from graphdep.datasets import OwnSpans
        >>> rows = "<e1>Rain</e1> makes <e2>mud</e2>.,cause\n<e1>Mud</e1> is <e2>wet</e2>.,other\n"
        >>> _ = Path("relations.csv").write_text("text,label\n" + rows)
        >>> dataset = OwnSpans("datasets/spans", train="relations.csv", val="relations.csv", parser="chain")
        >>> dataset.labels, dataset[0].mark
        (('cause', 'other'), tensor([0, 1, 0, 2, 0]))
    """

    keeps_trees = True

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/spans",
        split: str = "train",
        parser: str | Parser = "bundled",
        *,
        train: str | os.PathLike[str],
        val: str | os.PathLike[str] | None = None,
        test: str | os.PathLike[str] | None = None,
        text_column: str = "text",
        label_column: str = "label",
        val_fraction: float = 0.1,
        seed: int = 0,
        **options: Unpack[WordOptions],
    ) -> None:
        self.take_files(train, val, test, options.get("raw_from"))
        for name, path in self.files.items():
            check_suffix(name, path)
        if text_column == label_column:
            raise ValueError(f"'label_column' must be no column of texts (got {label_column!r})")
        self.text_column, self.label_column = text_column, label_column
        self.drawn_val = DrawnVal(val_fraction, seed)
        super().__init__(root, split, parser, **options)

    def options(self) -> dict[str, Any]:
        columns = [self.text_column, self.label_column]
        return super().options() | {
            "columns": columns,
            "val": None if "val" in self.files else self.drawn_val,
        }

    def read(self, folder: Path, split: str) -> list[SpanExample]:
        path = self.file(split)
        found = read_span_rows(path, self.text_column, self.label_column)
        drawn = ""
        if split != "test" and "val" not in self.files:
            found, drawn = self.drawn_val.part(found, split)
        trees = sum(example.tree is not None for example in found)
        own = f"{trees} of {len(found)} examples have a parse of their own" if trees else ""
        self.said[split] = "; ".join(note for note in (drawn, own) if note)
        return found
