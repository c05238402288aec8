"""Which epoch is the best, when to stop, and the two files that say so."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import lightning as L
from lightning.pytorch.callbacks import Checkpoint

from graphdep.metrics import Metric
from graphdep.training.family.learning_task import LearningTask, Outputs
from graphdep.training.runner.checkpoint import RunState
from graphdep.training.runner.monitor import monitored_score

# The share of a loss by which it must be lower to fall: another order of examples changes its last digits.
_FALL = 1e-4


class RunCheckpoint(Checkpoint):
    """Keeps ``best.ckpt`` and ``last.ckpt`` of a run, and stops it when nothing gets better any more.

    Both are written after a validation, the best one first: whatever the moment of a kill, what
    ``last.ckpt`` has not seen is done again in the same way.

    Args:
        folder: Folder of the run.
        state: What goes into each file beside the weights.
        metric: Decides which epoch is the best; of equal ones the first.
        patience: Stop after so many epochs without a better one; :obj:`None` for never. (default:
            :obj:`None`)
        keep: ``"best"``, or ``"last"`` to take the last epoch for the best one. (default: ``"best"``)
        floor: What no skill gets of :obj:`metric` on the validation split, after the first validation;
            :obj:`None` where nobody knows. Epochs with exactly that score, as of a model that still gives all
            words one label, do not count for :obj:`patience` while the training loss falls: of a small corpus
            they are the first of many. (default: :obj:`None`)
        val_every: After how many epochs each there is a validation. (default: :obj:`1`)
    """

    def __init__(
        self,
        folder: Path,
        state: RunState,
        metric: Metric,
        patience: int | None = None,
        keep: str = "best",
        floor: Callable[[LearningTask], float | None] | None = None,
        val_every: int = 1,
    ) -> None:
        self.folder, self.state, self.metric, self.patience = folder, state, metric, patience
        self.keep, self.best, self.floor = keep, cast("float | None", None), floor
        self.val_every = val_every
        self.best_epoch = self.epochs = self.waited = 0
        self.lowest_loss = math.inf
        self._no_skill: tuple[float | None, ...] = ()  # the floor, once it was asked for
        self.best_scores: dict[str, float] = {}
        self.best_outputs: Outputs = ()  # of the validation split, where this process has seen that epoch
        self.seconds: list[float] = []
        self.val_seconds: list[float] = []
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

    @property
    def stopped_early(self) -> bool:
        """Whether patience has come to its end."""
        return self.patience is not None and self.waited >= self.patience

    def state_dict(self) -> dict[str, Any]:
        names = ("best", "best_epoch", "epochs", "best_scores", "seconds", "val_seconds", "waited")
        return {name: getattr(self, name) for name in (*names, "lowest_loss")}

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

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.is_last_batch:
            self.seconds.append(self._lap())

    def on_validation_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.val_seconds.append(self._lap())

    def _lap(self) -> float:
        start, self._start = self._start, time.perf_counter()
        return self._start - start

    def validated(self, trainer: L.Trainer) -> bool:
        """Whether the epoch that ends has had its validation."""
        return (trainer.current_epoch + 1) % self.val_every == 0

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.epochs = trainer.current_epoch + 1
        if not self.validated(trainer):
            return
        scores = cast(LearningTask, pl_module).val_scores
        value = monitored_score(self.metric, cast(LearningTask, pl_module))
        self._wait(value, float(trainer.callback_metrics["train_loss"]), cast(LearningTask, pl_module))
        if self.keeps(value):
            self.best, self.best_epoch, self.best_scores = value, self.epochs, scores
            alone = trainer.world_size == 1  # else they stand in another order
            self.best_outputs = cast(LearningTask, pl_module).val_outputs if alone else ()
            trainer.save_checkpoint(self.best_path)
        trainer.save_checkpoint(self.last_path)
        self._stop_if_done(trainer)

    def _wait(self, value: float, loss: float, task: LearningTask) -> None:
        """Counts the epochs for patience."""
        falls = loss < (1 - _FALL) * self.lowest_loss
        self.lowest_loss = min(loss, self.lowest_loss)
        if self.keeps(value):
            self.waited = 0
        elif not (falls and self._without_skill(value, task)):
            self.waited += self.val_every

    def _without_skill(self, value: float, task: LearningTask) -> bool:
        if self.floor is None or self.patience is None:
            return False
        self._no_skill = self._no_skill or (self.floor(task),)
        floor = self._no_skill[0]
        return floor is not None and math.isclose(value, floor, abs_tol=1e-9)

    def _stop_if_done(self, trainer: L.Trainer) -> None:
        if self.stopped_early:
            trainer.should_stop = True
