"""What the outputs of a model are trained towards, and how they are scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphdep.metrics import (
    ACCURACY,
    ACCURACY_F1,
    F1,
    MACRO_F1,
    MCC,
    MSE,
    MSE_OF_NUMBERS,
    PEARSON,
    PEARSON_SPEARMAN,
    SPEARMAN,
    Metric,
)

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

# PyTorch is left to the functions that compute: a task is told of without it.


@dataclass(frozen=True)
class Goal:
    """A loss, the prediction it leads to, and the metrics of that prediction.

    Args:
        loss: Takes logits ``[B, classes]`` and targets ``y``, gives the mean loss. Of a regression the one
            "logit" is the number itself.
        predict: Takes logits ``[B, classes]``, gives predictions ``[B]``.
        target: Takes targets ``y``, gives what predictions are compared with ``[B]``.
        metrics: The metrics; the first decides which epoch is the best.

    Example:
        >>> import torch
        >>> from graphdep.tasks import PARAPHRASE
        >>> logits = torch.tensor([[2.0, 0.0], [0.0, 2.0], [0.0, 1.0], [1.0, 0.0]])
        >>> scores = PARAPHRASE.score(logits, torch.tensor([0, 1, 0, 0]), prefix="test")
        >>> {name: round(value, 3) for name, value in scores.items()}
        {'test_loss': 0.47, 'test_accuracy': 0.75, 'test_f1': 0.667}
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    predict: Callable[[Tensor], Tensor]
    target: Callable[[Tensor], Tensor]
    metrics: tuple[Metric, ...]

    @property
    def classifies(self) -> bool:
        """Whether targets are classes, and logits those of classes."""
        from torch.nn import functional as F

        return self.loss in (cross_entropy, F.cross_entropy)

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


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """Mean cross entropy of the classes.

    Shapes:
        - logits: :math:`(B, C)`; y: :math:`(B)`
    """
    from torch.nn import functional as F

    return F.cross_entropy(logits, y)


def kl_divergence(logits: Tensor, y: Tensor) -> Tensor:
    r"""Divergence of the prediction from the sparse target distribution, from "Improved Semantic
    Representations From Tree-Structured Long Short-Term Memory Networks" (section 4.2).

    .. math::
        J = \frac{1}{m} \sum_{k=1}^{m} \mathrm{KL} \big( p^{(k)} \,\Vert\, \hat{p}^{(k)} \big)

    Shapes:
        - logits, y: :math:`(B, C)`, y sums to 1
    """
    from torch.nn import functional as F

    return F.kl_div(logits.log_softmax(dim=-1), y, reduction="batchmean")


def expected_grade(distribution: Tensor) -> Tensor:
    """Mean of a distribution over the grades 1, 2, ...: ``[B, C] -> [B]``."""
    import torch

    grades = torch.arange(1, distribution.size(-1) + 1, dtype=distribution.dtype, device=distribution.device)
    return distribution @ grades


def squared_error(output: Tensor, y: Tensor) -> Tensor:
    """Mean squared error of a regression with one output.

    Shapes:
        - output: :math:`(B, 1)`; y: :math:`(B)`
    """
    from torch.nn import functional as F

    return F.mse_loss(output.squeeze(-1), y)


RELATEDNESS = Goal(
    loss=kl_divergence,
    predict=lambda logits: expected_grade(logits.softmax(dim=-1)),
    target=expected_grade,
    metrics=(MSE, PEARSON, SPEARMAN),
)
ENTAILMENT = Goal(
    loss=cross_entropy,
    predict=lambda logits: logits.argmax(dim=-1),
    target=lambda y: y,
    metrics=(ACCURACY,),
)
SENTIMENT = ENTAILMENT
PARAPHRASE = replace(ENTAILMENT, metrics=(ACCURACY, F1))
# The goals of GLUE's tasks, with the metric first that the tables of BERT and its followers show.
ACCEPTABILITY = replace(ENTAILMENT, metrics=(MCC, ACCURACY))
DUPLICATE = replace(ENTAILMENT, metrics=(F1, ACCURACY, ACCURACY_F1))
SIMILARITY = Goal(
    loss=squared_error,
    predict=lambda output: output.squeeze(-1),
    target=lambda y: y,
    metrics=(SPEARMAN, PEARSON, PEARSON_SPEARMAN),
)
# Of texts whose labels nobody knows beforehand.
CLASSES = replace(ENTAILMENT, metrics=(ACCURACY, MACRO_F1))
NUMBERS = replace(SIMILARITY, metrics=(MSE_OF_NUMBERS, PEARSON, SPEARMAN))
