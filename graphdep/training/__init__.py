"""Settings, runs, checkpoints, ablations and comparisons."""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from graphdep.training.ablation import ablate
    from graphdep.training.checkpoint import load_task, read_checkpoint
    from graphdep.training.config import ModelPreset, TrainConfig, resolve_model
    from graphdep.training.evaluation import evaluate
    from graphdep.training.family import load_splits
    from graphdep.training.run import run_folder, train
    from graphdep.training.settings import parse_settings
    from graphdep.training.splits import Splits
    from graphdep.training.structure import needs_structure
    from graphdep.training.table import compare_runs

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

__getattr__, __dir__ = lazy_imports(__name__)

# Registers the task families, which no file of this package imports.
import graphdep.tasks  # noqa: E402, F401
