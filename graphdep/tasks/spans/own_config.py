"""Every choice of a run on the user's own marked spans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphdep.datasets.base.rows import check_columns, check_suffix
from graphdep.datasets.spans.rows import column_of
from graphdep.tasks.spans.config import SpanConfig
from graphdep.training.settings import setting

_FILES = ("train", "val", "test")


@dataclass(frozen=True, kw_only=True)
class OwnSpanConfig(SpanConfig, kind="own-spans"):
    """Settings of a run on the user's own marked spans, see :class:`graphdep.datasets.OwnSpans`.

    Args:
        train: File with the training examples: ``.jsonl``, or ``.csv`` or ``.tsv`` with tags in the texts.
        val: File for validation; :obj:`None` draws them from the training file. (default: :obj:`None`)
        test: File for testing; :obj:`None` for no test scores. (default: :obj:`None`)
        text_columns, label_column: Names of the columns of texts, of which there is one, and of labels, or of
            these keys in ``.jsonl``; :obj:`None` for ``"text"``, ``"label"``. (default: :obj:`None`)
        outside: The label that stands for no finding, which F1 leaves out. (default: :obj:`None`)
        val_fraction: The share of the sentences that is drawn for validation. (default: :obj:`0.1`)
        val_seed: Of that draw, which so is the same for every :obj:`seed`. (default: :obj:`0`)
        trees: ``"parser"``: sentences that have a tree keep it, and :obj:`parser` parses the others;
            ``"gold"`` for files in which all have one. (default: ``"parser"``)
        **others: As in :class:`SpanConfig`, but not ``raw_from``.

    Raises:
        ValueError: If a setting is missing or wrong; the message names it.
    """

    task: str = "spans"
    train: str | None = setting(None, place=True)
    val: str | None = setting(None, place=True)
    test: str | None = setting(None, place=True)
    text_columns: str | None = setting(None, free=True)
    label_column: str | None = setting(None, free=True)
    outside: str | None = setting(None, defines=True)
    val_fraction: float = 0.1
    val_seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.train is None:
            raise ValueError(f"task {self.task!r} needs 'train' (--train), which is not given")
        if self.raw_from is not None:
            raise ValueError(f"'raw_from' is for corpora, not for task {self.task!r} (got {self.raw_from!r})")

    @property
    def splits(self) -> tuple[str, ...]:
        return super().splits if self.test is not None else ("train", "val")

    def check_sources(self) -> None:
        super().check_sources()
        for name, path in self.own_files().items():
            check_suffix(name, path)
            check_columns(path, [column_of(path, self.text_columns or "text"), self.label_column or "label"])

    def dataset_options(self, split: str) -> dict[str, Any]:
        files = {name: getattr(self, name) for name in _FILES}
        named = {"text_column": self.text_columns, "label_column": self.label_column}
        given = {name: value for name, value in named.items() if value is not None}
        return super().dataset_options(split) | files | given
