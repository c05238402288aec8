"""What decides which epoch is the best."""

from __future__ import annotations

import numpy as np

from graphdep.metrics import Metric
from graphdep.training.family.learning_task import LearningTask
from graphdep.training.family.train_config import TrainConfig


def _mean(losses: np.ndarray, _: np.ndarray) -> float:
    return float(losses.mean())


LOSS = Metric("loss", _mean, None, "loss: of the split, as of training, without dropout", maximize=False)
"""The loss of a split, which every family of tasks scores."""


def monitored(config: TrainConfig, task: LearningTask) -> Metric:
    """The metric of the validation split that epochs are chosen by and patience waits for: the first one of
    the task, or with ``monitor="loss"`` the loss.
    """
    return LOSS if config.monitor == "loss" else task.metrics[0]


def monitored_score(metric: Metric, task: LearningTask) -> float:
    """The value of the last epoch.

    Raises:
        ValueError: If the task does not score it, as one of another package may not score its loss.
    """
    scores = task.val_scores
    name = f"val_{metric.name}"
    if name not in scores:
        raise ValueError(f"'monitor' cannot be {metric.name!r}: the task scores {', '.join(scores)} alone")
    return scores[name]
