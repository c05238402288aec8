"""Scores that are no better than what there is without a model."""

from __future__ import annotations

from collections.abc import Mapping

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
    metric = resolve_task(task).metrics[0]
    name = next((name for split in ("test", "val") if (name := f"{split}_{metric.name}") in scores), "")
    floors = family_of(task).split_floors(floor)
    known = {about: values[name] for about, values in floors.items() if name in values}
    if not known:
        return ""
    about = (max if metric.maximize else min)(known, key=known.__getitem__)
    if metric.is_better(scores[name], known[about]):
        return ""
    return f"{name} {scores[name]:.4f} is no better than {about} {known[about]:.4f}"
