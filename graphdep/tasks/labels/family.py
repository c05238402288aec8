"""The family of tasks on the words of sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, cast

import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.datasets.base.text_rows import Label
from graphdep.parsing import Parser
from graphdep.sentence import Sentence
from graphdep.tasks.labels.build import build_label_model
from graphdep.tasks.labels.config import LabelConfig
from graphdep.tasks.labels.floors import label_floors
from graphdep.tasks.labels.learning_task import LabelTask
from graphdep.tasks.labels.predict_conllu import predict_conllu
from graphdep.tasks.labels.tasks import COLUMNS, TASKS
from graphdep.training.family.edges import preset_edges
from graphdep.training.family.family import TaskFamily
from graphdep.training.family.file_prediction import FilePrediction, FileRequest
from graphdep.training.family.learning_task import LearningTask, Outputs
from graphdep.training.family.optimizers import make_optimizer
from graphdep.training.family.parts import Parts
from graphdep.training.family.scratch import with_types
from graphdep.training.family.splits import Splits
from graphdep.training.family.task import Task
from graphdep.training.family.train_config import TrainConfig
from graphdep.vocab import RelationVocab, Vocab

LOOKUP = "lookup"


class LabelFamily(TaskFamily):
    """A label for each word of a sentence."""

    name = "labels"
    tasks: ClassVar[Mapping[str, Task]] = TASKS
    configs: ClassVar[Mapping[str, type[TrainConfig]]] = {"labels": LabelConfig}
    default_models = ("transformer", "dt", "dt@random", "bilstm", "word-average")
    gives = "labels of words"
    used_by = "`graphdep predict` with a .conllu file"
    columns: ClassVar[Mapping[str, tuple[str, ...]]] = COLUMNS
    floors: ClassVar[Mapping[str, str]] = {LOOKUP: "look-up"}

    def build(self, config: TrainConfig, parts: Parts) -> LabelTask:
        config = cast(LabelConfig, config)
        if parts.num_classes is None:
            raise ValueError("'num_classes' must be given: the labels are those of the data")
        sizes = parts.num_words, parts.num_relations, parts.vectors
        return LabelTask(
            build_label_model(config, *sizes, num_classes=parts.num_classes),
            self.edges(config),
            self.tasks[config.task].metrics,
            make_optimizer(config),
            warmup_steps=config.warmup_steps,
            seed=config.seed,
        )

    def floor(self, task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        return label_floors(task.metrics, splits["train"], splits[split], split, LOOKUP)

    def own_edges(self, config: TrainConfig, name: str) -> list[BaseTransform]:
        return with_types(config, preset_edges(config, name))

    def example(
        self,
        task: LearningTask,
        config: TrainConfig,
        vocab: Vocab,
        relations: RelationVocab,
        texts: list[str],
        parser: Parser,
    ) -> tuple[Data, list[Sentence]]:
        if len(texts) != 1:
            raise ValueError(f"'texts' must be one text, as the model was trained on (got {len(texts)})")
        return super().example(task, config, vocab, relations, texts, parser)

    def labels(self, splits: Splits) -> list[Label] | None:
        return splits.labels()

    def known_labels(self, config: TrainConfig) -> bool:
        return True

    def comparable(self, mine: Splits, other: Splits) -> bool:
        # Other trees and words leave the labels as they are.
        same = mine.labels() == other.labels()
        return mine is other or (same and torch.equal(mine.targets("test"), other.targets("test")))

    def predict_file(self, task: LearningTask, request: FileRequest) -> FilePrediction:
        return predict_conllu(cast(LabelTask, task), request)
