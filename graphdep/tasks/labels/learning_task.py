"""Labels of words, trained with Lightning."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep.datasets.labels.targets import UNSCORED
from graphdep.metrics import Metric
from graphdep.nn.models import TokenModel
from graphdep.nn.models.token_model import word_nodes
from graphdep.training.family.learning_task import LearningTask, MakeOptimizer, Outputs


class LabelTask(LearningTask):
    r"""Learns a label for each word.

    The loss is the mean cross entropy of the words of a batch whose labels are known.

    Args:
        model: Gives logits and the nodes that they belong to, a row a word.
        edges: Transform that builds the batch's edges, the tree control included.
        metrics: The metrics of a split; the first decides which epoch is the best.
        optimizer: Makes an optimizer of parameters. (default: AdaGrad with a learning rate of 1e-3)
        warmup_steps, seed: As in :class:`LearningTask`.

    Shapes:
        - ``batch.y``: :math:`(W)`, a number for each word in the order of the words; -1 for a label that
          training does not have, -100 for none
    """

    model: TokenModel

    def __init__(
        self,
        model: TokenModel,
        edges: BaseTransform,
        metrics: tuple[Metric, ...],
        optimizer: MakeOptimizer | None = None,
        *,
        warmup_steps: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(model, edges, optimizer, warmup_steps=warmup_steps, seed=seed)
        self.metrics = metrics

    def forward(self, batch: Batch) -> Tensor:
        """Logits of the words of a batch that has edges: ``[W, classes]``."""
        return self.model(batch)[0]

    def loss(self, batch: Batch) -> Tensor:
        losses = word_losses(self(batch).float(), batch.y)
        return losses.sum() / (batch.y >= 0).sum().clamp(min=1)

    def outputs(self, batch: Batch) -> Outputs:
        """A row a scored word: the prediction, its loss, 0 where the label is unknown, and the target."""
        logits, scored = self(batch).float(), batch.y != UNSCORED
        losses = word_losses(logits, batch.y)
        return logits.argmax(dim=-1)[scored], losses[scored], batch.y[scored]

    def rows(self, batch: Batch) -> Tensor:
        """The example of each row of :meth:`outputs`, counted within the batch."""
        return batch.batch[word_nodes(batch)][batch.y != UNSCORED]

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        losses, known = outputs[1].double(), outputs[2] >= 0
        target, prediction = self.compared(outputs)
        scores = {f"{prefix}_{metric.name}": metric(prediction, target) for metric in self.metrics}
        return {f"{prefix}_loss": float(losses.sum() / known.sum().clamp(min=1)), **scores}

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Targets and predictions of the scored words."""
        return outputs[2].numpy(), outputs[0].numpy()


def word_losses(logits: Tensor, y: Tensor) -> Tensor:
    """Cross entropy of each word ``[W]``; 0 for words without a label, or with one that is no class."""
    return F.cross_entropy(logits, torch.where(y < 0, UNSCORED, y), ignore_index=UNSCORED, reduction="none")
