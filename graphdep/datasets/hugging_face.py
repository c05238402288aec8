"""Datasets of Hugging Face's library as graphs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphdep.datasets.base.parsed_dataset import ParsedDataset
from graphdep.datasets.labels.own.own_labels import OwnLabels
from graphdep.datasets.sentences.csv_texts import CSVTexts
from graphdep.datasets.spans.own_spans import OwnSpans
from graphdep.io import atomic_path

SPLITS = {"train": ("train",), "val": ("validation", "val", "valid", "dev"), "test": ("test",)}
"""What our splits are called there."""


def from_hf(
    data: Any,
    *,
    text: str | Sequence[str] | None = None,
    words: str | None = None,
    spans: str | None = None,
    label: str = "label",
    splits: Mapping[str, str] | None = None,
    root: str | os.PathLike[str] = "datasets/hf",
    **options: Any,
) -> dict[str, ParsedDataset]:
    """Makes parsed examples of a ``Dataset`` or ``DatasetDict`` of Hugging Face's library *datasets*.

    ====================================  ====================================================================
    ``text="sentence"``                   a label or number for each text, as of
                                          :class:`~graphdep.datasets.CSVTexts`
    ``text=("premise", "hypothesis")``    the same for pairs of texts
    ``words="tokens", label="ner_tags"``  a label for each word, as of :class:`~graphdep.datasets.OwnLabels`
    ``text=`` or ``words=``, ``spans=``   a label for one or two spans, as of
                                          :class:`~graphdep.datasets.OwnSpans`
    ====================================  ====================================================================

    The rows are written below :obj:`root` as files of JSON lines, whose names tell their content, and read
    from there; numbers of a ``ClassLabel`` become the names of the classes.

    Args:
        data: The dataset; one without splits is for training.
        text: Name of the column with the texts, or of the two columns with pairs of texts.
        words: Name of the column with lists of words.
        spans: Name of the column with one or two ``[start, end]``.
        label: Name of the column with the labels. (default: ``"label"``)
        splits: Which of its splits is ``"train"``, ``"val"`` and ``"test"``; the others are not read.
            (default: those of the usual names; any other split is an error)
        root: Folder of the files, of what is made of them, and of the cache of parses.
            (default: ``"datasets/hf"``)
        options: Further ones of the class that is made, such as :obj:`parser` and :obj:`transform`.

    Returns:
        The datasets by split. Without a split for validation, a part of that for training is drawn.

    Raises:
        ValueError: If it is no such dataset, a split or column is missing, a label is none of its
            ``ClassLabel`` (test splits without labels have -1), or a row is wrong, with split, row and value.

    .. code-block:: python

        cola = load_dataset("glue", "cola")  # its test split has no labels
        parts = from_hf(cola, text="sentence", splits={"train": "train", "val": "validation"})
        loader = DataLoader(parts["train"], batch_size=32, shuffle=True)

    Example:
        >>> from graphdep.datasets import from_hf
        >>> from_hf({"text": ["A fine film."], "label": ["good"]}, text="text")
        Traceback (most recent call last):
            ...
        ValueError: 'data' must be a Dataset or DatasetDict (got dict)
    """
    columns, make = _family(text, words, spans, label)
    found = _splits(data, splits)
    folder = Path(root)
    files = {name: _write(folder, name, rows, columns) for name, rows in found.items()}
    wanted = [*files, *(["val"] if "val" not in files else [])]
    return {name: make(folder, name, **files, **options) for name in wanted}


def _family(
    text: str | Sequence[str] | None, words: str | None, spans: str | None, label: str
) -> tuple[dict[str, str], Callable[..., ParsedDataset]]:
    """The columns that are read, by their names in our files, and what makes a dataset of these."""
    if (text is None) == (words is None):
        raise ValueError(f"either 'text' or 'words' must name columns (got {text!r} and {words!r})")
    if spans is not None:
        if text is not None and not isinstance(text, str):
            raise ValueError(f"'text' must name one column where there are 'spans' (got {list(text)})")
        ours, theirs = ("text", text) if words is None else ("words", words)
        return {ours: str(theirs), "spans": spans, "label": label}, OwnSpans
    if words is not None:
        return {"words": words, "labels": label}, OwnLabels
    names = [text] if isinstance(text, str) else list(text or ())
    columns = ["text"] if len(names) == 1 else [f"text{number}" for number in range(1, len(names) + 1)]

    def make(*args: Any, **options: Any) -> CSVTexts:
        return CSVTexts(*args, text_columns=columns, label_column="label", **options)

    return {**dict(zip(columns, names)), "label": label}, make


def _splits(data: Any, splits: Mapping[str, str] | None) -> dict[str, Any]:
    """The parts of a dataset by our names of splits."""
    if hasattr(data, "column_names") and hasattr(data, "features") and not isinstance(data, Mapping):
        data = {"train": data}
    if not isinstance(data, Mapping) or not all(hasattr(part, "features") for part in data.values()):
        raise ValueError(f"'data' must be a Dataset or DatasetDict (got {type(data).__name__})")
    there = ", ".join(data)
    if splits is None:
        ours = {theirs: name for name, usual in SPLITS.items() for theirs in usual}
        if strange := [name for name in data if name not in ours]:
            raise ValueError(
                f"a split {strange[0]!r} among {there}: say which are read, such as "
                f"splits={{'train': 'train', 'val': {strange[0]!r}}}"
            )
        splits = {ours[name]: name for name in data}
    for name, theirs in splits.items():
        if name not in SPLITS:
            raise ValueError(f"'splits' are of {', '.join(SPLITS)} (got {name!r})")
        if theirs not in data:
            raise ValueError(f"no split {theirs!r} for {name!r}; there are {there}")
    if "train" not in splits:
        raise ValueError(f"no split to train on; there are {there}")
    return {name: data[theirs] for name, theirs in splits.items()}


def _write(folder: Path, split: str, rows: Any, columns: Mapping[str, str]) -> Path:
    """Writes the columns of a split, and gives the file, whose name has a digest of its content."""
    for column in columns.values():
        if column not in rows.column_names:
            raise ValueError(f"{split}: no column {column!r}; the columns are {', '.join(rows.column_names)}")
    text = "".join(_lines(split, rows, columns))
    path = folder / f"{split}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.jsonl"
    if not path.exists():
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="")
    return path


def _lines(split: str, rows: Any, columns: Mapping[str, str]) -> Iterator[str]:
    names = {column: _class_names(rows.features[column]) for column in columns.values()}
    cells = zip(*(rows[theirs] for theirs in columns.values()))
    for number, row in enumerate(cells):
        place = f"{split}, row {number}"
        values = {
            ours: _named(value, names[theirs], f"{place}: {theirs!r}")
            for (ours, theirs), value in zip(columns.items(), row)
        }
        try:
            yield json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n"
        except (TypeError, ValueError) as error:
            raise ValueError(f"{place}: {error} (got {str(values)[:80]!r})") from None


def _class_names(feature: Any) -> list[str] | None:
    """The names of a ``ClassLabel``, also of one for each word."""
    feature = getattr(feature, "feature", feature)
    return getattr(feature, "names", None)


def _named(value: Any, names: list[str] | None, place: str) -> Any:
    if names is None or value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_named(one, names, place) for one in value]
    if not 0 <= value < len(names):
        raise ValueError(f"{place} is none of the classes {', '.join(names)} (got {value})")
    return names[value]
