"""What the family of a task does, for settings that name the task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphdep.training.family.lookup import registry

if TYPE_CHECKING:
    from torch_geometric.transforms import BaseTransform

    from graphdep.datasets.base.rows import Label
    from graphdep.nn.pretrained import PretrainedEncoder
    from graphdep.training.family.family import TaskFamily
    from graphdep.training.family.learning_task import LearningTask
    from graphdep.training.family.parts import Parts
    from graphdep.training.family.splits import Splits
    from graphdep.training.family.train_config import TrainConfig
    from graphdep.vocab import RelationVocab, Vocab


def family_of(task: str) -> TaskFamily:
    """The family of the task of that name.

    Raises:
        ValueError: If there is none; the message lists those there are.
    """
    return registry().family_of(task)


def build_edges(config: TrainConfig) -> BaseTransform:
    """The tree control and the edges of the settings."""
    return family_of(config.task).edges(config)


def build_task(config: TrainConfig, parts: Parts) -> LearningTask:
    """Model, edges, loss and optimizer of the settings, not trained."""
    return family_of(config.task).build(config, parts)


def load_splits(
    config: TrainConfig,
    splits: tuple[str, ...] | None = None,
    vocab: Vocab | None = None,
    pretrained: PretrainedEncoder | None = None,
    relations: RelationVocab | None = None,
    labels: Sequence[Label] | None = None,
) -> Splits:
    """Loads and, the first time, parses splits of the task's corpus.

    Args:
        config: The settings.
        splits: Which. (default: all that the settings have)
        vocab: Vocabulary, e.g. a checkpoint's; :obj:`None` builds it from the training split. (default:
            :obj:`None`)
        pretrained: The encoder whose pieces the words have, e.g. a checkpoint's; :obj:`None` for the one that
            the settings name, if they do. (default: :obj:`None`)
        relations: Relations, e.g. a checkpoint's; :obj:`None` learns those of enhanced arcs from the training
            split. (default: :obj:`None`)
        labels: The classes of the user's own texts, e.g. a checkpoint's; :obj:`None` learns them from the
            training split. (default: :obj:`None`)

    Raises:
        ValueError: If the task is unknown, or a raw file is damaged.
        FileNotFoundError: If a raw file is missing.
    """
    return family_of(config.task).load(config, splits or config.splits, vocab, pretrained, relations, labels)
