"""From settings to results: configurations, runs, checkpoints, ablations."""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_face

if TYPE_CHECKING:
    from graphdep.training.family.by_task import load_splits
    from graphdep.training.family.model_preset import ModelPreset, resolve_model
    from graphdep.training.family.settings import parse_settings
    from graphdep.training.family.splits import Splits
    from graphdep.training.family.train_config import TrainConfig
    from graphdep.training.runner.checkpoint import load_task, read_checkpoint
    from graphdep.training.runner.evaluation import evaluate
    from graphdep.training.runner.run import run_folder, train
    from graphdep.training.table.ablation import ablate
    from graphdep.training.table.comparison import compare_runs
    from graphdep.training.table.needs_structure import needs_structure

__all__ = [
    "ModelPreset",
    "Splits",
    "TrainConfig",
    "ablate",
    "compare_runs",
    "evaluate",
    "load_splits",
    "load_task",
    "needs_structure",
    "parse_settings",
    "read_checkpoint",
    "resolve_model",
    "run_folder",
    "train",
]

__getattr__, __dir__ = lazy_face(__name__)
