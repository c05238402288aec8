"""Every choice of a run on the user's own marked spans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphdep.tasks.spans.config import SpanConfig
from graphdep.training.family.setting import setting


@dataclass(frozen=True, kw_only=True)
class OwnSpanConfig(SpanConfig, kind="own-spans"):
    """Settings of a run on the user's own marked spans, see :class:`graphdep.datasets.OwnSpans`.

    Args:
        train: File with the training examples: ``.jsonl``, or ``.csv`` or ``.tsv`` with tags in the texts.
        val: File for validation; :obj:`None` draws them from the training file. (default: :obj:`None`)
        test: File for testing; :obj:`None` for no test scores. (default: :obj:`None`)
        text_columns, label_column: Names of the columns of texts and labels, of a table. (default:
            ``"text"``, ``"label"``)
        no_finding: The label that stands for no finding, which F1 leaves out. (default: :obj:`None`)
        trees: ``"parser"``, or ``"gold"`` where the files have trees. (default: ``"parser"``)
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
    no_finding: str | None = setting(None, defines=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.train is None:
            raise ValueError(f"task {self.task!r} needs 'train' (--train), which is not given")
        if self.raw_from is not None:
            raise ValueError(f"'raw_from' is for corpora, not for task {self.task!r} (got {self.raw_from!r})")

    @property
    def outside(self) -> str | None:
        return self.no_finding

    @property
    def splits(self) -> tuple[str, ...]:
        return super().splits if self.test is not None else ("train", "val")

    def dataset_options(self, split: str) -> dict[str, Any]:
        files = {name: getattr(self, name) for name in ("train", "val", "test")}
        named = {"text_column": self.text_columns, "label_column": self.label_column}
        given = {name: value for name, value in named.items() if value is not None}
        return super().dataset_options(split) | files | given
