"""A trained model by the name of its folder, file or place on the hub."""

from __future__ import annotations

import importlib
import os
from typing import Any

from graphdep.training.family.by_task import family_of
from graphdep.training.runner.checkpoint import read_task
from graphdep.training.runner.hub_model import HubModel, fetched


def load(name: str | os.PathLike[str], **options: Any) -> HubModel:
    """A trained model that answers: a :class:`~graphdep.SequenceClassifier`,
    :class:`~graphdep.WordLabeller`, :class:`~graphdep.SpanClassifier`, :class:`~graphdep.Responder` or
    :class:`~graphdep.ResponseSelector`, as its task is; of a regression the
    :class:`~graphdep.SentenceEncoder`. No code in it is run.

    Args:
        name: A folder of ``save_pretrained``, a run's folder or checkpoint, or ``OWNER/NAME`` of the Hugging
            Face hub, from which nothing is fetched where there is a folder of that name.
        **options: Of the class: :obj:`edges`, :obj:`parser`, :obj:`device`, :obj:`batch_size`.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it is damaged, not graphdep's or of another version, its task has no such class, or an
            option has to be given.

    Example:
        >>> import graphdep
        >>> model = graphdep.load("best.ckpt")
        >>> _ = model.save_pretrained("opinions")
        >>> graphdep.load("opinions").predict(["A fine film."]).shape
        (1,)
    """
    place = fetched(name)
    task = read_task(place)
    known = family_of(task).predictor(task)
    if known is None:
        used = family_of(task).used_by
        raise ValueError(f"{place}: trained on the task {task!r}, which no class answers for: see {used}")
    module, _, called = known.rpartition(".")
    predictor: type[HubModel] = getattr(importlib.import_module(module), called)
    return predictor._of_folder(place, **options)
