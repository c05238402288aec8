"""The Lightning trainer, progress and logs."""

from __future__ import annotations

import contextlib
import csv
import logging
import math
import os
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import lightning as L
import torch
import torch.distributed as dist
from lightning.fabric.plugins.environments import (
    LightningEnvironment,
    SLURMEnvironment,
    TorchElasticEnvironment,
)
from lightning.pytorch.loggers import Logger
from lightning.pytorch.strategies import DDPStrategy
from rich.console import Console
from rich.text import Text

from graphdep.io.console import plain_console
from graphdep.io.files import atomic_path, long_fields
from graphdep.io.limits import check_choice, check_logger, check_whole, plural
from graphdep.io.process import end_with_parent
from graphdep.io.progress import Progress
from graphdep.training.build import FULL, TF32, resolve_precision
from graphdep.training.checkpoint import AtomicCheckpointIO, RunCheckpoint, monitored_score
from graphdep.training.config import TrainConfig
from graphdep.training.learning_task import LearningTask


class BatchProgress(L.Callback):
    """Progress of epochs, validations and predictions by batches.

    Args:
        scoring: Name of a prediction. (default: ``"scoring"``)
    """

    def __init__(self, scoring: str = "scoring") -> None:
        self.scoring = scoring
        self._progress = Progress("", shown=False)

    def _start(self, what: str, batches: float, wait: float = 2.0) -> None:
        self._progress.close()
        # The number of batches by tokens is unknown.
        total = int(batches) if math.isfinite(batches) else None
        self._progress = Progress(what, total, at_once=True, wait=wait)

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        # Epochs have lines of their own.
        epoch = f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}"
        self._start(epoch, trainer.num_training_batches, wait=10.0)

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._start("validation", float(sum(trainer.num_val_batches)), wait=10.0)

    def on_predict_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self._start(self.scoring, float(sum(trainer.num_predict_batches)))

    def _advance(self, *args: Any, **kwargs: Any) -> None:
        self._progress.advance()

    on_train_batch_end = on_validation_batch_end = on_predict_batch_end = _advance

    def _close(self, *args: Any, **kwargs: Any) -> None:
        self._progress.close()

    on_train_epoch_end = on_predict_end = on_exception = _close


class EpochReport(L.Callback):
    """Prints a line per epoch.

    Args:
        title: Name of the run.
        checkpoint: The checkpoint callback, which has the best epoch.
        console: Where to print. (default: stderr, since stdout is for results)
    """

    def __init__(self, title: str, checkpoint: RunCheckpoint, console: Console | None = None) -> None:
        self.title, self.checkpoint = title, checkpoint
        self.console = console or plain_console(stderr=True)

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        loss = float(trainer.callback_metrics["train_loss"])
        parts = [f"epoch {trainer.current_epoch + 1:>3}/{trainer.max_epochs}", f"train_loss {loss:.4f}"]
        seconds = f"{self.checkpoint.seconds[-1]:.1f} s"
        if self.checkpoint.validated(trainer):
            value = monitored_score(self.checkpoint.metric, cast(LearningTask, pl_module))
            parts.append(f"val_{self.checkpoint.metric.name} {value:.4f}")
            seconds += f" + {self.checkpoint.val_seconds[-1]:.1f} s val"
            seconds += "  best" if self.checkpoint.keeps(value) else ""
        self.say("  ".join([*parts, seconds]))

    def on_train_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        if why := why_early(self.checkpoint):
            self.say(why)

    def say(self, text: str) -> None:
        """Prints a line about the run."""
        self.console.print(Text(f"{self.title}  {text}"), soft_wrap=True)  # Text, to ignore markup


def why_early(checkpoint: RunCheckpoint) -> str:
    """Why a run stopped before ``max_epochs``; empty if it did not."""
    if not checkpoint.stopped_early or checkpoint.epochs >= checkpoint.state.config.max_epochs:
        return ""
    waited = checkpoint.waited
    free = checkpoint.epochs - checkpoint.best_epoch - waited
    uncounted = "; epochs at no skill do not count" if free else ""
    return (
        f"stopped early: no better val_{checkpoint.metric.name} for {plural(waited, 'epoch')}{uncounted} "
        "(--set patience=none goes on)"
    )


METRICS, STEPS = "metrics.csv", "steps.csv"
Values = dict[str, "int | float | None"]


class MetricsFile(L.Callback):
    """Writes ``metrics.csv`` of a run, one line per epoch: ``epoch``, ``step`` (so far), ``lr`` (the highest
    of the optimizer's groups at its end), ``train_loss``, the validation scores (empty for epochs without
    validation), ``seconds`` and ``val_seconds``.

    A resumed run keeps the lines of the epochs before, so that all values except the seconds are those of an
    uninterrupted run. Numbers are read back exactly.

    Args:
        folder: Folder of the run.
        checkpoint: The checkpoint callback, which has the seconds.
        log_every: Number of steps after which loss and learning rate are written to ``steps.csv`` and the
            trainer's loggers; :obj:`None` for never. (default: :obj:`None`)

    Raises:
        ValueError: If :obj:`log_every` is not a whole number of at least 1.
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
        rate = _rate(trainer)
        self.steps.append({"step": step, "epoch": trainer.current_epoch + 1, "train_loss": loss, "lr": rate})
        for logger in trainer.loggers:
            logger.log_metrics({"train_loss_step": loss, "lr": rate}, step=step)

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
    """Writes a table atomically; its columns are the keys of all rows, missing values are empty."""
    last = ("seconds", "val_seconds")
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [*(name for name in names if name not in last), *(name for name in last if name in names)]
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([row.get(name) for name in columns] for row in rows)


def read_metrics(path: Path) -> list[Values]:
    """The rows of ``metrics.csv`` or ``steps.csv``, empty cells as :obj:`None`; empty if there is no file.

    Raises:
        ValueError: If a cell is not a number, or the file is not UTF-8; names the file and the line.
    """
    if not path.exists():
        return []
    # Invalid UTF-8 is replaced and found in the checks below.
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


# The other processes wait while the first one scores.
_PATIENCE = timedelta(days=30)
_STRATEGIES = ("auto", "ddp")
_STARTED_BY = "GRAPHDEP_STARTED_BY"


def check_accelerator(config: TrainConfig) -> None:
    """Raises :class:`ValueError` if the settings require a GPU and there is none."""
    if config.accelerator == "gpu" and not (torch.cuda.is_available() or torch.backends.mps.is_available()):
        raise ValueError("'accelerator' cannot be 'gpu': PyTorch finds none (auto uses one if available)")


@dataclass(frozen=True)
class Processes:
    """The processes that train one model, each on its own device, and the rank of this process.

    On one machine the first process starts the others with the same command. On several machines they are
    started by ``torchrun``, Slurm's ``srun``, or one command per machine with Lightning's ``MASTER_ADDR``,
    ``MASTER_PORT`` and ``NODE_RANK``.

    Args:
        devices: Processes per machine. (default: :obj:`1`)
        nodes: Machines. (default: :obj:`1`)
        strategy: ``"auto"`` or ``"ddp"``, which are the same: several processes use DDP. (default:
            ``"auto"``)

    Raises:
        ValueError: If a number is below 1 or there is no such strategy.

    Example:
        >>> from graphdep.training.trainer import Processes
        >>> Processes().first, Processes(devices=2, nodes=4).count
        (True, 8)
    """

    devices: int = 1
    nodes: int = 1
    strategy: str = "auto"

    def __post_init__(self) -> None:
        check_whole("devices", self.devices)
        check_whole("nodes", self.nodes)
        check_choice("strategy", self.strategy, _STRATEGIES)

    @property
    def count(self) -> int:
        return self.devices * self.nodes

    @property
    def rank(self) -> int:
        """The rank of this process by its launcher, known before ``torch.distributed`` is initialized."""
        if self.count == 1:
            return 0
        for launcher in (TorchElasticEnvironment, SLURMEnvironment):
            if launcher.detect():
                return launcher().global_rank()
        return LightningEnvironment().node_rank() * self.devices + LightningEnvironment().local_rank()

    def check_config(self, config: TrainConfig) -> None:
        """Raises :class:`ValueError` if the settings require a GPU and there is none, or each process would
        choose its own precision.
        """
        check_accelerator(config)
        if self.count > 1 and config.precision == "auto":
            raise ValueError(
                f"'precision' must be given for {self.count} processes, such as 32-true or bf16-mixed (got "
                "'auto')"
            )

    def end_with_first(self) -> None:
        """Makes this process end when the process that started it has ended: it might wait for days for the
        others. Launchers end their processes themselves.
        """
        if self.count == 1 or TorchElasticEnvironment.detect() or SLURMEnvironment.detect():
            return
        if LightningEnvironment().local_rank() == 0:
            os.environ[_STARTED_BY] = str(os.getpid())  # for the processes that it starts
        elif _STARTED_BY in os.environ:
            end_with_parent(int(os.environ[_STARTED_BY]))

    @property
    def first(self) -> bool:
        """Whether this is the first process, which writes files and reports progress."""
        return self.rank == 0

    def trainer_options(self) -> dict[str, Any]:
        """Arguments of Lightning's trainer, which must leave batches to ``SharedBatches``."""
        if self.count == 1:
            return {"devices": 1, "plugins": [LightningEnvironment()]}
        # Parameters of arcs that a batch lacks have no gradient.
        strategy = DDPStrategy(find_unused_parameters=True, timeout=_PATIENCE)
        shared = {"strategy": strategy, "use_distributed_sampler": False}
        return {"devices": self.devices, "num_nodes": self.nodes, **shared}

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """A barrier of all processes at the end of the block, except after an error in this process."""
        yield
        if self.count > 1 and dist.is_initialized():
            dist.barrier()


def make_logger(given: str | Logger | None, folder: Path, config: TrainConfig, title: str) -> Logger | None:
    """A logger by name, with the settings of the run; a Lightning logger is returned unchanged.

    Args:
        given: ``"tensorboard"`` (files in ``tensorboard/`` of :obj:`folder`), ``"wandb"`` (project
            ``graphdep``; account, server and mode by environment variables such as
            ``WANDB_MODE=offline``), ``"none"`` or :obj:`None`, or a Lightning logger.
        folder: Folder of the run.
        config: Its settings.
        title: Its name.

    Raises:
        ValueError: If there is no such logger.
        ImportError: If its package is not installed.
    """
    if not isinstance(given, str):
        return given
    check_logger(given)
    if given == "none":
        return None
    from lightning.pytorch import loggers

    made: Logger
    if given == "wandb":
        made = loggers.WandbLogger(name=title, save_dir=folder, project="graphdep")
    else:
        made = loggers.TensorBoardLogger(save_dir=folder, name="", version="tensorboard")
    made.log_hyperparams(config.to_dict())
    return made


def make_trainer(
    config: TrainConfig,
    folder: Path | None = None,
    callbacks: list[L.Callback] | None = None,
    logger: Logger | None = None,
    processes: Processes | None = None,
) -> L.Trainer:
    """The trainer of a run, by default in one process; checkpoints are enabled with a folder."""
    shared = (processes or Processes()).trainer_options()
    precision = resolve_precision(config).precision
    if config.accelerator != "cpu" and torch.cuda.is_available():
        # Set in any case, since an earlier run in this process may have set it.
        torch.set_float32_matmul_precision("high" if precision == TF32 else "highest")
    return L.Trainer(
        **shared | {"plugins": [AtomicCheckpointIO(), *shared.get("plugins", ())]},
        accelerator=config.accelerator,
        precision=cast(Any, FULL if precision == TF32 else precision),
        max_epochs=config.max_epochs,
        check_val_every_n_epoch=config.val_every,
        callbacks=callbacks,
        default_root_dir=folder,
        logger=logger or False,
        enable_checkpointing=folder is not None,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
    )


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Restores Ctrl-C, which Lightning turns into an exit before it ignores further ones."""
    on_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit:
        raise KeyboardInterrupt from None
    finally:
        if on_main:
            signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppresses Lightning's notes and tips, but not errors."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            # Corpora in memory need no workers, and pairs on disk load faster than a CPU trains.
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            warnings.filterwarnings("ignore", message=".*GPU available but not used.*")
            # TokenBatchSampler and SharedBatches give every example (tested with a trainer).
            warnings.filterwarnings("ignore", message=".*custom batch sampler.*")
            # Loggers get values of epochs, and of steps only with log_every.
            warnings.filterwarnings("ignore", message=".*smaller than the logging interval.*")
            warnings.filterwarnings("ignore", message=".*isinstance.treespec, LeafSpec.*")
            # Workers of loaders are forked on purpose.
            warnings.filterwarnings("ignore", message=".*use of fork\\(\\) may lead to deadlocks.*")
            yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)
