"""From settings to models of marked spans, and how they learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from graphdep.datasets.base.rows import UNKNOWN, Label, spread_rows
from graphdep.datasets.spans.base import SpanDataset, mark_spans
from graphdep.datasets.spans.rows import SpanExample, read_tags
from graphdep.datasets.spans.texts import parse_examples
from graphdep.io.limits import plural
from graphdep.metrics.metric import Metric
from graphdep.metrics.scores import NOTHING, label_table
from graphdep.nn.models.heads import SpanModel, SpanReadout
from graphdep.parsing.parser import Parser
from graphdep.sentence.sentence import Sentence
from graphdep.tasks.spans.family import LOOKUP
from graphdep.tasks.spans.settings import SpanConfig
from graphdep.training.build import (
    BuildInputs,
    complete_encoder,
    grouped_optimizer,
    make_optimizer,
    start_encoder,
    training_options,
)
from graphdep.training.family import FilePrediction, FileRequest, label_columns, read_if_present
from graphdep.training.floors import LIMIT_ROWS, fit_ridge, frozen_words, look_up, pair_features, predict_rows
from graphdep.training.learning_task import MakeOptimizer, Outputs, WordTask, graphs_of
from graphdep.training.splits import Splits
from graphdep.visualization.side import Answer
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import Vocab

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


_MARKS = 4  # no mark, the first span, the second, both


def build_span_model(config: SpanConfig, parts: BuildInputs, num_classes: int) -> SpanModel:
    """Encoder and head, not trained; a pretrained encoder is changed in place."""
    pieces = "first" if config.word_state == "first" else "all"
    readout = SpanReadout(config.num_spans, mode=config.readout, path=config.path, pieces=pieces)
    encoder = start_encoder(config, parts)
    model = SpanModel(encoder, readout, num_classes, config.dropout)
    complete_encoder(encoder, config, parts, _MARKS)
    return model


def check_splits(config: SpanConfig, splits: Splits) -> None:
    """Checks what only the data can tell: one's own may have one span or two.

    Raises:
        ValueError: If a split has another number of spans than the first, or no labels, or examples have one
            span and the settings ask for the way between two.
    """
    sets = {name: cast(SpanDataset, dataset) for name, dataset in splits.datasets.items()}
    first, other = next(iter(sets.items()))
    for name, dataset in sets.items():
        if "y" not in dataset._data:
            raise ValueError(f"{dataset.corpus} ({name}): the examples have no labels")
        if dataset.num_spans != other.num_spans:
            place, *_ = [*dataset.raw_files(Path(dataset.raw_dir), name), dataset.corpus]
            raise ValueError(
                f"{place} ({name}): the number of spans of an example must be "
                f"{other.num_spans}, as of {first!r} (got {dataset.num_spans})"
            )
    if config.path and other.num_spans < 2:
        raise ValueError(f"'path' is between two spans, but examples of {other.corpus} have one (got True)")


_MOST = 12  # labels that are shown of an answer


class SpanTask(WordTask):
    """Learns a label for the marked spans of a sentence.

    The loss is the mean cross entropy of the examples of a batch whose label is known and none of whose spans
    has been cut away.

    Args:
        model: Gives logits ``[B, classes]``.
        edges: Transform that builds the batch's edges, the tree control included.
        codes: What each class is to the metrics, by its number.
        metrics: The metrics that systems are compared by; the first decides which epoch is the best. They
            take codes: 0 for no finding, from 1 on for other labels.
        reported: All metrics by name.
        optimizer: Makes an optimizer of parameters. (default: AdaGrad with a learning rate of 1e-3)
        **options: As in :class:`LearningTask`.

    Shapes:
        - ``batch.y``: :math:`(B)`, the number of the label; -1 for one that training does not have
        - ``batch.lost``: :math:`(B)`, how many spans have no word left
        - ``batch.sentence``: :math:`(B)`, a number that the examples of one sentence share
    """

    reads_spans = True

    def __init__(
        self,
        model: nn.Module,
        edges: BaseTransform,
        codes: Sequence[int],
        metrics: tuple[Metric, ...],
        reported: Mapping[str, Metric],
        optimizer: MakeOptimizer | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, edges, optimizer, **options)
        self.metrics, self.reported = metrics, reported
        self._codes = np.array([*codes, NOTHING, UNKNOWN])

    @classmethod
    def build(cls, config: SpanConfig, parts: BuildInputs) -> Self:
        if parts.labels is None:
            raise ValueError("'labels' must be given: they are those of the data")
        model = build_span_model(config, parts, len(parts.labels))
        scratch = parts.pretrained is None
        optimizer = make_optimizer(config) if scratch else grouped_optimizer(config, model)
        return cls._of(config, parts.labels, model, optimizer)

    @classmethod
    def _of(
        cls,
        config: SpanConfig,
        labels: Sequence[Label],
        model: nn.Module,
        optimizer: MakeOptimizer | None = None,
    ) -> Self:
        task = config.span_task
        codes, how = task.codes(labels, config.outside_label), training_options(config)
        return cls(model, cls.make_edges(config), codes, task.metrics, task.reported, optimizer, **how)

    @classmethod
    def predictor(cls, task: str) -> str | None:
        return "graphdep.tasks.spans.predict.SpanClassifier"

    @classmethod
    def load(cls, config: SpanConfig, splits: tuple[str, ...], *known: Any) -> Splits:
        found = super().load(config, splits, *known)
        check_splits(config, found)
        return found

    @classmethod
    def floor_frozen(cls, config: SpanConfig, splits: Splits, encoder: PretrainedEncoder) -> dict[str, float]:
        task = cls._of(config, splits.labels() or [], nn.Identity())
        return span_probe_scores(task, [(name, splits[name]) for name in config.splits], encoder)

    @property
    def counts_fillers(self) -> bool:
        return False

    def filler_text(self, words: int, like: Data) -> str:
        marked = [f"<e{span}>x</e{span}>" for span in (1, 2) if bool((like.mark & span).any())]
        return " ".join([*marked, *["x"] * max(0, words - len(marked))])

    def loss(self, batch: Batch) -> Tensor:
        known = (batch.y >= 0) & (batch.lost == 0)
        losses = F.cross_entropy(self(batch).float(), batch.y.clamp(min=0), reduction="none")
        return (losses * known).sum() / known.sum().clamp(min=1)

    def items(self, batch: Batch) -> float:
        """Examples with a label whose spans are read."""
        return float(((batch.y >= 0) & (batch.lost == 0)).sum())

    def outputs(self, batch: Batch) -> Outputs:
        """The prediction, -2 where a span has been cut away, its loss, 0 where the label is unknown, the
        target, and the number of the sentence.
        """
        logits, unread = self(batch).float(), batch.lost > 0
        losses = F.cross_entropy(logits, batch.y.clamp(min=0), reduction="none")
        prediction = torch.where(unread, NOTHING, logits.argmax(dim=-1))
        return prediction, losses * ((batch.y >= 0) & ~unread), batch.y, batch.sentence

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        prediction, losses, y, _ = outputs
        known = ((y >= 0) & (prediction >= 0)).sum().clamp(min=1)
        scores = self.scores(prediction.numpy(), y.numpy())
        loss = {f"{prefix}_loss": float(losses.double().sum() / known)}
        return loss | {f"{prefix}_{name}": value for name, value in scores.items()}

    def scores(self, prediction: np.ndarray, target: np.ndarray) -> dict[str, float]:
        """All metrics by name, of numbers of labels."""
        found, there = self.codes(prediction), self.codes(target)
        return {name: metric(found, there) for name, metric in self.reported.items()}

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Targets and predictions as codes of labels."""
        return self.codes(outputs[2].numpy()), self.codes(outputs[0].numpy())

    def groups(self, outputs: Outputs) -> np.ndarray:
        """The sentence of each example."""
        return outputs[3].numpy()

    def floor(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        return span_floors(self, splits["train"], splits[split], split, LOOKUP)

    def readable(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, list[str]]:
        columns = label_columns(outputs[2].numpy(), outputs[0].numpy(), splits.labels())
        dataset = splits.in_memory(split)
        texts = read_if_present(dataset.texts)  # of the split, of which the dataset may be a part
        return columns | ({"text": [texts[n][0] for n in dataset.example_id.tolist()]} if texts else {})

    def tables(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, Any]:
        dataset = cast(SpanDataset, splits[split])
        target, prediction = self.compared(outputs)
        codes = self.codes(np.arange(len(dataset.labels))).tolist()
        names = {UNKNOWN: "(unknown)", **dict(zip(codes, map(str, dataset.labels)))}
        rows = [{**row, "label": names[int(row["label"])]} for row in label_table(prediction, target)]
        return {"labels": sorted(rows, key=lambda row: str(row["label"]))}

    def example(
        self, config: SpanConfig, vocab: Vocab, relations: RelationVocab, texts: list[Any], parser: Parser
    ) -> tuple[Data, list[Sentence]]:
        """A text with tags around its spans, such as ``<e1>Rain</e1> makes <e2>mud</e2>.``, or a
        :class:`SpanExample`, and its tree.
        """
        if len(texts) != 1:
            raise ValueError(f"'texts' must be one text, as the model was trained on (got {len(texts)})")
        (given,) = texts
        given = given if isinstance(given, SpanExample) else SpanExample.of_text(*read_tags(given))
        (marked,) = parse_examples([given], parser).marked
        trees = [marked.tree]
        read = graphs_of(trees, config)
        return mark_spans(self.encoded(read, config, vocab, relations), marked.marks), trees

    def answers(self, state: Any, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
        """The labels with their probabilities, the best first.

        Raises:
            ValueError: If the example has another number of spans than those of the training.
        """
        num_spans, trained = sum(bool((batch.mark & span).any()) for span in (1, 2)), state.data["num_spans"]
        if num_spans != trained["train"]:
            raise ValueError(
                f"'texts' has {plural(num_spans, 'marked span')}, but the model was trained on "
                f"{trained['train']}"
            )
        shares = self(batch).double().softmax(dim=1)[0].cpu()
        order = shares.argsort(descending=True, stable=True)[:_MOST].tolist()
        rows = [(str((state.labels or ())[number]), float(shares[number])) for number in order]
        return [Answer("classes", state.config.task, tuple(rows))]

    def predict_file(self, request: FileRequest) -> FilePrediction:
        from graphdep.tasks.spans.predict import predict_rows

        return predict_rows(self, request)

    def codes(self, numbers: np.ndarray) -> np.ndarray:
        """What labels are to the metrics, by their numbers. -1, a label that training does not have, and -2,
        no prediction, stay.
        """
        return self._codes[numbers]


def span_floors(task: SpanTask, train: Any, dataset: Any, prefix: str, ending: str) -> dict[str, float]:
    """Scores of two predictions: the most frequent label of the training split for every example, and for
    each example the commonest label there of what stands for its spans, or else the most frequent one
    (``<prefix>_<metric>_<ending>``). That is the way through the tree from one to the other, or of a span
    that is alone the form of its top word (:func:`~graphdep.datasets.spans.rows.span_key`). An example
    that has lost a span is wrong here, too.

    Args:
        task: Says what is scored.
        train: The training split.
        dataset: The split that is scored.
        prefix: Its name.
        ending: Of the second kind of scores.
    """
    keys, labels, _ = _columns(train)
    keys, labels = keys[labels >= 0], labels[labels >= 0]
    asked, target, lost = _columns(dataset)
    often = np.full_like(target, np.bincount(labels).argmax())
    looked_up = look_up(keys, labels, asked, otherwise=often)
    scores: dict[str, float] = {}
    for prediction, end in ((often, ""), (looked_up, f"_{ending}")):
        found = task.scores(np.where(lost, NOTHING, prediction), target)
        scores |= {f"{prefix}_{name}{end}": value for name, value in found.items()}
    return scores


def _columns(dataset: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What stands for each example of a split, its label, and whether it has lost a span."""
    whole = dataset if dataset._indices is None else dataset.copy()
    return whole.key_id.numpy(), whole.y.numpy(), whole.lost.numpy() > 0


def span_probe_scores(
    task: SpanTask, datasets: Sequence[tuple[str, Any]], encoder: PretrainedEncoder
) -> dict[str, float]:
    """The scores of a ridge classifier that reads the mean state of the words of each span.

    Args:
        task: Says what is scored.
        datasets: The splits by name: the one to train on, the one to choose on, and those that are scored
            besides.
        encoder: The encoder, as it was loaded.
    """
    (_, train), *others = datasets
    read = [_Read.of(train.copy(spread_rows(range(len(train)), LIMIT_ROWS)), encoder)]
    read += [_Read.of(dataset, encoder) for _, dataset in others]
    model = fit_ridge(read[0].rows, read[0].known, read[1].rows, read[1].known)
    scores: dict[str, float] = {}
    for (name, _), part in zip(others, read[1:]):
        prediction = np.where(part.lost, NOTHING, predict_rows(model, part.rows, len(part.lost)))
        scores |= {f"{name}_{metric}": v for metric, v in task.scores(prediction, part.target).items()}
    return scores


class _Read(NamedTuple):
    """The examples of a split, with a vector for each span."""

    spans: Tensor
    """``[N, spans, C]``; zeros where a span has no word left."""
    target: np.ndarray
    lost: np.ndarray

    @classmethod
    def of(cls, dataset: Any, encoder: PretrainedEncoder) -> _Read:
        examples = [dataset[number] for number in range(len(dataset))]
        spans = [
            torch.stack([_mean(x, data, span) for span in range(1, dataset.num_spans + 1)])
            for data, x in zip(examples, frozen_words(encoder, examples))
        ]
        y, lost = (torch.cat([data[key] for data in examples]).numpy() for key in ("y", "lost"))
        return cls(torch.stack(spans), y, lost > 0)

    @property
    def known(self) -> np.ndarray:
        """The class of each example; -1 where nothing can be learned of it."""
        return np.where(self.lost, UNKNOWN, self.target)

    def rows(self, numbers: np.ndarray) -> Tensor:
        """What stands for some of the examples."""
        some = self.spans[torch.from_numpy(numbers)]
        return some[:, 0] if some.size(1) == 1 else pair_features(*some.unbind(dim=1))


def _mean(x: Tensor, data: Any, span: int) -> Tensor:
    """Over the states ``[W, C]`` of the words of a span."""
    words = data.word[(data.mark == span) & (data.word >= 0)].unique()
    return x[words].mean(dim=0) if len(words) else x.new_zeros(x.size(1))
