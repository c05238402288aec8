"""The family of tasks on the words of sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, cast

from graphdep.tasks.labels.settings import (
    COLUMNS,
    TASKS,
    LabelConfig,
    LabelScoring,
    OwnLabelConfig,
    ParsedLabelConfig,
)
from graphdep.training.config import TrainConfig
from graphdep.training.family import StructureRows, WordFamily, label_columns, texts_of
from graphdep.training.task import Task

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from graphdep.datasets.labels.base import LabelDataset
    from graphdep.nn.pretrained import PretrainedEncoder
    from graphdep.sentence import Sentence
    from graphdep.tasks.labels.model import LabelTask
    from graphdep.training.build import Parts
    from graphdep.training.family import FilePrediction, FileRequest
    from graphdep.training.learning_task import LearningTask, Outputs
    from graphdep.training.splits import Splits
    from graphdep.visualization.side import Answer

LOOKUP = "lookup"


class LabelFamily(WordFamily):
    """A label for each word of a sentence, or for the words as a marked one sees them."""

    name = "labels"
    tasks: ClassVar[Mapping[str, Task]] = TASKS
    configs: ClassVar[Mapping[str, type[TrainConfig]]] = {
        "labels": LabelConfig,
        "parsed-labels": ParsedLabelConfig,
        "own-labels": OwnLabelConfig,
    }
    default_models = ("transformer", "dt", "dt@random", "bilstm", "word-average")
    structure = (
        StructureRows("transformer", "dt", "dt@random-labels", "transformer@shuffled", "transformer-nopos"),
        StructureRows("bert", "bert-dt", "bert-dt@random-labels", "bert@shuffled"),
    )
    unit_name = "words"
    gives = "labels of words"
    predicted = (
        'of words, a .jsonl file with "words" and, where the model knows marks, a "mark", the labels go into '
        '"labels"; of a .conllu file into the column that they were learned from'
    )
    used_by = "graphdep.WordLabeller and `graphdep predict` with a .conllu or .jsonl file"
    columns: ClassVar[Mapping[str, tuple[str, ...]]] = COLUMNS
    floors: ClassVar[Mapping[str, str]] = {LOOKUP: "look-up"}
    frozen = (
        "a ridge classifier on the state u of a word, a mean over its pieces, and where words are marked "
        "that of the marked word v (u, v, |u - v| and u * v), by the encoder before its training"
    )

    def predictor(self, task: str) -> str | None:
        return "graphdep.tasks.labels.predict.WordLabeller"

    def build(self, config: TrainConfig, parts: Parts) -> LabelTask:
        from graphdep.tasks.labels.model import LabelTask, build_chain, build_label_model
        from graphdep.training.build import grouped_optimizer, make_optimizer

        config = cast(LabelConfig, config)
        if parts.labels is None:
            raise ValueError("'labels' must be given: they are those of the data")
        model = build_label_model(config, parts, len(parts.labels))
        chain = build_chain(config, parts.labels)
        alike = parts.pretrained is None
        optimizer = make_optimizer(config) if alike else grouped_optimizer(config, model)
        return LabelTask(
            model,
            self.edges(config),
            LabelScoring(tuple(parts.labels), config.outside_label, config.label_scheme),
            self.tasks[config.task].metrics,
            optimizer,
            chain=chain,
            warmup_steps=config.warmup_steps,
            seed=config.seed,
        )

    def floor(self, task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        from graphdep.tasks.labels.model import label_floors

        scoring = cast("LabelTask", task).scoring
        return label_floors(scoring, splits["train"], splits[split], split, LOOKUP)

    def floor_frozen(
        self, config: TrainConfig, splits: Splits, encoder: PretrainedEncoder
    ) -> dict[str, float]:
        from graphdep.tasks.labels.model import label_probe_scores

        config, labels = cast(LabelConfig, config), tuple(splits.labels() or ())
        scoring = LabelScoring(labels, config.outside_label, config.label_scheme)
        return label_probe_scores(scoring, [(name, splits[name]) for name in config.splits], encoder)

    def compared(self, task: str) -> str:
        whole = self.tasks[task].metrics[0].name == "exact"
        return "groups of test examples" if whole else "scored words of the test split"

    def grouped(self, task: str) -> str:
        return "sentences of the test split"

    def readable(
        self, task: LearningTask, splits: Splits, split: str, outputs: Outputs
    ) -> dict[str, list[str]]:
        import numpy as np

        example, group, place = (column.numpy() for column in outputs[3:6])
        columns = label_columns(outputs[2].numpy(), outputs[0].numpy(), splits.labels())
        words = texts_of(cast("LabelDataset", splits.in_memory(split)).words)
        if task.metrics[0].name == "exact":  # a row is a group of words
            example, columns = example[np.unique(group, return_index=True)[1]], {}
        elif words:
            columns["word"] = [words[n][k] for n, k in zip(example.tolist(), place.tolist())]
        return columns | ({"text": [" ".join(words[n]) for n in example.tolist()]} if words else {})

    def tables(self, task: LearningTask, splits: Splits, split: str, outputs: Outputs) -> dict[str, Any]:
        from graphdep.tasks.labels.model import exact_by_type, f1_by_place, scored_words

        scoring, words = cast("LabelTask", task).scoring, scored_words(outputs)
        prediction = outputs[0].numpy()
        found = {"labels": scoring.table(prediction, words)}
        dataset: Any = splits[split]
        if "type_id" in dataset._data:
            found["types"] = exact_by_type(dataset, scoring.exact(prediction, words)[0], words)
        if "mark" in dataset._data:
            codes = [scoring.codes(numbers, words) for numbers in (prediction, words.target)]
            found |= f1_by_place(dataset, codes[0], codes[1], words)
        return found

    def adapt(self, task: LearningTask, config: TrainConfig) -> None:
        from graphdep.tasks.labels.model import build_chain

        super().adapt(task, config)
        config, task = cast(LabelConfig, config), cast("LabelTask", task)
        if not config.crf:
            task.chain = build_chain(config, task.scoring.labels)

    def comparable(self, mine: Splits, other: Splits) -> bool:
        import numpy as np

        from graphdep.tasks.labels.model import labelled_words

        # Other trees, and pieces in place of words, leave the labels as they are.
        if mine is other or mine.labels() != other.labels():
            return mine is other
        words = (labelled_words(splits[splits.compared], "form")[-1] for splits in (mine, other))
        return all(np.array_equal(*columns) for columns in zip(*words))

    def answers(self, task: LearningTask, state: Any, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
        """The label of each word, with its probability."""
        from graphdep.visualization.side import Answer

        logits = task(batch)
        numbers = cast("LabelTask", task).predict(batch, logits).cpu().tolist()
        shares = logits.double().softmax(dim=1).cpu()
        words = [word for tree in trees for word in tree.form]
        rows = [
            (f"{word}\t{(state.labels or ())[number]}", float(share[number]))
            for word, number, share in zip(words, numbers, shares)
        ]
        return [Answer("words", state.config.task, tuple(rows))]

    def predict_file(self, task: LearningTask, request: FileRequest) -> FilePrediction:
        from graphdep.tasks.labels.predict import predict_conllu, predict_json_lines

        suffix, name = request.source.suffix.lower(), request.state.config.task
        predict = {".conllu": predict_conllu, ".jsonl": predict_json_lines}
        if suffix not in predict or request.lines is not None:
            raise ValueError(
                f"{request.checkpoint}: trained on the task {name!r}, which labels the words of a "
                f"{' or '.join(predict)} file (got {str(request.source)!r})"
            )
        return predict[suffix](cast("LabelTask", task), request)
