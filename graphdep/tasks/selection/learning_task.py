"""Response selection, trained with Lightning."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep.metrics.ranking import RANKING, pool_metrics, random_floor, ranking_metrics
from graphdep.nn.models import MatchingModel, SelectionModel
from graphdep.tasks.selection.equal_candidates import example_keys, shared_scores
from graphdep.training.learning_task import LearningTask, MakeOptimizer, Outputs


class SelectionTask(LearningTask):
    r"""Learns whether a candidate is the response to a context.

    The loss is the binary cross entropy of :math:`g(c, r) = \sigma(\text{logit})`, from "Improving
    Retrieval-based Dialogue System via Syntax-Informed Attention" (Eq. 2). Scores are those of the pools that
    the candidates belong to; candidates of a pool whose examples are the same, words and tree, have one score
    (:func:`~graphdep.tasks.selection.equal_candidates.shared_scores`), whatever batches they came in.

    Args:
        model: Gives a logit an example: ``model(batch) -> [num_graphs]``.
        edges: Transform that builds the batch's edges, the tree control included.
        optimizer: Makes an optimizer of parameters or groups of them. (default: AdaGrad with a learning rate
            of 1e-3)
        ties, filter, recall: Of :func:`~graphdep.metrics.ranking_metrics`.
        warmup_steps, seed: As in :class:`LearningTask`.

    Example:
        >>> from graphdep.nn.conv import AttentionConv
        >>> from graphdep.nn.models import GraphTransformer, SelectionModel
        >>> from graphdep.tasks import SelectionTask
        >>> from graphdep.transforms import resolve
        >>> encoder = GraphTransformer(50, lambda layer: AttentionConv(8, 8), hidden_channels=8, segments=2)
        >>> [metric.name for metric in SelectionTask(SelectionModel(encoder), resolve("sia")).metrics]
        ['MRR']
    """

    # Its name does not tell the size of the pools, and over few of them it has fewer ties than P@1.
    metrics = (RANKING["MRR"],)
    model: SelectionModel | MatchingModel

    def __init__(
        self,
        model: SelectionModel | MatchingModel,
        edges: BaseTransform,
        optimizer: MakeOptimizer | None = None,
        *,
        ties: str = "mid",
        filter: str = "both",
        recall: str = "fraction",
        warmup_steps: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(model, edges, optimizer, warmup_steps=warmup_steps, seed=seed)
        self.ties, self.filter, self.recall = ties, filter, recall

    def loss(self, batch: Batch) -> Tensor:
        if isinstance(self.model, MatchingModel):
            return self.model.loss(batch, batch.y)
        return F.binary_cross_entropy_with_logits(self(batch).float(), batch.y)

    def outputs(self, batch: Batch) -> Outputs:
        """Logits, labels, numbers of the pools, and a number that equal examples share."""
        return self(batch), batch.y, batch.group, example_keys(batch)

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        logits, y, group, key = outputs
        loss = F.binary_cross_entropy_with_logits(logits, y)
        ranked = shared_scores(logits, group, key)
        scores = ranking_metrics(ranked, y, group, self.ties, prefix=prefix, **self._options(group))
        return {f"{prefix}_loss": float(loss), **scores}

    def floor(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        """What random scores get in the same pools."""
        _, y, group, _ = outputs
        return random_floor(y, group, prefix=prefix, **self._options(group))

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """P@1 of every pool that counts: what random scores get, and what the model gets."""
        logits, y, group, key = outputs
        ranked = shared_scores(logits, group, key)
        found, chance = (
            pool_metrics(scores, y, group, ties, **self._options(group))["P@1"]
            for scores, ties in ((ranked, self.ties), (torch.zeros_like(ranked), "mid"))
        )
        return chance, found

    def _options(self, group: Tensor) -> dict[str, Any]:
        return {"filter": self.filter, "recall": self.recall, "sizes": sizes_of(group)}


def sizes_of(group: Tensor) -> str:
    """Whether the pools that the numbers are of have ``"equal"`` or ``"any"`` sizes."""
    sizes = group.unique(return_counts=True)[1]
    return "equal" if bool((sizes == sizes[0]).all()) else "any"
