"""The names of labels, and texts, beside the numbers that metrics compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")


def label_columns(
    target: np.ndarray, prediction: np.ndarray, labels: Sequence[Any] | None
) -> dict[str, list[str]]:
    """Columns ``target_label`` and ``prediction_label`` of numbers of labels; none where there are no names.

    Args:
        target, prediction: Numbers ``[N]``; what is below 0 has no name.
        labels: The names by their numbers.
    """
    if not labels:
        return {}
    names = [*map(str, labels)]
    columns = {"target_label": target, "prediction_label": prediction}
    return {
        column: [names[int(number)] if number >= 0 else "" for number in numbers]
        for column, numbers in columns.items()
    }


def texts_of(read: Callable[[], list[T]]) -> list[T]:
    """What a dataset reads of its raw files; nothing where they are gone, and only what was made of them is
    left.
    """
    try:
        return read()
    except FileNotFoundError:
        return []
