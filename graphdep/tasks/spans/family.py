"""The family of tasks on marked spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast

from graphdep.tasks.spans.settings import COLUMNS, TASKS, OwnSpanConfig, SpanConfig
from graphdep.training.config import TrainConfig
from graphdep.training.family import StructureRows, WordFamily, label_columns, texts_of
from graphdep.training.task import Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn
    from torch_geometric.data import Data

    from graphdep.datasets.base.rows import Label
    from graphdep.datasets.spans.base import SpanDataset
    from graphdep.nn.pretrained import PretrainedEncoder
    from graphdep.parsing import Parser
    from graphdep.sentence import Sentence
    from graphdep.tasks.spans.model import SpanTask
    from graphdep.training.build import Parts
    from graphdep.training.family import FilePrediction, FileRequest
    from graphdep.training.learning_task import LearningTask, MakeOptimizer, Outputs
    from graphdep.training.splits import Splits
    from graphdep.visualization.side import Answer
    from graphdep.vocab import RelationVocab, Vocab

LOOKUP = "lookup"
_MOST = 12  # labels that are shown of an answer


class SpanFamily(WordFamily):
    """A label for one or two marked spans of a sentence."""

    name = "spans"
    tasks: ClassVar[Mapping[str, Task]] = TASKS
    configs: ClassVar[Mapping[str, type[TrainConfig]]] = {"spans": SpanConfig, "own-spans": OwnSpanConfig}
    default_models = ("transformer", "dt", "dt@random", "bilstm", "word-average")
    structure = (
        StructureRows("transformer", "dt", "dt@random-labels", "transformer@shuffled", "transformer-nopos"),
        StructureRows("bert", "bert-dt", "bert-dt@random-labels", "bert@shuffled"),
    )
    unit_name = "spans"
    gives = "labels of marked spans"
    predicted = (
        'of spans, a .jsonl file with "spans" of "words" or of a "text", a .csv or .tsv one with `<e1>` '
        "and `<e2>` in its texts, the columns are those of texts"
    )
    used_by = "graphdep.SpanClassifier and `graphdep predict` with a file of marked spans"
    columns: ClassVar[Mapping[str, tuple[str, ...]]] = COLUMNS
    floors: ClassVar[Mapping[str, str]] = {LOOKUP: "look-up"}
    frozen = (
        "a ridge classifier on the mean state u of the words of a span, and of a second one v (u, v, |u - v| "
        "and u * v), by the encoder before its training"
    )

    def predictor(self, task: str) -> str | None:
        return "graphdep.tasks.spans.predict.SpanClassifier"

    def build(self, config: TrainConfig, parts: Parts) -> SpanTask:
        from graphdep.tasks.spans.model import build_span_model
        from graphdep.training.build import grouped_optimizer, make_optimizer

        config = cast(SpanConfig, config)
        if parts.labels is None:
            raise ValueError("'labels' must be given: they are those of the data")
        model = build_span_model(config, parts, len(parts.labels))
        scratch = parts.pretrained is None
        optimizer = make_optimizer(config) if scratch else grouped_optimizer(config, model)
        return self._task(config, parts.labels, model, optimizer)

    def _task(
        self,
        config: SpanConfig,
        labels: Sequence[Label],
        model: nn.Module,
        optimizer: MakeOptimizer | None = None,
    ) -> SpanTask:
        from graphdep.tasks.spans.model import SpanTask

        task = config.span_task
        return SpanTask(
            model,
            self.edges(config),
            task.codes(labels, config.outside_label),
            task.metrics,
            task.reported,
            optimizer,
            warmup_steps=config.warmup_steps,
            seed=config.seed,
        )

    def example(
        self,
        task: LearningTask,
        config: TrainConfig,
        vocab: Vocab,
        relations: RelationVocab,
        texts: list[str],
        parser: Parser,
    ) -> tuple[Data, list[Sentence]]:
        """A text with tags around its spans, such as ``<e1>Rain</e1> makes <e2>mud</e2>.``, and its tree."""
        from graphdep.data import trees_data
        from graphdep.datasets.spans.base import mark_spans
        from graphdep.datasets.spans.rows import SpanExample, mark_text, read_tags
        from graphdep.parsing import enhance
        from graphdep.training.build import backbone_of

        if len(texts) != 1:
            raise ValueError(f"'texts' must be one text, as the model was trained on (got {len(texts)})")
        config, marked = cast(SpanConfig, config), mark_text(*read_tags(texts[0]))
        trees = parser.parse_words([marked.words])
        data = trees_data(
            trees if config.arcs == "basic" else enhance(trees, config.arcs, config.engine),
            relations,
            vocab=vocab,
            tokens=backbone_of(task.model).tokens if config.pretrained else None,
            max_length=config.max_length,
            arcs=config.arcs,
            phrases=config.reads_constituents,
            segment=[0],
        )
        return mark_spans(data, SpanExample(marked.words, marked.spans).marks), trees

    def answers(self, task: LearningTask, state: Any, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
        """The labels with their probabilities, the best first."""
        from graphdep.visualization.side import Answer

        shares = task(batch).double().softmax(dim=1)[0].cpu()
        order = shares.argsort(descending=True, stable=True)[:_MOST].tolist()
        rows = [(str((state.labels or ())[number]), float(shares[number])) for number in order]
        return [Answer("classes", state.config.task, tuple(rows))]

    def floor_frozen(
        self, config: TrainConfig, splits: Splits, encoder: PretrainedEncoder
    ) -> dict[str, float]:
        from torch import nn

        from graphdep.tasks.spans.model import span_probe_scores

        task = self._task(cast(SpanConfig, config), splits.labels() or [], nn.Identity())
        return span_probe_scores(task, [(name, splits[name]) for name in config.splits], encoder)

    def grouped(self, task: str) -> str:
        return "sentences of the test split"

    def floor(self, task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        from graphdep.tasks.spans.model import span_floors

        return span_floors(cast("SpanTask", task), splits["train"], splits[split], split, LOOKUP)

    def readable(
        self, task: LearningTask, splits: Splits, split: str, outputs: Outputs
    ) -> dict[str, list[str]]:
        columns = label_columns(outputs[2].numpy(), outputs[0].numpy(), splits.labels())
        dataset = splits.in_memory(split)
        texts = texts_of(dataset.texts)  # of the split, of which the dataset may be a part
        return columns | ({"text": [texts[n][0] for n in dataset.example_id.tolist()]} if texts else {})

    def tables(self, task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> dict[str, Any]:
        import numpy as np

        from graphdep.datasets.base.rows import UNKNOWN
        from graphdep.metrics.scores import label_table

        task, dataset = cast("SpanTask", task), cast("SpanDataset", splits[split])
        target, prediction = task.compared(outputs)
        codes = task.codes(np.arange(len(dataset.labels))).tolist()
        names = {UNKNOWN: "(unknown)", **dict(zip(codes, map(str, dataset.labels)))}
        rows = [{**row, "label": names[int(row["label"])]} for row in label_table(prediction, target)]
        return {"labels": sorted(rows, key=lambda row: str(row["label"]))}

    def load(
        self,
        config: TrainConfig,
        splits: tuple[str, ...],
        vocab: Vocab | None = None,
        pretrained: PretrainedEncoder | None = None,
        relations: RelationVocab | None = None,
        labels: Sequence[Label] | None = None,
    ) -> Splits:
        from graphdep.tasks.spans.model import check_splits

        found = super().load(config, splits, vocab, pretrained, relations, labels)
        check_splits(cast(SpanConfig, config), found)
        return found

    def comparable(self, mine: Splits, other: Splits) -> bool:
        import torch

        # Other trees and words leave the labels as they are.
        same = mine.labels() == other.labels()
        return mine is other or (
            same and torch.equal(mine.targets(mine.compared), other.targets(other.compared))
        )

    def predict_file(self, task: LearningTask, request: FileRequest) -> FilePrediction:
        from graphdep.tasks.spans.predict import predict_rows

        return predict_rows(cast("SpanTask", task), request)
