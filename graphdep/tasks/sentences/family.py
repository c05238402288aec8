"""The family of tasks on sentences and pairs of sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from graphdep.tasks.sentences.settings import (
    COLUMNS,
    PAPER,
    TASKS,
    CSVConfig,
    SentenceConfig,
    Sentences,
    of_nodes,
)
from graphdep.training.config import TrainConfig
from graphdep.training.family import Published, StructureRows, TaskFamily, label_columns
from graphdep.training.task import Task

if TYPE_CHECKING:
    from torch_geometric.data import Data
    from torch_geometric.transforms import BaseTransform

    from graphdep.datasets.base.rows import Label
    from graphdep.nn.pretrained import PretrainedEncoder
    from graphdep.parsing import Parser
    from graphdep.sentence import Sentence
    from graphdep.tasks.sentences.model import SentenceTask
    from graphdep.training.build import Parts
    from graphdep.training.family import FilePrediction, FileRequest
    from graphdep.training.learning_task import LearningTask, Outputs
    from graphdep.training.splits import Splits
    from graphdep.visualization.side import Answer
    from graphdep.vocab import RelationVocab, Vocab


class SentenceFamily(TaskFamily):
    """A label or a grade of sentences or of pairs of sentences."""

    name = "sentence"
    tasks: ClassVar[Mapping[str, Task]] = TASKS
    configs: ClassVar[Mapping[str, type[TrainConfig]]] = {"sentence": SentenceConfig, "csv": CSVConfig}
    default_models = ("transformer", "dt-lr", "dt-rg", "dt")
    structure = (
        StructureRows("transformer", "dt", "dt@random-labels", "transformer@shuffled", "transformer-nopos"),
        StructureRows("bert", "bert-dt", "bert-dt@random-labels", "bert@shuffled"),
    )
    unit_name = "sentences"
    gives = "sentence vectors"
    predicted = 'of texts and pairs, "prediction" and "probability_NAME" as said'
    used_by = "graphdep.SentenceEncoder, graphdep.SequenceClassifier, `graphdep embed` and `graphdep predict`"
    published: ClassVar[Mapping[str, Published]] = PAPER
    columns: ClassVar[Mapping[str, tuple[str, ...]]] = COLUMNS
    frozen = (
        "a logistic regression, of numbers a ridge regression, on vectors u, v of the texts (of a pair "
        "|u - v| and u * v), means over their nodes by the encoder before its training"
    )

    def predictor(self, task: str) -> str | None:
        classifies = cast(Sentences, self.tasks[task]).goal.classifies
        own = "SequenceClassifier" if classifies else "SentenceEncoder"
        return f"graphdep.tasks.sentences.predict.{own}"

    def published_for(self, task: str, given: Mapping[str, Any]) -> Published | None:
        return of_nodes() if given.get("node_labels") else super().published_for(task, given)

    def build(self, config: TrainConfig, parts: Parts) -> SentenceTask:
        from graphdep.tasks.sentences.model import SentenceTask, build_model, build_pretrained_model
        from graphdep.training.build import grouped_optimizer, make_optimizer

        config, task = cast(SentenceConfig, config), cast(Sentences, self.tasks[config.task])
        classes = parts.num_classes or task.num_classes
        if parts.pretrained is None:
            sizes = parts.num_words, parts.num_relations, parts.vectors
            model = build_model(config, *sizes, num_classes=classes)
            optimizer = make_optimizer(config)
        else:
            model = build_pretrained_model(config, classes, parts.num_relations, parts.pretrained)
            optimizer = grouped_optimizer(config, model)
        return SentenceTask(
            model,
            self.edges(config),
            task.goal,
            optimizer,
            warmup_steps=config.warmup_steps,
            seed=config.seed,
        )

    def floor(self, task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        return cast("SentenceTask", task).goal.floor(splits.targets("train"), outputs[1], split)

    def floor_frozen(
        self, config: TrainConfig, splits: Splits, encoder: PretrainedEncoder
    ) -> dict[str, float]:
        from graphdep.tasks.sentences.model import probe_scores

        goal = cast(Sentences, self.tasks[config.task]).goal
        return probe_scores(goal, splits, config.splits, encoder)

    def readable(
        self, task: LearningTask, splits: Splits, split: str, outputs: Outputs
    ) -> dict[str, list[str]]:
        columns = label_columns(*task.compared(outputs), splits.labels())
        texts = splits.in_memory(split).texts()
        if len(texts) != len(outputs[1]):  # a filter of one's own has left some out
            return columns
        names = ["text"] if len(texts[0]) == 1 else [f"text_{place + 1}" for place in range(len(texts[0]))]
        return columns | {name: list(column) for name, column in zip(names, zip(*texts))}

    def own_edges(self, config: TrainConfig, name: str) -> list[BaseTransform]:
        from graphdep.training.build import preset_edges, pretrained_edges, with_types

        config = cast(SentenceConfig, config)
        return with_types(
            config, pretrained_edges(config) if config.pretrained else preset_edges(config, name)
        )

    def reads(self, config: TrainConfig) -> frozenset[str]:
        from graphdep.training.build import encoder_reads
        from graphdep.transforms.edge_set import CLS_ALL, ROOT

        config = cast(SentenceConfig, config)
        return encoder_reads(config) | {CLS_ALL if config.pretrained else ROOT}

    def adapt(self, task: LearningTask, config: TrainConfig) -> None:
        from graphdep.training.build import backbone_of, check_nodes

        super().adapt(task, config)
        if config.pretrained:
            check_nodes(cast(SentenceConfig, config), backbone_of(task.model))

    def example(
        self,
        task: LearningTask,
        config: TrainConfig,
        vocab: Vocab,
        relations: RelationVocab,
        texts: list[str],
        parser: Parser,
    ) -> tuple[Data, list[Sentence]]:
        wanted = cast(SentenceConfig, config).num_texts
        if len(texts) != wanted:
            what = {1: "one text", 2: "a pair of texts"}[wanted]
            raise ValueError(f"'texts' must be {what}, as the model was trained on (got {len(texts)})")
        return super().example(task, config, vocab, relations, texts, parser)

    def answers(self, task: LearningTask, state: Any, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
        """The classes with their probabilities, or the number."""
        from graphdep.visualization.side import Answer

        goal, logits = cast("SentenceTask", task).goal, task(batch).double().cpu()
        if not goal.classifies:
            return [
                Answer("number", state.config.task, (("the model gives", float(goal.predict(logits)[0])),))
            ]
        labels = state.labels or range(logits.size(1))
        order = logits[0].argsort(descending=True, stable=True).tolist()
        shares = logits.softmax(dim=1)[0].tolist()
        rows = [(str(labels[number]), shares[number]) for number in order]
        return [Answer("classes", state.config.task, tuple(rows))]

    def predict_file(self, task: LearningTask, request: FileRequest) -> FilePrediction:
        from graphdep.tasks.sentences.predict import predict_rows

        return predict_rows(task, request)

    def labels(self, splits: Splits) -> list[Label] | None:
        return splits.labels()

    def known_labels(self, config: TrainConfig) -> bool:
        return config.kind == "csv"

    def comparable(self, mine: Splits, other: Splits) -> bool:
        import torch

        # Other words make a perplexity another number, but not the label of a sentence.
        return mine is other or torch.equal(mine.targets(mine.compared), other.targets(other.compared))

    def missing_split(self, config: TrainConfig, split: str) -> str:
        return f": give it (--{split} FILE)" if config.kind == "csv" else ""
