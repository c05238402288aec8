"""The family of post-training."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, cast

from graphdep.tasks.post_training.settings import COLUMNS, TASKS, PostTrainingConfig
from graphdep.training.config import TrainConfig
from graphdep.training.family import TaskFamily
from graphdep.training.task import Task

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_geometric.data import Data

    from graphdep.datasets.base.rows import Label
    from graphdep.nn.pretrained import PretrainedEncoder
    from graphdep.parsing import Parser
    from graphdep.sentence import Sentence
    from graphdep.tasks.post_training.model import PostTrainingTask
    from graphdep.training.build import Parts
    from graphdep.training.learning_task import LearningTask, Outputs
    from graphdep.training.splits import Splits
    from graphdep.vocab import RelationVocab, Vocab

ENCODER = "encoder"
"""The folder of a run with the encoder that it made."""


class PostTrainingFamily(TaskFamily):
    """Masked words and the relevance of responses, for a pretrained encoder."""

    name = "post-training"
    tasks: ClassVar[Mapping[str, Task]] = TASKS
    configs: ClassVar[Mapping[str, type[TrainConfig]]] = {"post-training": PostTrainingConfig}
    default_models = ("bert-fp",)
    unit_name = "post-training"
    gives = "an encoder"
    used_by = "its folder `encoder`, which graphdep.nn.pretrained.loading takes"
    columns: ClassVar[Mapping[str, tuple[str, ...]]] = COLUMNS
    floor_reads = ()
    files = (ENCODER,)

    def build(self, config: TrainConfig, parts: Parts) -> PostTrainingTask:
        from graphdep.nn.models import PostTrainingModel
        from graphdep.tasks.post_training.model import PostTrainingTask
        from graphdep.training.build import make_optimizer

        assert parts.pretrained is not None
        model = PostTrainingModel(parts.pretrained)
        return PostTrainingTask(
            model,
            self.edges(config),
            make_optimizer(config),
            warmup_steps=config.warmup_steps,
            seed=config.seed,
        )

    def reads(self, config: TrainConfig) -> frozenset[str]:
        from graphdep.transforms.edge_set import CLS

        return super().reads(config) | {CLS}

    def floor(self, task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        return cast("PostTrainingTask", task).floor(outputs, split)

    def load(
        self,
        config: TrainConfig,
        splits: tuple[str, ...],
        vocab: Vocab | None = None,
        pretrained: PretrainedEncoder | None = None,
        relations: RelationVocab | None = None,
        labels: Sequence[Label] | None = None,
    ) -> Splits:
        from graphdep.tasks.post_training.model import load_post_training_splits
        from graphdep.training.build import load_pretrained
        from graphdep.training.splits import check_length

        pretrained = pretrained or load_pretrained(config)
        check_length(config, pretrained)
        return load_post_training_splits(cast(PostTrainingConfig, config), splits, pretrained)

    def example(
        self,
        task: LearningTask,
        config: TrainConfig,
        vocab: Vocab,
        relations: RelationVocab,
        texts: list[str],
        parser: Parser,
    ) -> tuple[Data, list[Sentence]]:
        """The last turns of a context, and the response; no word is masked."""
        from graphdep.tasks.selection.model import read_pair
        from graphdep.training.build import backbone_of

        config, tokens = cast(PostTrainingConfig, config), backbone_of(task.model).tokens
        return read_pair(texts, parser, tokens, relations, config.max_length, config.short_context)

    def begin(self, task: LearningTask, config: TrainConfig) -> None:
        from graphdep.nn.pretrained import load_masked_word_head

        load_masked_word_head(cast("PostTrainingTask", task).model.words, config.encoder)

    def finish(self, task: LearningTask, folder: Path) -> None:
        """Writes the encoder for :func:`~graphdep.nn.pretrained.loading`, whole or not at all."""
        from graphdep.training.build import backbone_of

        part = folder / f"{ENCODER}.part"
        shutil.rmtree(part, ignore_errors=True)
        backbone_of(task.model).save_pretrained(part)
        shutil.rmtree(folder / ENCODER, ignore_errors=True)
        os.replace(part, folder / ENCODER)
