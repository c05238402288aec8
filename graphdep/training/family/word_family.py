"""What the families of tasks on words of one text share."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, cast

from graphdep.training.family.family import TaskFamily

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_geometric.data import Data
    from torch_geometric.transforms import BaseTransform

    from graphdep.datasets.base.parsed import ParsedDataset
    from graphdep.datasets.base.rows import Label
    from graphdep.nn.pretrained import PretrainedEncoder
    from graphdep.parsing import Parser
    from graphdep.sentence import Sentence
    from graphdep.training.family.learning_task import LearningTask
    from graphdep.training.family.splits import Splits
    from graphdep.training.family.train_config import TrainConfig
    from graphdep.training.family.word_settings import WordSettings
    from graphdep.vocab import RelationVocab, Vocab


class WordFamily(TaskFamily):
    """Base of the families whose models read states of words, some of which may be marked, and whose classes
    are learned from the data; their settings are :class:`WordSettings`.
    """

    def own_edges(self, config: TrainConfig, name: str) -> list[BaseTransform]:
        from graphdep.training.family.edges import preset_edges
        from graphdep.training.family.pretrained_edges import pretrained_edges
        from graphdep.training.family.scratch import with_types

        if not config.pretrained:
            return with_types(config, preset_edges(config, name))
        return with_types(config, pretrained_edges(cast("WordSettings", config), from_cls=False))

    def load(
        self,
        config: TrainConfig,
        splits: tuple[str, ...],
        vocab: Vocab | None = None,
        pretrained: PretrainedEncoder | None = None,
        relations: RelationVocab | None = None,
        labels: Sequence[Label] | None = None,
    ) -> Splits:
        found = super().load(config, splits, vocab, pretrained, relations, labels)
        limit = cast("WordSettings", config).limit_eval
        return found if limit is None else _limited(found, limit)

    def adapt(self, task: LearningTask, config: TrainConfig) -> None:
        from graphdep.training.family.pretrained import backbone_of
        from graphdep.training.family.pretrained_edges import check_nodes

        super().adapt(task, config)
        if config.pretrained:
            check_nodes(cast("WordSettings", config), backbone_of(task.model))

    def example(
        self,
        task: LearningTask,
        config: TrainConfig,
        vocab: Vocab,
        relations: RelationVocab,
        texts: list[str],
        parser: Parser,
    ) -> tuple[Data, list[Sentence]]:
        import torch

        if len(texts) != 1:
            raise ValueError(f"'texts' must be one text, as the model was trained on (got {len(texts)})")
        data, trees = super().example(task, config, vocab, relations, texts, parser)
        if cast("WordSettings", config).marked:
            data.mark = torch.zeros_like(data.word)  # a text marks nothing
        return data, trees

    def labels(self, splits: Splits) -> list[Label] | None:
        return splits.labels()

    def known_labels(self, config: TrainConfig) -> bool:
        return True

    def missing_split(self, config: TrainConfig, split: str) -> str:
        own = split in config.field_types()  # a file of one's own
        return f": give it (--{split} FILE)" if own else ""


def _limited(splits: Splits, limit: int) -> Splits:
    """The splits with so many examples each at most, those to train on aside."""
    from graphdep.datasets.base.rows import spread_rows

    datasets, notes = dict(splits.datasets), []
    for name in splits.datasets.keys() - {"train"}:
        whole = splits.in_memory(name)
        if limit < len(whole):
            # A copy has no more than these, for those who count in all that a split has.
            part = whole.index_select(spread_rows(range(len(whole)), limit)).copy()
            datasets[name] = cast("ParsedDataset", part)
            notes.append(f"{name}: {limit} of {len(whole)} examples, spread over the split (limit_eval)")
    return dataclasses.replace(splits, datasets=datasets, notes=tuple(sorted(notes)))
