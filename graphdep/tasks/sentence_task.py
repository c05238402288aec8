"""Sentences and pairs of sentences, trained with Lightning."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import lightning as L
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep.tasks.goal import Goal


class TrainingError(RuntimeError):
    """Training cannot go on, and the message says what may help."""


class SentenceTask(L.LightningModule):
    """Learns a label or a grade of sentences or of pairs of sentences.

    Edges are derived batch by batch, on the device of the batch; they are never stored.

    Args:
        model: Gives logits: ``model(batch) -> [num_graphs, classes]``.
        edges: Transform that builds the batch's edges, the tree control included.
        goal: Loss and metrics.
        optimizer: Makes an optimizer of parameters. (default: AdaGrad with a learning rate of 1e-3)
        seed: With the number of the epoch it decides that epoch's dropout, so that a resumed run goes on
            exactly as an uninterrupted one. (default: :obj:`0`)
    """

    def __init__(
        self,
        model: nn.Module,
        edges: BaseTransform,
        goal: Goal,
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] | None = None,
        *,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.model, self.edges, self.goal, self.seed = model, edges, goal, seed
        self.make_optimizer = optimizer
        self.val_scores: dict[str, float] = {}
        self._outputs: list[tuple[Tensor, Tensor]] = []

    def configure_optimizers(self) -> torch.optim.Optimizer:
        if self.make_optimizer is None:
            return torch.optim.Adagrad(self.parameters(), lr=1e-3)
        return self.make_optimizer(self.parameters())

    def on_after_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        return self.edges(batch)

    def forward(self, batch: Batch) -> Tensor:
        """Logits ``[num_graphs, classes]`` of a batch that has edges."""
        return self.model(batch)

    def on_train_epoch_start(self) -> None:
        torch.manual_seed(epoch_seed(self.seed, self.current_epoch))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        loss = self.goal.loss(self(batch).float(), batch.y)
        if not torch.isfinite(loss):
            raise TrainingError(
                f"the loss became {loss.item()} in epoch {self.current_epoch + 1}, batch {batch_idx + 1}: "
                "try a smaller learning rate (--set lr=...) or precision=32-true"
            )
        self.log("train_loss", loss.detach(), on_step=False, on_epoch=True, batch_size=batch.num_graphs)
        return loss

    def on_validation_epoch_start(self) -> None:
        self._outputs = []

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        self._outputs.append(self.predict_step(batch, batch_idx))

    def on_validation_epoch_end(self) -> None:
        # Over the whole split: a mean of correlations, or of uneven batches, would be another number.
        logits, y = join_outputs(self._outputs)
        if not logits.isfinite().all():
            raise TrainingError(
                f"outputs on the validation split are not finite in epoch {self.current_epoch + 1}: try a "
                "smaller learning rate (--set lr=...) or precision=32-true"
            )
        self.val_scores = self.goal.score(logits, y, "val")
        self._outputs = []
        for name, value in self.val_scores.items():
            self.log(name, value)

    def predict_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> tuple[Tensor, Tensor]:
        """Logits and targets of a batch, on the CPU."""
        return self(batch).float().cpu(), batch.y.cpu()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["val_scores"] = dict(self.val_scores)


def join_outputs(outputs: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Logits and targets of a split, from those of its batches."""
    logits, y = zip(*outputs)
    return torch.cat(logits), torch.cat(y)


def epoch_seed(seed: int, epoch: int) -> int:
    """A seed of its own for each epoch, as if no other had been run before."""
    generator = torch.Generator().manual_seed(seed)
    return int(torch.randint(2**62, (epoch + 1,), generator=generator)[-1])
