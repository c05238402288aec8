"""Scores that are no better than what there is without a model."""

from __future__ import annotations

from collections.abc import Mapping

from graphdep.metrics import Metric
from graphdep.training.family.by_task import family_of
from graphdep.training.family.lookup import resolve_task


def below_floor(task: str, scores: Mapping[str, float], floor: Mapping[str, float]) -> str:
    """The main score where it is no better than its best floor, and that floor, for people; else empty.

    Args:
        task: Name of the task.
        scores: Scores by name, ``<split>_<metric>``; the test split counts, or where there is none the
            validation split.
        floor: What :meth:`TaskFamily.floor` gives for the same splits.

    Example:
        >>> from graphdep.training.family.below_floor import below_floor
        >>> below_floor("labels", {"test_f1": 0.25}, {"test_f1": 0.0, "test_f1_lookup": 0.5})
        'test_f1 0.2500 is no better than look-up 0.5000'
    """
    metric, name = _main(task, scores)
    floors = family_of(task).split_floors(floor)
    known = {about: values[name] for about, values in floors.items() if name in values}
    if not known:
        return ""
    about = (max if metric.maximize else min)(known, key=known.__getitem__)
    if metric.is_better(scores[name], known[about]):
        return ""
    return f"{name} {scores[name]:.4f} is no better than {about} {known[about]:.4f}"


def untrained(task: str, scores: Mapping[str, float], frozen: Mapping[str, float]) -> str:
    """The main score of a pretrained encoder where it is no better than what the encoder gave before its
    training, for people; else empty. Such a row says nothing of what it was trained with.

    Args:
        task: Name of the task.
        scores: As in :func:`below_floor`.
        frozen: What :meth:`TaskFamily.floor_frozen` gives for the same splits; empty for other encoders.

    Example:
        >>> from graphdep.training.family.below_floor import untrained
        >>> untrained("sick-e", {"test_accuracy": 0.5}, {"test_accuracy": 0.625})
        'test_accuracy 0.5000 is no better than 0.6250 of the encoder before its training'
    """
    metric, name = _main(task, scores)
    if name not in frozen or metric.is_better(scores[name], frozen[name]):
        return ""
    return (
        f"{name} {scores[name]:.4f} is no better than {frozen[name]:.4f} of the encoder before its training"
    )


def _main(task: str, scores: Mapping[str, float]) -> tuple[Metric, str]:
    """The first metric of a task, and its name among the scores of the split that counts, empty for none."""
    metric = resolve_task(task).metrics[0]
    names = (f"{split}_{metric.name}" for split in ("test", "val"))
    return metric, next((name for name in names if name in scores), "")
