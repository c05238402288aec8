"""A bar of batches in a terminal."""

from __future__ import annotations

import math
from typing import Any

import lightning as L
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from graphdep.io.process import plain_console


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
