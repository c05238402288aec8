"""From settings to models of words, and how they learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from graphdep.datasets.base.parsed import example_digest
from graphdep.datasets.base.rows import UNKNOWN, UNSCORED, spread_rows
from graphdep.datasets.labels.base import LabelDataset
from graphdep.datasets.labels.own import CONLLU, NO_COLUMNS, ROLES, WORDS, kind_of
from graphdep.metrics.metric import Metric
from graphdep.metrics.scores import NOTHING, micro_f1
from graphdep.nn.models.heads import LinearChainCRF, SyntacticScaffold, TokenModel, word_nodes
from graphdep.sentence.sentence import Sentence
from graphdep.tasks.labels.family import LOOKUP
from graphdep.tasks.labels.settings import LabelConfig, LabelScoring, ScoredWords, bio_tables
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
from graphdep.training.learning_task import MakeOptimizer, Outputs, WordTask
from graphdep.training.splits import Splits
from graphdep.visualization.side import Answer

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


_MARKS = 2  # no mark, and the mark


def build_label_model(config: LabelConfig, parts: BuildInputs, num_classes: int) -> TokenModel:
    """Encoder and head, not trained; a pretrained encoder is changed in place."""
    encoder = start_encoder(config, parts)
    model = TokenModel(encoder, num_classes, config.dropout, pieces=config.word_state, marked=config.marked)
    complete_encoder(encoder, config, parts, _MARKS if config.marked else 0)
    return model


def scoring_of(config: LabelConfig, labels: Sequence[Any]) -> LabelScoring:
    """What the labels are worth by the settings."""
    return LabelScoring(tuple(labels), config.outside_label, config.label_scheme, config.rules)


def build_chain(config: LabelConfig, labels: Sequence[Any]) -> LinearChainCRF | None:
    """What finds the best sequence of labels; :obj:`None` where each word is labelled alone.

    Raises:
        ValueError: If a chain is to be learned over labels of which none stands for no finding.
    """
    if config.decode == "argmax" and not config.crf:
        return None
    if config.crf and labels[0] != config.outside_label:
        raise ValueError(
            f"'crf' needs {config.outside_label!r} among the labels of training, for words without one (got "
            "True)"
        )
    if config.label_scheme != "bio":
        return LinearChainCRF(num_labels=len(labels), learned=config.crf)
    _check_begun([str(label) for label in labels])
    follows, first = (torch.from_numpy(table) for table in bio_tables(labels))
    return LinearChainCRF(follows, first, learned=config.crf)


def build_scaffold(config: LabelConfig, parts: BuildInputs, model: TokenModel) -> SyntacticScaffold | None:
    """The loss for the parse; :obj:`None` where its weight is 0."""
    if not config.scaffold:
        return None
    channels: int = model.encoder.hidden_channels  # type: ignore[assignment]
    return SyntacticScaffold(channels, parts.num_relations, dropout=config.dropout)


def _check_begun(labels: Sequence[str]) -> None:
    """Raises :class:`ValueError` where a span's label never begins one, which the rules would then forbid."""
    for label in labels:
        if label.startswith("I-") and f"B-{label[2:]}" not in labels:
            raise ValueError(
                f"the rules of spans ask for B-{label[2:]} before {label}, and training has none: with "
                "decode=argmax and crf=false no rules are followed"
            )


def label_floors(
    scoring: LabelScoring, train: Any, dataset: Any, prefix: str, ending: str
) -> dict[str, float]:
    """Scores of two predictions: the most frequent label of the training split for every word, and for each
    word the commonest label there of what stands for it (``<prefix>_<metric>_<ending>``), or else the most
    frequent one. That is the word as it is written, or where words of the training split are marked, the way
    to it through the tree (:attr:`LabelDataset.looks_up`).

    Args:
        scoring: What labels are worth.
        train: The training split.
        dataset: The split that is scored.
        prefix: Its name.
        ending: Of the second kind of scores.
    """
    by = train.looks_up
    keys, labels = _learned(train, by)
    asked, cut, words = labelled_words(dataset, by)
    often = np.full_like(words.target, np.bincount(labels).argmax())
    looked_up = look_up(keys, labels, asked, otherwise=often)
    scores: dict[str, float] = {}
    for prediction, end in ((often, ""), (looked_up, f"_{ending}")):
        found = scoring.scores(np.where(cut, NOTHING, prediction), words)
        scores |= {f"{prefix}_{name}{end}": value for name, value in found.items()}
    return scores


def _learned(train: Any, by: str) -> tuple[np.ndarray, np.ndarray]:
    keys, cut, words = labelled_words(train, by)
    known = (words.target >= 0) & ~cut  # what stands for words that were cut away is not kept
    return keys[known], words.target[known]


def labelled_words(dataset: Any, by: str) -> tuple[np.ndarray, np.ndarray, ScoredWords]:
    """The scored words of a split in the order of examples and words: what stands for each, as counting sees
    it, whether it was cut away, and the words; ``by`` is ``"path"`` or ``"form"``.
    """
    whole = dataset if dataset._indices is None else dataset.copy()
    data, bounds = whole._data, _bounds(whole, "y")
    key = data[f"{by}_id"]
    example, place = _numbered(bounds)
    parts = [(key, data.y, example, place)]
    if "cut_y" in data:
        example, number = _numbered(_bounds(whole, "cut_y"))
        left = bounds.diff()[example]
        parts.append((torch.zeros_like(data.cut_y), data.cut_y, example, left + number))
    key, y, example, place = (torch.cat(column) for column in zip(*parts))
    cut = torch.arange(len(y)) >= len(data.y)
    scored = (y != UNSCORED).nonzero().view(-1)
    scored = scored[example[scored].argsort(stable=True)]
    columns = (key, cut, y, data.example_id[example], data.group[example], place)
    keys, away, *words = (column[scored].numpy() for column in columns)
    return keys, away, ScoredWords(*words)


def _bounds(dataset: Any, name: str) -> torch.Tensor:
    """Where the examples of a key begin, and where the last one ends; PyG has no bounds of a single one."""
    return torch.tensor([0, len(dataset._data[name])]) if dataset.slices is None else dataset.slices[name]


def _numbered(bounds: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The example of each row, and its number there."""
    sizes = bounds.diff()
    example = torch.arange(len(sizes)).repeat_interleave(sizes)
    return example, torch.arange(int(sizes.sum())) - (bounds[:-1] - bounds[0])[example]


def label_probe_scores(
    scoring: LabelScoring, datasets: Sequence[tuple[str, Any]], encoder: PretrainedEncoder
) -> dict[str, float]:
    """The scores of a ridge classifier that reads the states of words, and with each that of the marked word.

    Args:
        scoring: What labels are worth.
        datasets: The splits by name: the one to train on, the one to choose on, and those that are scored
            besides.
        encoder: The encoder, as it was loaded.
    """
    (_, train), *others = datasets
    words = len(train.y) / max(1, len(train))
    numbers = spread_rows(range(len(train)), max(1, int(LIMIT_ROWS / max(1.0, words))))
    read = [_Read.of(train.copy(numbers), encoder)]
    read += [_Read.of(dataset, encoder) for _, dataset in others]
    model = fit_ridge(read[0].rows, read[0].known, read[1].rows, read[1].known)
    scores: dict[str, float] = {}
    for (name, _), part in zip(others, read[1:]):
        prediction = np.where(part.cut, NOTHING, predict_rows(model, part.rows, len(part.cut)))
        found = scoring.scores(prediction, part.words)
        scores |= {f"{name}_{metric}": value for metric, value in found.items()}
    return scores


class _Read(NamedTuple):
    """The scored words of a split, with the states that stand for them."""

    words: ScoredWords
    cut: np.ndarray
    states: Tensor
    """Of all words of all examples, and a row of zeros behind them, for words that were cut away."""
    word: np.ndarray
    """The row of each scored word."""
    mark: np.ndarray | None
    """The row of the marked word of its example, where some word is marked."""

    @classmethod
    def of(cls, dataset: Any, encoder: PretrainedEncoder) -> _Read:
        _, cut, words = labelled_words(dataset, "form")
        examples = [dataset[number] for number in range(len(dataset))]
        states = frozen_words(encoder, examples)
        starts = np.cumsum([0, *map(len, states)])
        start = {int(data.example_id): int(at) for data, at in zip(examples, starts)}
        table = torch.cat([*states, torch.zeros(1, encoder.hidden_channels)])
        row = np.array([start[number] for number in words.example.tolist()], dtype=np.int64) + words.place
        mark = None
        if "mark" in dataset._data:
            last = len(table) - 1
            marked = {int(d.example_id): _marked_word(d, int(at), last) for d, at in zip(examples, starts)}
            mark = np.array([marked[number] for number in words.example.tolist()], dtype=np.int64)
        return cls(words, cut, table, np.where(cut, len(table) - 1, row), mark)

    @property
    def known(self) -> np.ndarray:
        """The label of each word; -1 where nothing can be learned of it."""
        return np.where(self.cut, UNKNOWN, self.words.target)

    def rows(self, numbers: np.ndarray) -> Tensor:
        """What stands for some of the scored words."""
        own = self.states[torch.from_numpy(self.word[numbers])]
        if self.mark is None:
            return own
        return pair_features(own, self.states[torch.from_numpy(self.mark[numbers])])


def _marked_word(data: Any, start: int, nothing: int) -> int:
    """The row of the marked word of an example; that of zeros where none is left."""
    marked = data.word[(data.mark > 0) & (data.word >= 0)]
    return start + int(marked[0]) if len(marked) else nothing


DISTANCES = (0, 1, 2, 3, 5, 9)
"""Where a range of distances in words begins; the last has no end."""
LENGTHS = (1, 11, 21, 31)
"""Where a range of lengths in words begins; the last has no end."""


def f1_by_place(
    dataset: Any, found: np.ndarray, there: np.ndarray, words: ScoredWords
) -> dict[str, list[dict[str, Any]]]:
    """Tables of micro F1 by ``distance`` of a word to the nearest marked one, and by ``length`` of its
    sentence: rows with the range, such as ``"3-4"`` and ``"9+"``, its scored words, and their F1. Spans stand
    at their first word.

    Args:
        dataset: A corpus with marks.
        found, there: Codes of the scored words (:meth:`LabelScoring.codes`).
        words: The scored words.
    """
    example, place, size = _marked_words(dataset)
    first, last = (np.searchsorted(example, words.example, side) for side in ("left", "right"))
    most = int((last - first).max(initial=0))
    distance = np.full(len(words.place), np.iinfo(np.int64).max)
    for number in range(most):  # of the marked words; mostly one
        here = first + number < last
        apart = np.abs(words.place[here] - place[first[here] + number])
        distance[here] = np.minimum(distance[here], apart)
    return {
        "distance": _table(distance, DISTANCES, found, there),
        "length": _table(size[words.example], LENGTHS, found, there),
    }


def _marked_words(dataset: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Example and place of each marked word, in the order of the examples, and the words of each example."""
    whole = dataset if dataset._indices is None else dataset.copy()
    data = whole._data
    sizes = (
        whole.slices["mark"].diff() if whole.slices is not None else data.mark.new_tensor([len(data.mark)])
    )
    number = data.example_id.repeat_interleave(sizes)
    marked = data.mark.bool() & (data.word >= 0)
    example, place = number[marked].numpy(), data.word[marked].numpy()
    size = np.zeros(int(data.example_id.max()) + 1, dtype=np.int64)
    np.maximum.at(size, number.numpy(), data.word.numpy() + 1)
    order = example.argsort(kind="stable")
    return example[order], place[order], size


def _table(
    value: np.ndarray, starts: Sequence[int], found: np.ndarray, there: np.ndarray
) -> list[dict[str, Any]]:
    ranges = np.searchsorted(starts, value, side="right") - 1
    rows = []
    for number in range(len(starts)):
        inside = ranges == number
        if inside.any():
            f1 = micro_f1(found[inside], there[inside])
            rows.append({"range": _name(starts, number), "words": int(inside.sum()), "f1": f1})
    return rows


def _name(starts: Sequence[int], number: int) -> str:
    if number + 1 == len(starts):
        return f"{starts[number]}+"
    end = starts[number + 1] - 1
    return str(end) if end == starts[number] else f"{starts[number]}-{end}"


def exact_by_type(dataset: Any, right: np.ndarray, words: ScoredWords) -> list[dict[str, Any]]:
    """A row for each type of groups of examples: its name, their number, and the share that are right.

    Args:
        dataset: A corpus with ``type_id`` and :attr:`types`, such as :class:`~graphdep.datasets.COGS`.
        right: For each group 1 if it is right, else 0, as of :meth:`LabelScoring.exact`.
        words: The scored words.
    """
    data = (dataset if dataset._indices is None else dataset.copy())._data
    type_of = dict(zip(data.group.tolist(), data.type_id.tolist()))
    kind = np.array([type_of[group] for group in np.unique(words.group).tolist()])
    return [
        {"type": name, "examples": int((kind == number).sum()), "exact": float(right[kind == number].mean())}
        for number, name in enumerate(dataset.types)
        if (kind == number).any()
    ]


class LabelTask(WordTask):
    r"""Learns a label for each word.

    The loss is the mean cross entropy of the words of a batch whose labels are known; with a chain that is
    learned, minus the log-likelihood of the labels of whole examples, over as many words. There words
    without a label, and with one that training does not have, count as no finding. With a scaffold its loss
    is added.

    Args:
        model: Gives logits and the nodes that they belong to, a row a word.
        edges: Transform that builds the batch's edges, the tree control included.
        scoring: What labels are worth.
        metrics: The metrics that systems are compared by; the first decides which epoch is the best. That is
            ``"exact"``, over groups of examples, or one of those over words.
        optimizer: Makes an optimizer of parameters. (default: AdaGrad with a learning rate of 1e-3)
        chain: Finds the best sequence of labels, for words one by one in place of it. (default: :obj:`None`)
        scaffold: Its loss is added in training, with its weight. (default: :obj:`None`)
        scaffold_weight: The weight. (default: :obj:`1.0`)
        **options: As in :class:`LearningTask`.

    Shapes:
        - ``batch.y``: :math:`(W)`, a number for each word in the order of the words; -1 for a label that
          training does not have, -100 for none
        - ``batch.example_id``, ``batch.group``: :math:`(B)`, the number of each example in its split, and one
          that those share that are right together or not at all
        - ``batch.sentence``: :math:`(B)`, a number that the examples of one sentence share
        - ``batch.cut_y``, ``batch.cut_y_batch``: :math:`(K)`, as ``y``, of words that were cut from the ends
          of examples, and their examples, where some may have been
    """

    model: TokenModel
    reads_columns = True
    graphs_outputs = False  # which words are scored differs from batch to batch

    def __init__(
        self,
        model: TokenModel,
        edges: BaseTransform,
        scoring: LabelScoring,
        metrics: tuple[Metric, ...],
        optimizer: MakeOptimizer | None = None,
        *,
        chain: LinearChainCRF | None = None,
        scaffold: SyntacticScaffold | None = None,
        scaffold_weight: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__(model, edges, optimizer, **options)
        self.scoring, self.metrics, self.chain = scoring, metrics, chain
        self.scaffold, self.scaffold_weight = scaffold, scaffold_weight

    @classmethod
    def build(cls, config: LabelConfig, parts: BuildInputs) -> Self:
        if parts.labels is None:
            raise ValueError("'labels' must be given: they are those of the data")
        model = build_label_model(config, parts, len(parts.labels))
        alike = parts.pretrained is None
        return cls(
            model,
            cls.make_edges(config),
            scoring_of(config, parts.labels),
            config.spec.metrics,
            make_optimizer(config) if alike else grouped_optimizer(config, model),
            chain=build_chain(config, parts.labels),
            scaffold=build_scaffold(config, parts, model),
            scaffold_weight=config.scaffold,
            **training_options(config),
        )

    @classmethod
    def predictor(cls, task: str) -> str | None:
        return "graphdep.tasks.labels.predict.WordLabeller"

    @classmethod
    def floor_frozen(
        cls, config: LabelConfig, splits: Splits, encoder: PretrainedEncoder
    ) -> dict[str, float]:
        scoring = scoring_of(config, splits.labels() or ())
        return label_probe_scores(scoring, [(name, splits[name]) for name in config.splits], encoder)

    def adapt(self, config: LabelConfig, trained: LabelConfig) -> None:
        super().adapt(config, trained)
        if not config.crf:
            self.chain = build_chain(config, self.scoring.labels)

    def forward(self, batch: Batch) -> Tensor:
        """Logits of the words of a batch that has edges: ``[W, classes]``."""
        return self.model(batch)[0]

    @property
    def counts_fillers(self) -> bool:
        return self.scaffold is not None or (self.chain is not None and self.chain.learned)

    def loss(self, batch: Batch) -> Tensor:
        states, nodes = self.model.states(batch)
        loss = self._label_loss(batch, self.model.classify(batch, states, nodes).float())
        if self.scaffold is None:
            return loss
        return loss + self.scaffold_weight * self.scaffold(batch, states, nodes)

    def _label_loss(self, batch: Batch, logits: Tensor) -> Tensor:
        known = (batch.y >= 0).sum().clamp(min=1)
        if self.chain is None or not self.chain.learned:
            return word_losses(logits, batch.y).sum() / known
        losses = self.chain(logits, self._lengths(batch), self._filled(batch.y))
        if bool((losses == torch.inf).any()):
            raise ValueError("the labels of an example are none that the rules of spans (BIO) allow")
        return losses.sum() / known

    def items(self, batch: Batch) -> float:
        """Words with a label."""
        return float((batch.y >= 0).sum())

    def predict(self, batch: Batch, logits: Tensor) -> Tensor:
        """The number of the label of each word of a batch: ``[W]``."""
        if self.chain is None or not logits.size(0):
            return logits.argmax(dim=-1)
        return self.chain.decode(logits, self._lengths(batch))

    def outputs(self, batch: Batch) -> Outputs:
        """A row a scored word, in the order of examples and words: the prediction, its loss, 0 where the
        label is unknown, the target, and the numbers of example, group, word and sentence. The prediction for
        a word that was cut away is -2, and its loss 0.
        """
        logits = self(batch).float()
        y, example, place = self._words(batch)
        cut = y[len(logits) :]
        columns = (
            torch.cat([self.predict(batch, logits), torch.full_like(cut, NOTHING)]),
            torch.cat([word_losses(logits, batch.y), logits.new_zeros(len(cut))]),
            y,
            batch.example_id[example],
            batch.group[example],
            place,
            batch.sentence[example],
        )
        kept = _scored(y, example)
        return tuple(column[kept] for column in columns)

    def rows(self, batch: Batch) -> Tensor:
        """The example of each row of :meth:`outputs`, counted within the batch."""
        y, example, _ = self._words(batch)
        return example[_scored(y, example)]

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        losses, known = outputs[1].double(), outputs[2] >= 0
        scores = self.scoring.scores(outputs[0].numpy(), scored_words(outputs))
        loss = {f"{prefix}_loss": float(losses.sum() / known.sum().clamp(min=1))}
        return loss | {f"{prefix}_{name}": value for name, value in scores.items()}

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Targets and predictions of the scored words, as codes of :class:`LabelScoring`; where whole
        examples are compared, a 1 for each group, and 1 or 0 for whether it is right.
        """
        prediction, words = outputs[0].numpy(), scored_words(outputs)
        if self.metrics[0].name == "exact":
            right, all_right = self.scoring.exact(prediction, words)
            return all_right, right
        return self.scoring.codes(words.target, words), self.scoring.codes(prediction, words)

    def groups(self, outputs: Outputs) -> np.ndarray:
        """The sentence of each scored word; where whole examples are compared, that of each group."""
        sentence, group = outputs[6].numpy(), outputs[4].numpy()
        if self.metrics[0].name == "exact":
            return sentence[np.unique(group, return_index=True)[1]]
        return sentence

    def digests(self, splits: Splits, split: str, outputs: Outputs) -> list[str]:
        dataset = splits.in_memory(split)
        numbers = dataset._data.example_id[list(dataset.indices())].tolist()
        digest = dict(zip(numbers, splits.example_digests(split), strict=True))
        example, group = (column.tolist() for column in outputs[3:5])
        if self.metrics[0].name != "exact":
            return [digest[number] for number in example]
        found: dict[int, dict[int, str]] = {}  # the examples of a group, such as a sentence's predicates
        for of, number in zip(group, example):
            found.setdefault(of, {})[number] = digest[number]
        return [example_digest(*examples.values()) for _, examples in sorted(found.items())]

    def floor(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        return label_floors(self.scoring, splits["train"], splits[split], split, LOOKUP)

    def readable(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, list[str]]:
        example, group, place = (column.numpy() for column in outputs[3:6])
        columns = label_columns(outputs[2].numpy(), outputs[0].numpy(), splits.labels())
        words = read_if_present(cast(LabelDataset, splits.in_memory(split)).words)
        if self.metrics[0].name == "exact":  # a row is a group of words
            example, columns = example[np.unique(group, return_index=True)[1]], {}
        elif words:
            columns["word"] = [words[n][k] for n, k in zip(example.tolist(), place.tolist())]
        return columns | ({"text": [" ".join(words[n]) for n in example.tolist()]} if words else {})

    def tables(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, Any]:
        scoring, words = self.scoring, scored_words(outputs)
        prediction = outputs[0].numpy()
        found = {"labels": scoring.table(prediction, words)}
        dataset: Any = splits[split]
        if "type_id" in dataset._data:
            found["types"] = exact_by_type(dataset, scoring.exact(prediction, words)[0], words)
        if "mark" in dataset._data:
            codes = [scoring.codes(numbers, words) for numbers in (prediction, words.target)]
            found |= f1_by_place(dataset, codes[0], codes[1], words)
        return found

    def answers(self, state: Any, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
        """The label of each word, with its probability."""
        logits = self(batch)
        numbers = self.predict(cast(Batch, batch), logits).cpu().tolist()
        shares = logits.double().softmax(dim=1).cpu()
        words = [word for tree in trees for word in tree.form]
        rows = [
            (f"{word}\t{(state.labels or ())[number]}", float(share[number]))
            for word, number, share in zip(words, numbers, shares)
        ]
        return [Answer("words", state.config.task, tuple(rows))]

    def predict_file(self, request: FileRequest) -> FilePrediction:
        from graphdep.tasks.labels.predict import predict_columns, predict_conllu, predict_json_lines

        source, name = request.source, request.state.config.task
        if source.suffix.lower() in (".jsonl", ".json"):
            return predict_json_lines(self, request)
        if request.trees is not None and request.output not in ("", ".conllu"):
            raise ValueError(
                f"'output' must end in .conllu: the words of trees are labelled (got {request.output!r})"
            )
        # A file of another suffix may come as lines of text.
        kind = kind_of(source) if source.is_file() and source.suffix.lower() not in NO_COLUMNS else None
        predict = {CONLLU: predict_conllu, WORDS: predict_columns, ROLES: predict_columns}.get(kind or "")
        predict = predict if request.trees is None else predict_conllu
        if predict is predict_columns and request.output in (".csv", ".tsv"):
            raise ValueError(
                f"'output' of columns must end in .jsonl, or as the input does (got {request.output!r})"
            )
        if predict is None:
            raise ValueError(
                f"{request.checkpoint}: trained on the task {name!r}, which labels the words of a .jsonl or "
                f".json file, or one of CoNLL-U or columns (got {str(source)!r})"
            )
        return predict(self, request)

    def _words(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Target, example in the batch and number there of each word, those that were cut away at the end."""
        example, place = self._places(batch)
        if "cut_y" not in batch:
            return batch.y, example, place
        cut = batch.cut_y_batch
        left = example.bincount(minlength=batch.num_graphs)[cut]
        count = cut.bincount(minlength=batch.num_graphs)
        number = torch.arange(len(cut), device=cut.device) - (count.cumsum(0) - count)[cut]
        parts = (batch.y, batch.cut_y), (example, cut), (place, left + number)
        y, example, place = (torch.cat(pair) for pair in parts)
        return y, example, place

    def _places(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The example of each word that the model reads, and its number there: ``[W]``."""
        nodes = word_nodes(batch)
        return batch.batch[nodes], batch.word[nodes]

    def _lengths(self, batch: Batch) -> Tensor:
        """How many words the examples that have some have."""
        count = self._places(batch)[0].bincount()
        return count[count > 0]

    def _filled(self, y: Tensor) -> Tensor:
        """Labels for all words: where there is none, that of no finding, or inside of a span its label."""
        if self.scoring.scheme != "bio":
            return y.clamp(min=0)
        goes_on = {n for n, label in enumerate(self.scoring.labels) if str(label).startswith("I-")}
        filled = y.tolist()
        for word in range(len(filled) - 1, -1, -1):
            if filled[word] < 0:
                after = filled[word + 1] if word + 1 < len(filled) else 0
                filled[word] = after if after in goes_on else 0
        return torch.tensor(filled, device=y.device)


def _scored(y: Tensor, example: Tensor) -> Tensor:
    """The numbers of the scored words, those of an example one behind the other."""
    scored = (y != UNSCORED).nonzero().view(-1)
    return scored[example[scored].argsort(stable=True)]


def scored_words(outputs: Outputs) -> ScoredWords:
    """What is there, of the outputs of a split."""
    target, example, group, place = (output.numpy() for output in outputs[2:6])
    return ScoredWords(target, example, group, place)


def word_losses(logits: Tensor, y: Tensor) -> Tensor:
    """Cross entropy of each word ``[W]``; 0 for words without a label, or with one that is no class."""
    return F.cross_entropy(logits, torch.where(y < 0, UNSCORED, y), ignore_index=UNSCORED, reduction="none")
