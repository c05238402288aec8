"""Progress of a run on stderr: a bar on a terminal, a line an epoch elsewhere."""

from __future__ import annotations

from typing import Any, cast

import lightning as L
from rich.console import Console
from rich.text import Text

from graphdep.io.process import plain_console
from graphdep.training.family.learning_task import LearningTask
from graphdep.training.runner.batch_bar import BatchBar
from graphdep.training.runner.monitor import monitored_score
from graphdep.training.runner.run_checkpoint import RunCheckpoint


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
