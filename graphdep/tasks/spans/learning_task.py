"""Labels of marked spans, trained with Lightning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep.datasets.base.rows import UNKNOWN
from graphdep.metrics import Metric
from graphdep.metrics.scores import NOTHING
from graphdep.training.learning_task import LearningTask, MakeOptimizer, Outputs


class SpanTask(LearningTask):
    """Learns a label for the marked spans of a sentence.

    The loss is the mean cross entropy of the examples of a batch whose label is known and none of whose spans
    has been cut away.

    Args:
        model: Gives logits ``[B, classes]``.
        edges: Transform that builds the batch's edges, the tree control included.
        codes: What each class is to the metrics, by its number.
        metrics: The metrics that systems are compared by; the first decides which epoch is the best. They
            take codes: 0 for no finding, from 1 on for other labels.
        reported: All metrics by name.
        optimizer: Makes an optimizer of parameters. (default: AdaGrad with a learning rate of 1e-3)
        warmup_steps, seed: As in :class:`LearningTask`.

    Shapes:
        - ``batch.y``: :math:`(B)`, the number of the label; -1 for one that training does not have
        - ``batch.lost``: :math:`(B)`, how many spans have no word left
        - ``batch.sentence``: :math:`(B)`, a number that the examples of one sentence share
    """

    def __init__(
        self,
        model: nn.Module,
        edges: BaseTransform,
        codes: Sequence[int],
        metrics: tuple[Metric, ...],
        reported: Mapping[str, Metric],
        optimizer: MakeOptimizer | None = None,
        *,
        warmup_steps: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(model, edges, optimizer, warmup_steps=warmup_steps, seed=seed)
        self.metrics, self.reported = metrics, reported
        self._codes = np.array([*codes, NOTHING, UNKNOWN])

    def loss(self, batch: Batch) -> Tensor:
        known = (batch.y >= 0) & (batch.lost == 0)
        losses = F.cross_entropy(self(batch).float(), batch.y.clamp(min=0), reduction="none")
        return (losses * known).sum() / known.sum().clamp(min=1)

    def items(self, batch: Batch) -> float:
        """Examples with a label whose spans are read."""
        return float(((batch.y >= 0) & (batch.lost == 0)).sum())

    def outputs(self, batch: Batch) -> Outputs:
        """The prediction, -2 where a span has been cut away, its loss, 0 where the label is unknown, the
        target, and the number of the sentence.
        """
        logits, unread = self(batch).float(), batch.lost > 0
        losses = F.cross_entropy(logits, batch.y.clamp(min=0), reduction="none")
        prediction = torch.where(unread, NOTHING, logits.argmax(dim=-1))
        return prediction, losses * ((batch.y >= 0) & ~unread), batch.y, batch.sentence

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        prediction, losses, y, _ = outputs
        known = ((y >= 0) & (prediction >= 0)).sum().clamp(min=1)
        scores = self.scores(prediction.numpy(), y.numpy())
        loss = {f"{prefix}_loss": float(losses.double().sum() / known)}
        return loss | {f"{prefix}_{name}": value for name, value in scores.items()}

    def scores(self, prediction: np.ndarray, target: np.ndarray) -> dict[str, float]:
        """All metrics by name, of numbers of labels."""
        found, there = self.codes(prediction), self.codes(target)
        return {name: metric(found, there) for name, metric in self.reported.items()}

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Targets and predictions as codes of labels."""
        return self.codes(outputs[2].numpy()), self.codes(outputs[0].numpy())

    def groups(self, outputs: Outputs) -> np.ndarray:
        """The sentence of each example."""
        return outputs[3].numpy()

    def codes(self, numbers: np.ndarray) -> np.ndarray:
        """What labels are to the metrics, by their numbers. -1, a label that training does not have, and -2,
        no prediction, stay.
        """
        return self._codes[numbers]
