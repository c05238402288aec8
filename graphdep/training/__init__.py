"""From settings to results: configurations, runs, checkpoints, ablations."""

from graphdep.training.checkpoint import load_task, read_checkpoint
from graphdep.training.evaluation import evaluate
from graphdep.training.loading import load_splits
from graphdep.training.model_presets import MODELS, ModelPreset, resolve_model
from graphdep.training.run import run_folder, train
from graphdep.training.splits import Splits
from graphdep.training.train_config import TrainConfig, parse_settings

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
