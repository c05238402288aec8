"""Labels of marked spans, trained with Lightning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep.metrics import Metric
from graphdep.metrics.found_labels import NOTHING
from graphdep.training.family.learning_task import LearningTask, MakeOptimizer, Outputs


class SpanTask(LearningTask):
    """Learns a label for the marked spans of a sentence.

    The loss is the mean cross entropy of the examples of a batch whose label is known and none of whose spans
    has been cut away.

    Args:
        model: Gives logits ``[B, classes]``.
        edges: Transform that builds the batch's edges, the tree control included.
        labels: The classes by their numbers.
        metrics: The metrics that systems are compared by; the first decides which epoch is the best. They
            take codes: 0 for no finding, from 1 on the other labels in their order.
        reported: All metrics by name.
        optimizer: Makes an optimizer of parameters. (default: AdaGrad with a learning rate of 1e-3)
        outside: The label that stands for no finding. (default: :obj:`None`)
        warmup_steps, seed: As in :class:`LearningTask`.

    Shapes:
        - ``batch.y``: :math:`(B)`, the number of the label; -1 for one that training does not have
        - ``batch.lost``: :math:`(B)`, how many spans have no word left
    """

    def __init__(
        self,
        model: nn.Module,
        edges: BaseTransform,
        labels: Sequence[Any],
        metrics: tuple[Metric, ...],
        reported: Mapping[str, Metric],
        optimizer: MakeOptimizer | None = None,
        *,
        outside: str | None = None,
        warmup_steps: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(model, edges, optimizer, warmup_steps=warmup_steps, seed=seed)
        self.labels, self.metrics, self.reported, self.outside = tuple(labels), metrics, reported, outside

    def loss(self, batch: Batch) -> Tensor:
        known = (batch.y >= 0) & (batch.lost == 0)
        losses = F.cross_entropy(self(batch).float(), batch.y.clamp(min=0), reduction="none")
        return (losses * known).sum() / known.sum().clamp(min=1)

    def outputs(self, batch: Batch) -> Outputs:
        """The prediction, -2 where a span has been cut away, its loss, 0 where the label is unknown, and the
        target.
        """
        logits, unread = self(batch).float(), batch.lost > 0
        losses = F.cross_entropy(logits, batch.y.clamp(min=0), reduction="none")
        prediction = torch.where(unread, NOTHING, logits.argmax(dim=-1))
        return prediction, losses * ((batch.y >= 0) & ~unread), batch.y

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        prediction, losses, y = outputs
        known = ((y >= 0) & (prediction >= 0)).sum().clamp(min=1)
        target, found = self.compared(outputs)
        scores = {f"{prefix}_{name}": metric(found, target) for name, metric in self.reported.items()}
        return {f"{prefix}_loss": float(losses.double().sum() / known), **scores}

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Targets and predictions as codes of labels."""
        return self.codes(outputs[2].numpy()), self.codes(outputs[0].numpy())

    def codes(self, numbers: np.ndarray) -> np.ndarray:
        """What labels are found: 0 for that of no finding, from 1 on the others in their order. -1, a label
        that training does not have, and -2, no prediction, stay.
        """
        others = [number for number, label in enumerate(self.labels) if label != self.outside]
        table = np.zeros(len(self.labels) + 2, dtype=np.int64)
        table[others] = np.arange(1, len(others) + 1)
        table[-1], table[-2] = -1, NOTHING
        return table[numbers]
