"""Lightning's trainer as runs use it: quiet, and with Ctrl-C as it was."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import lightning as L
from lightning.pytorch.loggers import Logger

from graphdep.training.family.precision import settled
from graphdep.training.family.train_config import TrainConfig
from graphdep.training.runner.checkpoint import AtomicCheckpointIO
from graphdep.training.runner.processes import Processes


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
    return L.Trainer(
        **shared | {"plugins": [AtomicCheckpointIO(), *shared.get("plugins", ())]},
        accelerator=config.accelerator,
        precision=cast(Any, settled(config).precision),
        max_epochs=config.max_epochs,
        check_val_every_n_epoch=config.val_every,
        gradient_clip_val=config.clip,
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
            yield
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)
