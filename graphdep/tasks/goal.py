"""What the outputs of a model are trained towards, and how they are scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from graphdep.metrics import ACCURACY, F1, MSE, PEARSON, SPEARMAN, Metric


@dataclass(frozen=True)
class Goal:
    """A loss, the prediction it leads to, and the metrics of that prediction.

    Args:
        loss: Takes logits ``[B, classes]`` and targets ``y``, gives the mean loss.
        predict: Takes logits ``[B, classes]``, gives predictions ``[B]``.
        target: Takes targets ``y``, gives what predictions are compared with ``[B]``.
        metrics: The metrics; the first decides which epoch is the best.
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    predict: Callable[[Tensor], Tensor]
    target: Callable[[Tensor], Tensor]
    metrics: tuple[Metric, ...]

    def score(self, logits: Tensor, y: Tensor, prefix: str) -> dict[str, float]:
        """Loss and metrics over a whole split, in float64: ``{"<prefix>_loss": ..., "<prefix>_<metric>":
        ...}``.
        """
        logits, y = _precise(logits), _precise(y)
        target, prediction = self.compared(logits, y)
        scores = {f"{prefix}_{metric.name}": metric(prediction, target) for metric in self.metrics}
        return {f"{prefix}_loss": float(self.loss(logits, y)), **scores}

    def compared(self, logits: Tensor, y: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Targets and predictions ``[N]`` that the metrics compare, in float64 where they are no labels."""
        return self.target(_precise(y)).numpy(), self.predict(_precise(logits)).numpy()

    def floor(self, train_y: Tensor, y: Tensor, prefix: str) -> dict[str, float]:
        """What no skill gets: each metric's floor, by the labels of the training split."""
        train, target = self.target(train_y).double().numpy(), self.target(y).double().numpy()
        floors = ((metric.name, metric.floor) for metric in self.metrics)
        return {f"{prefix}_{name}": floor(train, target) for name, floor in floors if floor is not None}


def _precise(x: Tensor) -> Tensor:
    return x.double() if x.is_floating_point() else x


def kl_divergence(logits: Tensor, y: Tensor) -> Tensor:
    r"""Divergence of the prediction from the sparse target distribution, from "Improved Semantic
    Representations From Tree-Structured Long Short-Term Memory Networks" (section 4.2).

    .. math::
        J = \frac{1}{m} \sum_{k=1}^{m} \mathrm{KL} \big( p^{(k)} \,\Vert\, \hat{p}^{(k)} \big)

    Shapes:
        - logits, y: :math:`(B, C)`, y sums to 1
    """
    return F.kl_div(logits.log_softmax(dim=-1), y, reduction="batchmean")


def expected_grade(distribution: Tensor) -> Tensor:
    """Mean of a distribution over the grades 1, 2, ...: ``[B, C] -> [B]``."""
    grades = torch.arange(1, distribution.size(-1) + 1, dtype=distribution.dtype, device=distribution.device)
    return distribution @ grades


RELATEDNESS = Goal(
    loss=kl_divergence,
    predict=lambda logits: expected_grade(logits.softmax(dim=-1)),
    target=expected_grade,
    metrics=(MSE, PEARSON, SPEARMAN),
)
ENTAILMENT = Goal(
    loss=F.cross_entropy,
    predict=lambda logits: logits.argmax(dim=-1),
    target=lambda y: y,
    metrics=(ACCURACY,),
)
SENTIMENT = ENTAILMENT
PARAPHRASE = replace(ENTAILMENT, metrics=(ACCURACY, F1))
