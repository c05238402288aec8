"""Post-training of an encoder on dialogues, with Lightning."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import scatter

from graphdep.metrics import ACCURACY, PERPLEXITY
from graphdep.nn.models.selection import PostTrainingModel, masked_nodes
from graphdep.tasks.post_training.loss import LOSS
from graphdep.training.learning_task import LearningTask, MakeOptimizer, Outputs


class PostTrainingTask(LearningTask):
    r"""Learns masked words and the relevance of responses, from "Fine-grained Post-training for Improving
    Retrieval-based Dialogue Systems" (BERT-FP).

    .. math::
        \mathcal{L} = \mathcal{L}_{\mathrm{MLM}} + \mathcal{L}_{\mathrm{URC}}

    Both are cross entropies: the first a mean over a batch's masked pieces, the second over its samples. What
    it makes small decides which epoch is the best, too; the public code takes the last of 25 to 34.

    Args:
        model: Gives the logits of both.
        edges: Transform that builds the batch's edges, the tree control included.
        optimizer, warmup_steps, seed: As in :class:`LearningTask`.

    Example:
        >>> from graphdep.nn.conv import AttentionConv
        >>> from graphdep.nn.models import GraphTransformer, PostTrainingModel
        >>> from graphdep.tasks import PostTrainingTask
        >>> from graphdep.transforms import resolve
        >>> encoder = GraphTransformer(50, lambda layer: AttentionConv(8, 8), hidden_channels=8, segments=2)
        >>> task = PostTrainingTask(PostTrainingModel(encoder), resolve("transformer"))
        >>> [metric.name for metric in task.metrics]
        ['loss']
    """

    metrics = (LOSS,)
    model: PostTrainingModel

    def __init__(
        self,
        model: PostTrainingModel,
        edges: BaseTransform,
        optimizer: MakeOptimizer | None = None,
        *,
        warmup_steps: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(model, edges, optimizer, warmup_steps=warmup_steps, seed=seed)

    def loss(self, batch: Batch) -> Tensor:
        words, relevance = self.model(batch)
        target = batch.mlm_target[masked_nodes(batch)]
        # A batch of short samples may have nothing masked.
        mlm = F.cross_entropy(words.float(), target, reduction="sum") / max(1, len(target))
        urc = F.cross_entropy(relevance.float(), batch.y)
        for name, value in (("mlm", mlm), ("relevance", urc)):
            self.log_loss(f"train_{name}", value, batch.num_graphs)
        return mlm + urc

    def outputs(self, batch: Batch) -> Outputs:
        """Per sample: the losses of its masked pieces summed up, how many they are, and how many of them are
        right; relevance logits; label.
        """
        words, relevance = self.model(batch)
        masked = masked_nodes(batch)
        target, sample = batch.mlm_target[masked], batch.batch[masked]
        losses = F.cross_entropy(words.float(), target, reduction="none")
        right = (words.argmax(-1) == target).to(losses.dtype)
        counted = torch.stack([losses, torch.ones_like(losses), right])
        loss, number, right = scatter(counted, sample, dim=1, dim_size=batch.num_graphs, reduce="sum")
        return loss, number.long(), right.long(), relevance, batch.y

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        loss, number, right = (output.double().numpy() for output in outputs[:3])
        y, prediction = outputs[4].numpy(), outputs[3].argmax(-1).numpy()
        pieces = max(1.0, number.sum())
        return {
            f"{prefix}_{LOSS.name}": LOSS(*reversed(self.compared(outputs))),
            f"{prefix}_mlm_perplexity": PERPLEXITY(loss, number) if number.sum() else 1.0,
            f"{prefix}_mlm_accuracy": float(right.sum() / pieces),
            f"{prefix}_relevance_accuracy": ACCURACY(prediction, y),
        }

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Labels, and what each sample adds to the loss of the split."""
        loss, number, _, relevance, y = outputs
        pieces = number.double().mean().clamp(min=1 / len(number))
        urc = F.cross_entropy(relevance.double(), y, reduction="none")
        return y.numpy(), (loss.double() / pieces + urc).numpy()

    def floor(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        """What no skill gets: the most frequent label."""
        y = outputs[4].numpy()
        assert ACCURACY.floor is not None
        return {f"{prefix}_relevance_accuracy": ACCURACY.floor(y, y)}
