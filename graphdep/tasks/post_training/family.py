"""The family of post-training."""

from __future__ import annotations

from graphdep.tasks.post_training.settings import COLUMNS, TASKS, PostTrainingConfig
from graphdep.training.family import TaskFamily

ENCODER = "encoder"
"""The folder of a run with the encoder that it made."""
POST_TRAINING = TaskFamily(
    name="post-training",
    tasks=TASKS,
    configs={"post-training": PostTrainingConfig},
    learner="graphdep.tasks.post_training.model:PostTrainingTask",
    default_models=("bert-fp",),
    gives="an encoder",
    used_by="its folder `encoder`, which graphdep.nn.pretrained.loading takes",
    columns=COLUMNS,
    floor_reads=(),
    files=(ENCODER,),
)
"""Masked words and the relevance of responses, for a pretrained encoder."""
