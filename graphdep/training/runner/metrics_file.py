"""The values of every epoch of a run, as a file, and where asked those of steps."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import lightning as L

from graphdep.io import atomic_path
from graphdep.io.files import long_fields
from graphdep.io.limits import check_whole
from graphdep.training.family.learning_task import LearningTask
from graphdep.training.runner.run_checkpoint import RunCheckpoint

METRICS, STEPS = "metrics.csv", "steps.csv"
Values = dict[str, "int | float | None"]


class MetricsFile(L.Callback):
    """Writes ``metrics.csv`` of a run, a line an epoch: ``epoch``, ``step`` (updates so far), ``lr`` (the
    highest of the optimizer's groups at its end), ``train_loss``, all scores of the validation split, empty
    after epochs without one, and ``seconds`` and ``val_seconds``.

    A run that goes on keeps the lines of the epochs that its checkpoint has seen, so that all values but the
    seconds are those of an uninterrupted one. Numbers are written so that they are read back exactly.

    Args:
        folder: Folder of the run.
        checkpoint: Knows the seconds.
        log_every: Write ``steps.csv`` as well, the loss of the batch and the learning rate after every so
            many updates, and tell them to the trainer's loggers; :obj:`None` for none. (default: :obj:`None`)

    Raises:
        ValueError: If :obj:`log_every` is no whole number of at least 1.
    """

    def __init__(self, folder: Path, checkpoint: RunCheckpoint, log_every: int | None = None) -> None:
        if log_every is not None:
            check_whole("log_every", log_every)
        self.folder, self.checkpoint, self.log_every = folder, checkpoint, log_every
        self.epochs: list[Values] = []
        self.steps: list[Values] = []
        self._last = 0

    def on_train_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        known = trainer.current_epoch
        self.epochs, self.steps = (
            [row for row in read_metrics(self.folder / name) if (row["epoch"] or 0) <= known]
            for name in (METRICS, STEPS)
        )

    def on_train_batch_end(
        self, trainer: L.Trainer, pl_module: L.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        step = trainer.global_step
        if self.log_every is None or step == self._last or step % self.log_every:
            return
        self._last = step
        loss = float(outputs["loss"] if isinstance(outputs, Mapping) else outputs)
        told: dict[str, float] = {"train_loss": loss, "lr": _rate(trainer)}
        self.steps.append({"step": step, "epoch": trainer.current_epoch + 1, **told})
        for logger in trainer.loggers:
            logger.log_metrics({"train_loss_step": loss, "lr": told["lr"]}, step=step)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        validated = self.checkpoint.validated(trainer)
        scores = cast(LearningTask, pl_module).val_scores if validated else {}
        row: Values = {"epoch": trainer.current_epoch + 1, "step": trainer.global_step, "lr": _rate(trainer)}
        row |= {"train_loss": float(trainer.callback_metrics["train_loss"]), **scores}
        row["seconds"] = self.checkpoint.seconds[-1]
        row |= {"val_seconds": self.checkpoint.val_seconds[-1]} if validated else {}
        self.epochs.append(row)
        write_metrics(self.folder / METRICS, self.epochs)
        if self.steps:
            write_metrics(self.folder / STEPS, self.steps)


def write_metrics(path: Path, rows: Sequence[Values]) -> None:
    """Writes a table whose columns are the keys of all rows, whole or not at all; what a row lacks is an
    empty cell.
    """
    last = ("seconds", "val_seconds")
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [*(name for name in names if name not in last), *(name for name in last if name in names)]
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([row.get(name) for name in columns] for row in rows)


def read_metrics(path: Path) -> list[Values]:
    """The rows of ``metrics.csv`` or ``steps.csv``, :obj:`None` where a cell is empty; none if there is no
    such file.

    Raises:
        ValueError: If a cell is no number, or the file not UTF-8; names the file and the line.
    """
    if not path.exists():
        return []
    # A byte that is not UTF-8 is no number either, nor in the name of a column.
    with path.open(encoding="utf-8", errors="replace", newline="") as file, long_fields():
        reader = csv.DictReader(file)
        if any("\ufffd" in name for name in reader.fieldnames or ()):
            raise ValueError(f"{path}:1: not UTF-8")
        rows = []
        for row in reader:
            try:
                rows.append({name: _number(name, text) for name, text in row.items()})
            except (TypeError, ValueError):
                raise ValueError(f"{path}:{reader.line_num}: not numbers (got {str(row)[:200]})") from None
    return rows


def _number(name: str, text: str) -> int | float | None:
    if text == "":
        return None
    return int(text) if name in ("epoch", "step") else float(text)


def _rate(trainer: L.Trainer) -> float:
    return max(float(group["lr"]) for optimizer in trainer.optimizers for group in optimizer.param_groups)
