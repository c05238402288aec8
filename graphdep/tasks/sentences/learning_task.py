"""Sentences and pairs of sentences, trained with Lightning."""

from __future__ import annotations

import logging

import numpy as np
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep.data import NodeType
from graphdep.nn.models import FrozenEncoder, GraphTransformer
from graphdep.tasks.sentences.goal import Goal
from graphdep.training.learning_task import LearningTask, MakeOptimizer, Outputs

logger = logging.getLogger("graphdep.training")


class SentenceTask(LearningTask):
    """Learns a label or a grade of sentences or of pairs of sentences.

    Args:
        model: Gives logits: ``model(batch) -> [num_graphs, classes]``.
        edges: Transform that builds the batch's edges, the tree control included.
        goal: Loss and metrics.
        optimizer: Makes an optimizer of parameters. (default: AdaGrad with a learning rate of 1e-3)
        warmup_steps, seed: As in :class:`LearningTask`.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import ClassificationHead, SentenceModel, WordAverage
        >>> from graphdep.tasks import SENTIMENT, SentenceTask
        >>> from graphdep.transforms import resolve
        >>> model = SentenceModel(WordAverage(7, hidden_channels=8), ClassificationHead(8, 2))
        >>> task = SentenceTask(model, edges=resolve("transformer"), goal=SENTIMENT)
        >>> task(to_data([Sentence.chain(["She", "sings"])], vocab=Vocab(["She", "sings"]))).shape
        torch.Size([1, 2])
    """

    def __init__(
        self,
        model: nn.Module,
        edges: BaseTransform,
        goal: Goal,
        optimizer: MakeOptimizer | None = None,
        *,
        warmup_steps: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(model, edges, optimizer, warmup_steps=warmup_steps, seed=seed)
        self.goal, self.metrics = goal, goal.metrics
        self._looked = not isinstance(getattr(model, "encoder", None), GraphTransformer)

    def on_train_start(self) -> None:
        # Beforehand, in the order of the data: batches of other epochs would give other last digits, and a
        # run that goes on where it was stopped would not be the same.
        encoder = getattr(self.model, "encoder", None)
        if isinstance(encoder, FrozenEncoder):
            given = self.trainer.train_dataloader, self.trainer.val_dataloaders
            loaders = [one for some in given for one in (some if isinstance(some, list) else [some])]
            encoder.remember(data for loader in loaders if loader is not None for data in loader.dataset)

    def on_before_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        batch = super().on_before_batch_transfer(batch, dataloader_idx)
        if not self._looked:
            self._looked = True
            if _reads_no_word(batch):
                logger.warning(
                    "no edge of the first batch goes from a word to ROOT, which is read: the model sees no "
                    "word (edges: %r)",
                    self.edges,
                )
        return batch

    def loss(self, batch: Batch) -> Tensor:
        if "phrase_y" not in batch:
            return self.goal.loss(self(batch).float(), batch.y)
        # Of a treebank: the sum over all nodes of a sentence, as its papers have it.
        logits, y = self.model.node_logits(batch)  # type: ignore[operator]
        return self.goal.loss(logits.float(), y) * (y.numel() / batch.y.numel())

    def outputs(self, batch: Batch) -> Outputs:
        """Logits and targets."""
        return self(batch), batch.y

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        logits, y = outputs
        return self.goal.score(logits, y, prefix)

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        logits, y = outputs
        return self.goal.compared(logits, y)


def _reads_no_word(batch: Batch) -> bool:
    """Whether all edges that ROOT has come from ROOT nodes."""
    if batch.edge_index is None:  # beside cliques, which are utterances
        return False
    source, target = batch.node_type[batch.edge_index] == NodeType.ROOT
    return not bool((target & ~source).any())
