"""What is said of a split: scores, and what stands beside them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from graphdep.metrics.perplexity import PERPLEXITY, PERPLEXITY_WORDS, unigram_losses
from graphdep.tasks import LearningTask, PostTrainingTask, SelectionTask, SentenceTask
from graphdep.training.family.learning_task import Outputs
from graphdep.training.family.splits import Splits
from graphdep.vocab import EOU


@dataclass(frozen=True)
class Scored:
    """Scores by name, ``<split>_<metric>``.

    Args:
        metrics: What the model gets.
        floor: What no skill gets.
        reference: What the references of generated responses get.
    """

    metrics: dict[str, float] = field(default_factory=dict)
    floor: dict[str, float] = field(default_factory=dict)
    reference: dict[str, float] = field(default_factory=dict)

    def __or__(self, other: Scored) -> Scored:
        return Scored(
            self.metrics | other.metrics, self.floor | other.floor, self.reference | other.reference
        )


def score_outputs(task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> Scored:
    """The metrics of a split's outputs, with what no skill gets."""
    metrics = task.score(outputs, split)
    if isinstance(task, SentenceTask):
        return Scored(metrics, task.goal.floor(splits.targets("train"), outputs[1], split))
    if isinstance(task, (SelectionTask, PostTrainingTask)):
        return Scored(metrics, task.floor(outputs, split))
    return Scored(metrics, _unigram_floor(splits, split))


def _unigram_floor(splits: Splits, split: str) -> dict[str, float]:
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
