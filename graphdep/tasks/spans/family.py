"""The family of tasks on marked spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.datasets.base.targets import UNKNOWN
from graphdep.datasets.base.text_rows import Label
from graphdep.datasets.spans.span_dataset import SpanDataset
from graphdep.metrics.found_labels import label_table
from graphdep.parsing import Parser
from graphdep.sentence import Sentence
from graphdep.tasks.spans.build import build_span_model
from graphdep.tasks.spans.check_splits import check_splits
from graphdep.tasks.spans.config import SpanConfig
from graphdep.tasks.spans.floors import span_floors
from graphdep.tasks.spans.learning_task import SpanTask
from graphdep.tasks.spans.own_config import OwnSpanConfig
from graphdep.tasks.spans.predict_rows import predict_rows
from graphdep.tasks.spans.tasks import COLUMNS, TASKS
from graphdep.training.family.edges import preset_edges
from graphdep.training.family.family import TaskFamily
from graphdep.training.family.file_prediction import FilePrediction, FileRequest
from graphdep.training.family.learning_task import LearningTask, Outputs
from graphdep.training.family.optimizers import grouped_optimizer, make_optimizer
from graphdep.training.family.parts import Parts
from graphdep.training.family.pretrained import backbone_of
from graphdep.training.family.pretrained_edges import check_nodes, pretrained_edges
from graphdep.training.family.scratch import with_types
from graphdep.training.family.splits import Splits
from graphdep.training.family.task import Task
from graphdep.training.family.train_config import TrainConfig
from graphdep.vocab import RelationVocab, Vocab

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder

LOOKUP = "lookup"


class SpanFamily(TaskFamily):
    """A label for one or two marked spans of a sentence."""

    name = "spans"
    tasks: ClassVar[Mapping[str, Task]] = TASKS
    configs: ClassVar[Mapping[str, type[TrainConfig]]] = {"spans": SpanConfig, "own-spans": OwnSpanConfig}
    default_models = ("transformer", "dt", "dt@random", "bilstm", "word-average")
    gives = "labels of marked spans"
    used_by = "`graphdep predict` with a file of marked spans"
    columns: ClassVar[Mapping[str, tuple[str, ...]]] = COLUMNS
    floors: ClassVar[Mapping[str, str]] = {LOOKUP: "look-up"}

    def build(self, config: TrainConfig, parts: Parts) -> SpanTask:
        config = cast(SpanConfig, config)
        task = config.span_task
        if parts.labels is None:
            raise ValueError("'labels' must be given: they are those of the data")
        model = build_span_model(config, parts, len(parts.labels))
        scratch = parts.pretrained is None
        return SpanTask(
            model,
            self.edges(config),
            task.codes(parts.labels, config.outside),
            task.metrics,
            task.reported,
            make_optimizer(config) if scratch else grouped_optimizer(config, model),
            warmup_steps=config.warmup_steps,
            seed=config.seed,
        )

    def floor(self, task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        return span_floors(cast(SpanTask, task), splits["train"], splits[split], split, LOOKUP)

    def tables(self, task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> dict[str, Any]:
        task, dataset = cast(SpanTask, task), cast(SpanDataset, splits[split])
        target, prediction = task.compared(outputs)
        codes = task.codes(np.arange(len(dataset.labels))).tolist()
        names = {UNKNOWN: "(unknown)", **dict(zip(codes, map(str, dataset.labels)))}
        rows = [{**row, "label": names[int(row["label"])]} for row in label_table(prediction, target)]
        return {"labels": sorted(rows, key=lambda row: str(row["label"]))}

    def own_edges(self, config: TrainConfig, name: str) -> list[BaseTransform]:
        config = cast(SpanConfig, config)
        if config.pretrained:
            return with_types(config, pretrained_edges(config, from_cls=False))
        return with_types(config, preset_edges(config, name))

    def adapt(self, task: LearningTask, config: TrainConfig) -> None:
        super().adapt(task, config)
        if config.pretrained:
            check_nodes(cast(SpanConfig, config), backbone_of(task.model))

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
        data, trees = super().example(task, config, vocab, relations, texts, parser)
        data.mark = torch.zeros_like(data.word)  # a text marks nothing
        return data, trees

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
        check_splits(cast(SpanConfig, config), found)
        return found

    def labels(self, splits: Splits) -> list[Label] | None:
        return splits.labels()

    def known_labels(self, config: TrainConfig) -> bool:
        return True

    def comparable(self, mine: Splits, other: Splits) -> bool:
        # Other trees and words leave the labels as they are.
        same = mine.labels() == other.labels()
        return mine is other or (same and torch.equal(mine.targets("test"), other.targets("test")))

    def missing_split(self, config: TrainConfig, split: str) -> str:
        return f": give it (--{split} FILE)" if isinstance(config, OwnSpanConfig) else ""

    def predict_file(self, task: LearningTask, request: FileRequest) -> FilePrediction:
        return predict_rows(cast(SpanTask, task), request)
