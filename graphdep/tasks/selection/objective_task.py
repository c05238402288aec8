"""Response selection with further objectives, trained with Lightning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep.nn.models import SelectionModel
from graphdep.tasks.selection.learning_task import SelectionTask
from graphdep.training.learning_task import MakeOptimizer, SharedBatches


class ObjectiveTask(SelectionTask):
    r"""Learns the selection of responses and what else its model has losses of.

    .. math::
        \mathcal{L} = \mathcal{L}_{\mathrm{sel}} + \sum_k \lambda_k \mathcal{L}_k

    Which epoch is the best is decided by the selection alone.

    Each loss is a mean over items of its own. Of several processes, of which each has :math:`n_r` pairs and
    :math:`c_{kr}` items of a batch, it is the mean over the items of all: since the whole is weighed by pairs
    (:meth:`items`), process :math:`r` multiplies its :math:`\mathcal{L}_k` by

    .. math::
        \frac{c_{kr}}{\sum_q c_{kq}} \cdot \frac{\sum_q n_q}{n_r}

    which is 1 of one process.

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
        self._batch_idx = 0

    def loss(self, batch: Batch) -> Tensor:
        logits, losses = self.model.training_losses(batch)
        target = batch.y[batch.kind == 0] if "kind" in batch else batch.y
        loss = F.binary_cross_entropy_with_logits(logits.float(), target)
        self.log_loss("train_selection", loss, len(target))
        shares = self._shares(len(target), [count for _, count in losses.values()])
        for (name, (value, count)), share in zip(losses.items(), shares):
            # All processes log it, of no items as well, or they would wait for one another.
            self.log_loss(f"train_{name}", value, max(1, count))
            loss = loss + self.weights.get(name, 1.0) * share * value
        return loss

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        self._batch_idx = batch_idx
        return super().training_step(batch, batch_idx)

    def _shares(self, pairs: int, counts: list[int]) -> list[float]:
        """The factor of each further loss: 1 of a single process."""
        if self._trainer is None or self.trainer.world_size == 1:
            return [1.0] * len(counts)
        batches = getattr(self.trainer.train_dataloader, "batch_sampler", None)
        counted = not isinstance(batches, SharedBatches) or batches.counts(self._batch_idx)
        own = torch.tensor([pairs, *counts], dtype=torch.double, device=self.device) * counted
        total = own.clone()
        dist.all_reduce(total)
        return (own[1:] / total[1:].clamp(min=1) * (total[0] / own[0].clamp(min=1))).tolist()

    def items(self, batch: Batch) -> float:
        """The pairs, without what is made of them."""
        return float((batch.kind == 0).sum()) if "kind" in batch else batch.num_graphs
