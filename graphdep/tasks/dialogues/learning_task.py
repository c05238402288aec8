"""Responses to dialogues, trained with Lightning."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import segment

from graphdep.metrics.scores import PERPLEXITY, PERPLEXITY_RESPONSES, PERPLEXITY_WORDS, unigram_losses
from graphdep.nn.models import DialogueModel
from graphdep.nn.models.dialogue import target_bounds
from graphdep.training.learning_task import LearningTask, MakeOptimizer, Outputs
from graphdep.training.splits import Splits
from graphdep.vocab import EOU


class DialogueTask(LearningTask):
    r"""Learns to give the response of a dialogue's context.

    The loss is the mean negative log-likelihood of a batch's target tokens, the end symbol among them, plus
    the encoder's own objectives. Scores are perplexities over a split, without dropout.

    Args:
        model: Gives the losses of target tokens: ``model.token_losses(batch)``.
        edges: Transform that builds the batch's edges, the tree control included.
        optimizer, warmup_steps, seed: As in :class:`LearningTask`.

    Example:
        >>> from graphdep.nn.models import DialogueModel, HREDDecoder, HREDEncoder
        >>> from graphdep.tasks import DialogueTask
        >>> from graphdep.transforms import resolve
        >>> encoder = HREDEncoder(50, hidden_channels=8)
        >>> task = DialogueTask(DialogueModel(encoder, HREDDecoder(encoder.embedding, 8)), resolve("dra"))
        >>> [metric.name for metric in task.metrics]
        ['perplexity']
    """

    metrics = (PERPLEXITY,)
    model: DialogueModel

    def __init__(
        self,
        model: DialogueModel,
        edges: BaseTransform,
        optimizer: MakeOptimizer | None = None,
        *,
        warmup_steps: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(model, edges, optimizer, warmup_steps=warmup_steps, seed=seed)

    def loss(self, batch: Batch) -> Tensor:
        losses = self.model.losses(batch)
        if len(losses) > 1:
            for name, value in losses.items():
                self.log_loss(f"train_{name}", value, batch.num_graphs)
        return torch.stack([value.float() for value in losses.values()]).sum()

    def items(self, batch: Batch) -> float:
        """Tokens of responses; further losses, which are means over other things, are weighed alike."""
        return batch.target_ids.numel()

    def outputs(self, batch: Batch) -> Outputs:
        """Per response: negative log-likelihood of all its tokens, that of its end symbol, its tokens, and
        the number of its dialogue.
        """
        ptr = target_bounds(batch)
        losses = self.model.token_losses(batch).double()
        whole, ends = segment(losses, ptr, reduce="sum"), losses[ptr[1:] - 1]
        return whole.float(), ends.float(), ptr.diff(), batch.dialogue

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        losses, ends, tokens = (output.double().numpy() for output in outputs[:3])
        return {
            f"{prefix}_loss": float(losses.sum() / tokens.sum()),
            f"{prefix}_{PERPLEXITY.name}": PERPLEXITY(losses, tokens),
            f"{prefix}_{PERPLEXITY_WORDS.name}": PERPLEXITY_WORDS(losses - ends, tokens - 1),
            f"{prefix}_{PERPLEXITY_RESPONSES.name}": PERPLEXITY_RESPONSES(losses, tokens),
        }

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of tokens and the negative log-likelihoods of the responses."""
        losses, _, tokens, _ = outputs
        return tokens.numpy(), losses.double().numpy()

    def groups(self, outputs: Outputs) -> np.ndarray:
        """The dialogue of each response."""
        return outputs[3].numpy()


def unigram_floor(splits: Splits, split: str) -> dict[str, float]:
    """Perplexities of a model that knows how often a word occurs in responses, and nothing else."""
    train, target = (_target_ids(splits, name) for name in ("train", split))
    losses = unigram_losses(train, target, len(splits.vocab))
    words = target != splits.vocab[EOU]
    return {
        f"{split}_{PERPLEXITY.name}": PERPLEXITY(losses, np.ones_like(losses)),
        f"{split}_{PERPLEXITY_WORDS.name}": PERPLEXITY_WORDS(losses[words], np.ones(int(words.sum()))),
    }


def _target_ids(splits: Splits, split: str) -> np.ndarray:
    dataset = splits.in_memory(split)
    whole = dataset if dataset._indices is None else dataset.copy()
    return whole._data.target_ids.numpy()
