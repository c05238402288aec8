"""The task of marked spans and its models."""

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

from graphdep.data.node_table import NodeType
from graphdep.datasets.base.rows import UNKNOWN, Label, spread_rows
from graphdep.datasets.spans.base import SpanDataset, mark_spans
from graphdep.datasets.spans.rows import SpanExample, read_tags
from graphdep.datasets.spans.texts import parse_examples
from graphdep.io.limits import plural
from graphdep.metrics.metric import Metric
from graphdep.metrics.scores import NOTHING, label_table
from graphdep.nn.models.embedding import Pieces
from graphdep.nn.models.heads import SpanModel, SpanReadout
from graphdep.parsing.parser import Parser
from graphdep.sentence.sentence import Sentence
from graphdep.tasks.spans.settings import SpanConfig
from graphdep.training.build import (
    BuildInputs,
    complete_encoder,
    grouped_optimizer,
    start_encoder,
    training_options,
)
from graphdep.training.family import BAG, FilePrediction, FileRequest, label_columns, read_if_present
from graphdep.training.floors import (
    LIMIT_ROWS,
    BagOfWords,
    count_floors,
    fit_ridge,
    frozen_words,
    pair_features,
    predict_rows,
)
from graphdep.training.learning_task import MakeOptimizer, Outputs, WordTask, graphs_of
from graphdep.training.splits import Splits
from graphdep.visualization.side import Answer
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import Vocab

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


_MARKS = 4  # unmarked, first span, second span, both


def build_span_model(config: SpanConfig, parts: BuildInputs, num_classes: int) -> SpanModel:
    """A new model; a pretrained encoder is changed in place."""
    pieces = "first" if config.word_state == "first" else "all"
    readout = SpanReadout(config.num_spans, mode=config.readout, path=config.path, pieces=pieces)
    encoder = start_encoder(config, parts)
    model = SpanModel(encoder, readout, num_classes, config.dropout)
    complete_encoder(encoder, config, parts, _MARKS)
    return model


def check_splits(config: SpanConfig, splits: Splits) -> None:
    """Checks the number of spans in the data.

    Raises:
        ValueError: If a split has no labels or another number of spans than the first, or ``path`` is set and
            examples have one span.
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
                f"{other.num_spans}, as in {first!r} (got {dataset.num_spans})"
            )
    if config.path and other.num_spans < 2:
        raise ValueError(f"'path' needs two spans, but examples of {other.corpus} have one (got True)")


_MOST = 12  # labels shown in answers


class SpanTask(WordTask):
    """Learns labels of the marked spans of a sentence.

    The loss is the mean cross entropy of the examples with a known label and without spans that were cut.

    Args:
        model: Gives logits ``[B, classes]``.
        edges: Transform that builds the edges of a batch, including the tree control.
        codes: Code of each class for the metrics: 0 for the negative label, from 1 on for others.
        metrics: Metrics for comparisons, of codes; the first selects the best epoch.
        reported: All metrics by name.
        optimizer: See :class:`LearningTask`.
        **options: See :class:`LearningTask`.

    Shapes:
        - ``batch.y``: :math:`(B)`, label; -1 for labels that training lacks
        - ``batch.lost``: :math:`(B)`, number of spans without words, which were cut
        - ``batch.sentence``: :math:`(B)`, number of the sentence
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
            raise ValueError("'labels' must be given, those of the data")
        model = build_span_model(config, parts, len(parts.labels))
        return cls._of(config, parts.labels, model, grouped_optimizer(config, model))

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
        """Number of examples with a known label and without spans that were cut."""
        return float(((batch.y >= 0) & (batch.lost == 0)).sum())

    def outputs(self, batch: Batch) -> Outputs:
        """Prediction (-2 if a span was cut), loss (0 for unknown labels), target, number of the sentence."""
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
        """All metrics by name, from numbers of labels."""
        found, there = self.codes(prediction), self.codes(target)
        return {name: metric(found, there) for name, metric in self.reported.items()}

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Targets and predictions as codes."""
        return self.codes(outputs[2].numpy()), self.codes(outputs[0].numpy())

    def groups(self, outputs: Outputs) -> np.ndarray:
        """The sentence of each example."""
        return outputs[3].numpy()

    def floor(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        counted = span_floors(self, splits["train"], splits[split], split)
        return counted | span_bag_scores(self, splits, split)

    def readable(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, list[str]]:
        dataset = splits.in_memory(split)
        rows = read_if_present(cast(SpanDataset, dataset).rows)  # of the whole split
        own = [rows[number] for number in dataset.example_id.tolist()] if rows else []
        given = [row.label for row in own]
        columns = label_columns(outputs[2].numpy(), outputs[0].numpy(), splits.labels(), given)
        return columns | ({"text": [row.tagged for row in own]} if own else {})

    def tables(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, Any]:
        dataset = cast(SpanDataset, splits[split])
        target, prediction = self.compared(outputs)
        codes = self.codes(np.arange(len(dataset.labels))).tolist()
        names = {UNKNOWN: dataset.unknown_name, **dict(zip(codes, map(str, dataset.labels)))}
        rows = [{**row, "label": names[int(row["label"])]} for row in label_table(prediction, target)]
        return {"labels": sorted(rows, key=lambda row: str(row["label"]))}

    def example(
        self, config: SpanConfig, vocab: Vocab, relations: RelationVocab, texts: list[Any], parser: Parser
    ) -> tuple[Data, list[Sentence]]:
        """The model's input for a text with tags around its spans, such as
        ``<e1>Rain</e1> makes <e2>mud</e2>.``, or for a :class:`SpanExample`; and its tree.
        """
        if len(texts) != 1:
            raise ValueError(f"'texts' must be one text, as in training (got {len(texts)})")
        (given,) = texts
        given = given if isinstance(given, SpanExample) else SpanExample.of_text(*read_tags(given))
        (marked,) = parse_examples([given], parser).marked
        trees = [marked.tree]
        read = graphs_of(trees, config)
        return mark_spans(self.encoded(read, config, vocab, relations), marked.marks), trees

    def answers(self, state: Any, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
        """The most probable labels with their probabilities.

        Raises:
            ValueError: If the number of spans is not that of the training.
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
        """The codes of numbers of labels; -1 (label that training lacks) and -2 (no prediction) stay."""
        return self._codes[numbers]


def span_floors(task: SpanTask, train: Any, dataset: Any, prefix: str) -> dict[str, float]:
    """The floors of a split by counting (:func:`~graphdep.training.floors.count_floors`), by name,
    ``<prefix>_<metric>`` and ``<prefix>_<metric>_lookup``. Examples are looked up by the tree path between
    their spans, or the form of a single span's top word
    (:func:`~graphdep.datasets.spans.rows.span_key`).

    Args:
        task: Scores labels.
        train: The training split.
        dataset: The split to score.
        prefix: Its name.
    """
    keys, labels, _ = _columns(train)
    asked, target, lost = _columns(dataset)
    return count_floors(
        *(keys[labels >= 0], labels[labels >= 0], asked, lost),
        lambda prediction: {f"{prefix}_{k}": v for k, v in task.scores(prediction, target).items()},
    )


def span_bag_scores(task: SpanTask, splits: Splits, split: str) -> dict[str, float]:
    """The scores of a bag of words, whose terms are the words of the sentence and those of each span; at most
    :data:`LIMIT_ROWS` training examples are used, and the model is fitted once and kept in ``splits``.
    """
    if (BAG, split) not in splits.kept:
        if BAG not in splits.kept:
            train = splits["train"].copy(spread_rows(range(len(splits["train"])), LIMIT_ROWS))
            known = (labels := _columns(train)[1]) >= 0
            texts = [text for text, is_known in zip(_terms(train), known) if is_known]
            splits.kept[BAG] = BagOfWords(texts, labels[known], classifies=True)
        splits.kept[BAG, split] = splits.kept[BAG].predict(_terms(splits[split]))
    _, target, lost = _columns(splits[split])
    scores = task.scores(np.where(lost, NOTHING, splits.kept[BAG, split]), target)
    return {f"{split}_{metric}_{BAG}": value for metric, value in scores.items()}


def _terms(dataset: Any) -> list[tuple[Pieces]]:
    """The numbers of the words of each example, and of those in a span with its mark in the upper bits."""
    found = []
    for data in dataset:
        words = (data.node_type == NodeType.WORD) & (data.word >= 0)
        numbers, marks = data.input_ids[words], data.mark[words]
        # Terms of a span are apart from all numbers of words.
        inside = [numbers[(marks & span) > 0] + (span << 32) for span in (1, 2)]
        found.append((tuple(torch.cat([numbers, *inside]).tolist()),))
    return found


def _columns(dataset: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The key for look-up of each example, its label, and whether a span was cut."""
    whole = dataset if dataset._indices is None else dataset.copy()
    return whole.key_id.numpy(), whole.y.numpy(), whole.lost.numpy() > 0


def span_probe_scores(
    task: SpanTask, datasets: Sequence[tuple[str, Any]], encoder: PretrainedEncoder
) -> dict[str, float]:
    """The scores of a ridge classifier on the mean state of the words of each span.

    Args:
        task: Scores labels.
        datasets: Names and splits: for training, for validation, and others. All but the first are scored.
        encoder: The encoder as loaded.
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
    """The examples of a split with the vectors of their spans by a frozen encoder."""

    spans: Tensor
    """``[N, spans, C]``; zeros for spans that were cut."""
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
        """The class of each example; -1 if a span was cut."""
        return np.where(self.lost, UNKNOWN, self.target)

    def rows(self, numbers: np.ndarray) -> Tensor:
        """The features of some of the examples."""
        some = self.spans[torch.from_numpy(numbers)]
        return some[:, 0] if some.size(1) == 1 else pair_features(*some.unbind(dim=1))


def _mean(x: Tensor, data: Any, span: int) -> Tensor:
    """The mean of the states ``[W, C]`` of the words of a span."""
    words = data.word[(data.mark == span) & (data.word >= 0)].unique()
    return x[words].mean(dim=0) if len(words) else x.new_zeros(x.size(1))
