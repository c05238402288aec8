"""Which epoch is the best, when to stop, and the two files that say so."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

import lightning as L
from lightning.pytorch.callbacks import Checkpoint

from graphdep.metrics import Metric
from graphdep.training.family.learning_task import LearningTask
from graphdep.training.runner.checkpoint import RunState
from graphdep.training.runner.monitor import monitored_score


class RunCheckpoint(Checkpoint):
    """Keeps ``best.ckpt`` and ``last.ckpt`` of a run, and stops it when nothing gets better any more.

    Both are written after an epoch's validation, the best one first: whatever the moment of a kill, what
    ``last.ckpt`` has not seen is done again in the same way.

    Args:
        folder: Folder of the run.
        state: What goes into each file beside the weights.
        metric: Decides which epoch is the best; of equal ones the first.
        patience: Stop after so many epochs without a better one; :obj:`None` for never. (default:
            :obj:`None`)
        keep: ``"best"``, or ``"last"`` to take the last epoch for the best one. (default: ``"best"``)
    """

    def __init__(
        self,
        folder: Path,
        state: RunState,
        metric: Metric,
        patience: int | None = None,
        keep: str = "best",
    ) -> None:
        self.folder, self.state, self.metric, self.patience = folder, state, metric, patience
        self.keep, self.best = keep, cast("float | None", None)
        self.best_epoch = self.epochs = 0
        self.best_scores: dict[str, float] = {}
        self.seconds: list[float] = []
        self._start = 0.0

    @property
    def best_path(self) -> Path:
        return self.folder / "best.ckpt"

    @property
    def last_path(self) -> Path:
        return self.folder / "last.ckpt"

    def keeps(self, value: float) -> bool:
        """Whether an epoch with that validation score becomes the one of ``best.ckpt``."""
        return self.keep == "last" or self.metric.is_better(value, self.best)

    def state_dict(self) -> dict[str, Any]:
        names = ("best", "best_epoch", "epochs", "best_scores", "seconds")
        return {name: getattr(self, name) for name in names}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for name, value in state_dict.items():
            setattr(self, name, value)

    def on_save_checkpoint(
        self, trainer: L.Trainer, pl_module: L.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        checkpoint["graphdep"] = self.state.state_dict() | {"scores": self.best_scores, "epoch": self.epochs}

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._stop_if_done(trainer)  # a run that was killed between its last epoch and its end

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._start = time.perf_counter()

    def on_validation_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.seconds.append(time.perf_counter() - self._start)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.epochs = trainer.current_epoch + 1
        scores = cast(LearningTask, pl_module).val_scores
        value = monitored_score(self.metric, cast(LearningTask, pl_module))
        if self.keeps(value):
            self.best, self.best_epoch, self.best_scores = value, self.epochs, scores
            trainer.save_checkpoint(self.best_path)
        trainer.save_checkpoint(self.last_path)
        self._stop_if_done(trainer)

    def _stop_if_done(self, trainer: L.Trainer) -> None:
        if self.patience is not None and self.epochs - self.best_epoch >= self.patience:
            trainer.should_stop = True
