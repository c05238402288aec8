"""A task on post-training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graphdep.metrics import Metric
from graphdep.tasks.post_training.loss import LOSS
from graphdep.training.task import Task


@dataclass(frozen=True)
class PostTraining(Task):
    """Masked words and the relevance of responses, on the dialogues of a corpus.

    Example:
        >>> from graphdep.datasets import Ubuntu
        >>> from graphdep.tasks import PostTraining
        >>> task = PostTraining("Post-training", Ubuntu, "datasets/ubuntu")
        >>> sorted(task.signatures)
        ['loss', 'mlm_accuracy', 'mlm_perplexity', 'relevance_accuracy']
    """

    kind: ClassVar[str] = "post-training"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return (LOSS,)

    @property
    def signatures(self) -> dict[str, str]:
        return super().signatures | {
            "mlm_perplexity": "exp of the mean loss over the masked pieces of the split",
            "mlm_accuracy": "share of masked pieces that the model finds",
            "relevance_accuracy": "share of right relevance labels; floor: the most frequent label",
        }
