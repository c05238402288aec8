"""Response selection with further objectives, trained with Lightning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep.nn.models import SelectionModel
from graphdep.tasks.selection.learning_task import SelectionTask
from graphdep.training.family.learning_task import MakeOptimizer


class ObjectiveTask(SelectionTask):
    r"""Learns the selection of responses and what else its model has losses of.

    .. math::
        \mathcal{L} = \mathcal{L}_{\mathrm{sel}} + \sum_k \lambda_k \mathcal{L}_k

    Which epoch is the best is decided by the selection alone.

    Args:
        model: Gives the logits of a training batch's pairs and its further losses
            (:meth:`~graphdep.nn.models.SelectionModel.training_losses`).
        edges: As in :class:`SelectionTask`.
        optimizer: As there. (default: there)
        weights: :math:`\lambda_k` by the names of the losses. (default: 1 each)
        **options: As in :class:`SelectionTask`.
    """

    model: SelectionModel

    def __init__(
        self,
        model: SelectionModel,
        edges: BaseTransform,
        optimizer: MakeOptimizer | None = None,
        *,
        weights: Mapping[str, float] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, edges, optimizer, **options)
        self.weights = dict(weights or {})

    def loss(self, batch: Batch) -> Tensor:
        logits, losses = self.model.training_losses(batch)
        target = batch.y[batch.kind == 0] if "kind" in batch else batch.y
        loss = F.binary_cross_entropy_with_logits(logits.float(), target)
        self.log_loss("train_selection", loss, len(target))
        for name, value in losses.items():
            self.log_loss(f"train_{name}", value, len(target))
            loss = loss + self.weights.get(name, 1.0) * value
        return loss

    def items(self, batch: Batch) -> float:
        """The pairs, without what is made of them."""
        return float((batch.kind == 0).sum()) if "kind" in batch else batch.num_graphs
