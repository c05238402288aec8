"""The layout ``label <TAB> utterances ... <TAB> response``, one candidate a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from graphdep.datasets.base.raw import check_words, read_lines, row_error
from graphdep.datasets.selection.store.selection_pool import Pool, Utterance


class Row(NamedTuple):
    """One line of a raw file."""

    line: int
    label: int
    context: list[str]
    response: str


def read_rows(path: Path) -> Iterator[Row]:
    """The lines of a raw file.

    Control characters, which texts of users have, are read as spaces.

    Raises:
        ValueError: If a label is not 0 or 1, a line has less than an utterance and a response, or is not
            UTF-8: the message has file, line and value.
    """
    for line, text in read_lines(path, control=" "):
        label, *utterances = text.split("\t")
        if label not in ("0", "1"):
            raise row_error(path, line, "label must be 0 or 1", label)
        if len(utterances) < 2:
            message = (
                f"{len(utterances) + 1} tab-separated columns instead of a label, utterances and a response"
            )
            raise row_error(path, line, message, text)
        for number, utterance in enumerate(utterances, start=1):
            check_words(path, line, f"utterance {number}", utterance)
        yield Row(line, int(label), utterances[:-1], utterances[-1])


def read_pools(path: Path, make: Callable[[str], Utterance], *, size: int | None = None) -> Iterator[Pool]:
    """The pools of a raw file: lines with the same context that follow one another.

    Args:
        path: The file.
        make: Makes an utterance of a column.
        size: The number of candidates that every pool must have; where two pools of the same context follow
            one another, they are told apart. :obj:`None` for any number. (default: :obj:`None`)

    Raises:
        ValueError: As :func:`read_rows`; or if a pool has not :obj:`size` candidates.
    """
    for context, group in groupby(read_rows(path), key=lambda row: row.context):
        rows = list(group)
        if size is not None and len(rows) % size:
            text = f"the context has {len(rows)} candidates from here on instead of {size} (pool_size)"
            raise row_error(path, rows[0].line, text, "\t".join(context))
        for start in range(0, len(rows), size or len(rows)):
            pool = rows[start : start + (size or len(rows))]
            yield Pool(
                tuple(map(make, context)),
                tuple(make(row.response) for row in pool),
                tuple(row.label for row in pool),
            )
