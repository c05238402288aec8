"""What the splits of a corpus of marked spans must have."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from graphdep.datasets.spans.base import SpanDataset
from graphdep.tasks.spans.config import SpanConfig
from graphdep.training.splits import Splits


def check_splits(config: SpanConfig, splits: Splits) -> None:
    """Checks what only the data can tell: one's own may have one span or two.

    Raises:
        ValueError: If a split has another number of spans than the first, or no labels, or examples have one
            span and the settings ask for the way between two.
    """
    sets = {name: cast(SpanDataset, dataset) for name, dataset in splits.datasets.items()}
    first, other = next(iter(sets.items()))
    for name, dataset in sets.items():
        if "y" not in dataset._data:
            raise ValueError(f"{dataset.corpus} ({name}): the examples have no labels")
        if dataset.num_spans != other.num_spans:
            place, *_ = [*dataset.raw_files(Path(dataset.raw_dir), name), dataset.corpus]
            raise ValueError(
                f"{place} ({name}): the number of spans of an example must be "
                f"{other.num_spans}, as of {first!r} (got {dataset.num_spans})"
            )
    if config.path and other.num_spans < 2:
        raise ValueError(f"'path' is between two spans, but examples of {other.corpus} have one (got True)")
