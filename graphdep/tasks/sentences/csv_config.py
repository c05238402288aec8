"""Every choice of a run on the user's own texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphdep.datasets.base.rows import check_columns, check_suffix
from graphdep.io.limits import MAX_WORDS
from graphdep.tasks.sentences.config import SentenceConfig
from graphdep.training.config import TrainConfig
from graphdep.training.settings import setting


@dataclass(frozen=True, kw_only=True)
class CSVConfig(SentenceConfig, kind="csv"):
    """Settings of a run on the user's own texts or pairs of texts, see :class:`graphdep.datasets.CSVTexts`.

    Args:
        train: File with the training texts: ``.csv``, ``.tsv`` or ``.jsonl``.
        val: File for validation; :obj:`None` draws them from the training file. (default: :obj:`None`)
        test: File for testing; :obj:`None` for no test scores. (default: :obj:`None`)
        text_columns: Name of the column with the texts, or the names of two, with a comma between them.
        label_column: Name of the column with the labels.
        val_fraction: The share that is drawn for validation. (default: :obj:`0.1`)
        val_seed: Of that draw, which so is the same for every :obj:`seed`. (default: :obj:`0`)
        max_words, truncate: Words of a text at most, and whether the first ones of a longer text are read,
            which else is an error. (default: :obj:`10_000`, :obj:`False`)
        **others: As in :class:`SentenceConfig`, but not ``raw_from``.

    Raises:
        ValueError: If a setting is missing or wrong; the message names it.
    """

    task: str = "csv"
    train: str | None = setting(None, place=True)
    val: str | None = setting(None, place=True)
    test: str | None = setting(None, place=True)
    text_columns: str | None = setting(None, free=True)
    label_column: str | None = setting(None, free=True)
    val_fraction: float = 0.1
    val_seed: int = 0
    max_words: int = setting(MAX_WORDS, free=True)
    truncate: bool = setting(False, free=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("train", "text_columns", "label_column"):
            if getattr(self, name) is None:
                option = name.replace("_", "-")
                raise ValueError(f"task {self.task!r} needs {name!r} (--{option}), which is not given")
        if self.raw_from is not None:
            raise ValueError(f"'raw_from' is for corpora, not for task {self.task!r} (got {self.raw_from!r})")

    @property
    def columns(self) -> list[str]:
        """The names of the columns with texts."""
        assert self.text_columns is not None
        return [name.strip() for name in self.text_columns.split(",")]

    @property
    def num_texts(self) -> int:
        return len(self.columns)

    @property
    def splits(self) -> tuple[str, ...]:
        return super().splits if self.test is not None else ("train", "val")

    def check_sources(self) -> None:
        super().check_sources()
        assert self.label_column is not None
        for name, path in self.own_files().items():
            check_suffix(name, path)
            check_columns(path, [*self.columns, self.label_column])

    def for_evaluation(self, settings: Mapping[str, Any]) -> TrainConfig:
        config = super().for_evaluation(settings)
        assert isinstance(config, CSVConfig)
        if config.num_texts != self.num_texts:
            raise ValueError(
                f"'text_columns' must name as many columns as in training, {self.num_texts} (got "
                f"{config.text_columns!r})"
            )
        return config

    def dataset_options(self, split: str) -> dict[str, Any]:
        own = ("train", "val", "test", "label_column", "val_fraction", "max_words", "truncate")
        return {
            **super().dataset_options(split),
            **{name: getattr(self, name) for name in own},
            "text_columns": self.columns,
            "seed": self.val_seed,
        }
