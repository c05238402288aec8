"""From settings to results: configurations, runs, checkpoints, ablations."""

from graphdep.tasks.sentences.presets import MODELS, ModelPreset, resolve_model
from graphdep.training.family.loading import load_splits
from graphdep.training.family.splits import Splits
from graphdep.training.family.train_config import TrainConfig, parse_settings
from graphdep.training.runner.checkpoint import load_task, read_checkpoint
from graphdep.training.runner.evaluation import evaluate
from graphdep.training.runner.run import run_folder, train

__all__ = [
    "MODELS",
    "ModelPreset",
    "Splits",
    "TrainConfig",
    "evaluate",
    "load_splits",
    "load_task",
    "parse_settings",
    "read_checkpoint",
    "resolve_model",
    "run_folder",
    "train",
]
