"""The task family of post-training."""

from __future__ import annotations

from graphdep.tasks.post_training.settings import COLUMNS, TASKS, PostTrainingConfig
from graphdep.training.family import TaskFamily

ENCODER = "encoder"
"""The folder of the trained encoder in that of a run."""
POST_TRAINING = TaskFamily(
    name="post-training",
    tasks=TASKS,
    configs={"post-training": PostTrainingConfig},
    learner="graphdep.tasks.post_training.model:PostTrainingTask",
    default_models=("bert-fp",),
    gives="an encoder",
    used_by="its folder `encoder`, for graphdep.nn.pretrained.load_encoder",
    columns=COLUMNS,
    floor_reads=(),
    files=(ENCODER,),
)
"""Post-training of a pretrained encoder on masked words and the relevance of responses."""
