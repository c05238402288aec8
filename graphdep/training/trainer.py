"""The Lightning trainer, its progress and its logs."""

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
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from graphdep.io.console import plain_console
from graphdep.io.files import atomic_path, long_fields
from graphdep.io.limits import check_choice, check_logger, check_whole
from graphdep.io.process import end_with_parent
from graphdep.training.build import FULL, TF32, resolve_precision
from graphdep.training.checkpoint import AtomicCheckpointIO, RunCheckpoint, monitored_score
from graphdep.training.config import TrainConfig
from graphdep.training.learning_task import LearningTask


class BatchBar:
    """A bar that goes away when it is closed, on a terminal alone.

    Args:
        console: Where it is shown.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bar: Progress | None = None

    def start(self, what: str, total: float) -> None:
        """Shows a bar in place of the one before."""
        self.close()
        if not self.console.is_terminal or self.console.quiet:
            return
        what_it_is = TextColumn("{task.description}", markup=False)
        columns = (what_it_is, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=self.console, transient=True)
        # Batches by tokens are as many as they turn out to be.
        self._task = self._bar.add_task(what, total=total if math.isfinite(total) else None)
        self._bar.start()

    def advance(self) -> None:
        """A batch more."""
        if self._bar is not None:
            self._bar.advance(self._task)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class ScoringBar(L.Callback):
    """A bar while a split is scored.

    Args:
        what: What is done.
        console: Where it is shown. (default: stderr)
    """

    def __init__(self, what: str, console: Console | None = None) -> None:
        self.what, self.bar = what, BatchBar(console or plain_console(stderr=True))

    def on_predict_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.bar.start(self.what, float(sum(trainer.num_predict_batches)))

    def on_predict_batch_end(self, *args: Any, **kwargs: Any) -> None:
        self.bar.advance()

    def on_predict_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.bar.close()

    def on_exception(
        self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException
    ) -> None:
        self.bar.close()


class EpochReport(L.Callback):
    """Says how far a run is and how good; stdout stays free for results.

    Args:
        title: What the run is called.
        checkpoint: Knows the best epoch.
        console: Where to write. (default: stderr)
    """

    def __init__(self, title: str, checkpoint: RunCheckpoint, console: Console | None = None) -> None:
        self.title, self.checkpoint = title, checkpoint
        self.console = console or plain_console(stderr=True)
        self.bar = BatchBar(self.console)

    def on_train_epoch_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        epoch = f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}"
        self.bar.start(f"{self.title} {epoch}", trainer.num_training_batches)

    def on_train_batch_end(self, *args: Any, **kwargs: Any) -> None:
        self.bar.advance()

    def on_validation_start(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.bar.start(f"{self.title} validation", float(sum(trainer.num_val_batches)))

    def on_validation_batch_end(self, *args: Any, **kwargs: Any) -> None:
        self.bar.advance()

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        self.bar.close()
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
        """A line on the run."""
        self.console.print(Text(f"{self.title}  {text}"), soft_wrap=True)  # which has no markup anywhere

    def on_exception(
        self, trainer: L.Trainer, pl_module: L.LightningModule, exception: BaseException
    ) -> None:
        self.bar.close()


def why_early(checkpoint: RunCheckpoint) -> str:
    """Why a run has fewer epochs than it might have had; empty where it has them all."""
    if not checkpoint.stopped_early or checkpoint.epochs >= checkpoint.state.config.max_epochs:
        return ""
    waited = checkpoint.epochs - checkpoint.best_epoch
    for_long = f"{waited} epochs" if waited > 1 else "1 epoch"
    return (
        f"stopped early: no better val_{checkpoint.metric.name} for {for_long} (--set patience=none goes on)"
    )


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


# The others wait while the first one scores, however long that takes.
_PATIENCE = timedelta(days=30)
_STRATEGIES = ("auto", "ddp")
_STARTED_BY = "GRAPHDEP_STARTED_BY"


def check_accelerator(config: TrainConfig) -> None:
    """Raises :class:`ValueError` if a GPU is asked for and there is none."""
    if config.accelerator == "gpu" and not (torch.cuda.is_available() or torch.backends.mps.is_available()):
        raise ValueError("'accelerator' cannot be 'gpu': PyTorch finds none (auto takes one if there is)")


@dataclass(frozen=True)
class Processes:
    """How many processes train one model, each on a device of its own, and which of them this is.

    On one machine the first process starts the others, which run the same command. Over several machines a
    launcher starts them all, ``torchrun`` or Slurm's ``srun``, or one command a machine with Lightning's
    ``MASTER_ADDR``, ``MASTER_PORT`` and ``NODE_RANK``.

    Args:
        devices: Processes a machine. (default: :obj:`1`)
        nodes: Machines. (default: :obj:`1`)
        strategy: ``"auto"`` or ``"ddp"``, which several processes have in any case: each computes the
            gradients of a part of every batch, and all have their sum. (default: ``"auto"``)

    Raises:
        ValueError: If a number is below 1, there is no such strategy, or it is for several and there is one.

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
        """The number of this process, as its launcher says it: known before they have met."""
        if self.count == 1:
            return 0
        for launcher in (TorchElasticEnvironment, SLURMEnvironment):
            if launcher.detect():
                return launcher().global_rank()
        return LightningEnvironment().node_rank() * self.devices + LightningEnvironment().local_rank()

    def check_config(self, config: TrainConfig) -> None:
        """Raises :class:`ValueError` if a GPU is asked for and there is none, or each process would find out
        for itself what is fast.
        """
        check_accelerator(config)
        if self.count > 1 and config.precision == "auto":
            raise ValueError(
                f"'precision' must be said where {self.count} processes train, such as 32-true or "
                "bf16-mixed (got 'auto')"
            )

    def end_with_first(self) -> None:
        """Lets this process end, whatever it is doing, when the one that started it is gone, or was before
        this one knew: one that waits for others to meet would wait for days. A launcher ends its processes
        itself.
        """
        if self.count == 1 or TorchElasticEnvironment.detect() or SLURMEnvironment.detect():
            return
        if LightningEnvironment().local_rank() == 0:
            os.environ[_STARTED_BY] = str(os.getpid())  # for those that it starts
        elif _STARTED_BY in os.environ:
            end_with_parent(int(os.environ[_STARTED_BY]))

    @property
    def first(self) -> bool:
        """Whether this process writes the files and tells how far the run is."""
        return self.rank == 0

    def trainer_options(self) -> dict[str, Any]:
        """What Lightning's trainer has to know. Batches are parted by
        :class:`~graphdep.training.splits.SharedBatches`.
        """
        if self.count == 1:
            return {"devices": 1, "plugins": [LightningEnvironment()]}
        # A batch may have no arc of some kind, whose parameters then have no gradient.
        strategy = DDPStrategy(find_unused_parameters=True, timeout=_PATIENCE)
        shared = {"strategy": strategy, "use_distributed_sampler": False}
        return {"devices": self.devices, "num_nodes": self.nodes, **shared}

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """All processes that have met leave this when the last one is done: what comes next is of all of
        them. One with an error leaves at once, since others may wait for it where they never come here.
        """
        yield
        if self.count > 1 and dist.is_initialized():
            dist.barrier()


def make_logger(given: str | Logger | None, folder: Path, config: TrainConfig, title: str) -> Logger | None:
    """A logger by its name, which has been told the settings of the run; a logger stays as it is.

    Args:
        given: ``"tensorboard"``, whose files are below ``tensorboard/`` of :obj:`folder`; ``"wandb"``, whose
            project is ``graphdep`` and whose account, server and mode are those of its own variables
            (``WANDB_MODE=offline``); ``"none"`` or :obj:`None`; or a logger of Lightning's.
        folder: Folder of the run.
        config: Its settings.
        title: What it is called.

    Raises:
        ValueError: If there is none of that name.
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
    """The trainer of a run; with a folder it keeps checkpoints, by a callback. It is of one process, or of
    those that are given.
    """
    shared = (processes or Processes()).trainer_options()
    precision = resolve_precision(config).precision
    if config.accelerator != "cpu" and torch.cuda.is_available():
        # It is the process's: a run in float32 behind one in TF32 must be told, too.
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
    """Ctrl-C stays Ctrl-C: Lightning turns it into an exit, and ignores the next ones."""
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
    """Without Lightning's notes about hardware and its tips; errors come through."""
    loggers = [logging.getLogger(name) for name in ("lightning.pytorch", "lightning.fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            # Most corpora are in memory, and pairs on disk load faster than a CPU trains on them.
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            warnings.filterwarnings("ignore", message=".*GPU available but not used.*")
            # Batches by tokens, and those that processes share, hold every example (tested with a trainer).
            warnings.filterwarnings("ignore", message=".*custom batch sampler.*")
            # Loggers get the values of epochs, and of steps as often as they are asked for.
            warnings.filterwarnings("ignore", message=".*smaller than the logging interval.*")
            warnings.filterwarnings("ignore", message=".*isinstance.treespec, LeafSpec.*")
            # A loader's workers are forked, as on Linux they have always been.
            warnings.filterwarnings("ignore", message=".*use of fork\\(\\) may lead to deadlocks.*")
            yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)
