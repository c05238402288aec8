"""The task of word labels and its models."""

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
from graphdep.tasks.labels.settings import LabelConfig, LabelScoring, ScoredWords, bio_tables
from graphdep.training.build import (
    BuildInputs,
    complete_encoder,
    grouped_optimizer,
    start_encoder,
    training_options,
)
from graphdep.training.family import FilePrediction, FileRequest, label_columns, read_if_present
from graphdep.training.floors import (
    LIMIT_ROWS,
    count_floors,
    fit_ridge,
    frozen_words,
    pair_features,
    predict_rows,
)
from graphdep.training.learning_task import MakeOptimizer, Outputs, WordTask
from graphdep.training.splits import Splits
from graphdep.visualization.side import Answer

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


_MARKS = 2  # unmarked and marked


def build_label_model(config: LabelConfig, parts: BuildInputs, num_classes: int) -> TokenModel:
    """A new model; a pretrained encoder is changed in place."""
    encoder = start_encoder(config, parts)
    model = TokenModel(encoder, num_classes, config.dropout, pieces=config.word_state, marked=config.marked)
    complete_encoder(encoder, config, parts, _MARKS if config.marked else 0)
    return model


def scoring_of(config: LabelConfig, labels: Sequence[Any]) -> LabelScoring:
    """The scoring of the settings."""
    return LabelScoring(tuple(labels), config.outside_label, config.label_scheme, config.rules)


def build_chain(config: LabelConfig, labels: Sequence[Any]) -> LinearChainCRF | None:
    """The chain that finds the best sequence of labels; :obj:`None` if words are labelled independently.

    Raises:
        ValueError: If a CRF is to be learned and training lacks the negative label.
    """
    if config.decode == "argmax" and not config.crf:
        return None
    if config.crf and labels[0] != config.outside_label:
        raise ValueError(
            f"'crf' needs {config.outside_label!r} among the labels of training, for words without a label "
            "(got True)"
        )
    if config.label_scheme != "bio":
        return LinearChainCRF(num_labels=len(labels), learned=config.crf)
    _check_begun([str(label) for label in labels])
    follows, first = (torch.from_numpy(table) for table in bio_tables(labels))
    return LinearChainCRF(follows, first, learned=config.crf)


def build_scaffold(config: LabelConfig, parts: BuildInputs, model: TokenModel) -> SyntacticScaffold | None:
    """The syntactic scaffold; :obj:`None` if its weight is 0."""
    if not config.scaffold:
        return None
    channels: int = model.encoder.hidden_channels  # type: ignore[assignment]
    return SyntacticScaffold(channels, parts.num_relations, dropout=config.dropout)


def _check_begun(labels: Sequence[str]) -> None:
    """Raises :class:`ValueError` for labels ``I-X`` without ``B-X``, which BIO would forbid."""
    for label in labels:
        if label.startswith("I-") and f"B-{label[2:]}" not in labels:
            raise ValueError(
                f"BIO requires B-{label[2:]} before {label}, which training lacks: use decode=argmax and "
                "crf=false, which do not enforce BIO"
            )


def label_floors(scoring: LabelScoring, train: Any, dataset: Any, prefix: str) -> dict[str, float]:
    """The floors of a split by counting (:func:`~graphdep.training.floors.count_floors`), by name,
    ``<prefix>_<metric>`` and ``<prefix>_<metric>_lookup``. Words are looked up by their form, or if words are
    marked by the tree path from the mark (:attr:`LabelDataset.looks_up`).

    Args:
        scoring: Scores labels.
        train: The training split.
        dataset: The split to score.
        prefix: Its name.
    """
    keys, away, known = labelled_words(train, train.looks_up)
    read = (known.target >= 0) & ~away  # words that were cut have no key
    asked, cut, words = labelled_words(dataset, train.looks_up)
    return count_floors(
        *(keys[read], known.target[read], asked, cut),
        lambda prediction: {f"{prefix}_{k}": v for k, v in scoring.scores(prediction, words).items()},
    )


def labelled_words(dataset: Any, by: str) -> tuple[np.ndarray, np.ndarray, ScoredWords]:
    """The scored words of a split in the order of examples and words: their keys for look-up, whether they
    were cut, and the words; ``by`` is ``"path"`` or ``"form"``.
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
    """The bounds of the examples in a column; PyG has no slices for a single example."""
    return torch.tensor([0, len(dataset._data[name])]) if dataset.slices is None else dataset.slices[name]


def _numbered(bounds: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The example of each row, and the position in it."""
    sizes = bounds.diff()
    example = torch.arange(len(sizes)).repeat_interleave(sizes)
    return example, torch.arange(int(sizes.sum())) - (bounds[:-1] - bounds[0])[example]


def label_probe_scores(
    scoring: LabelScoring, datasets: Sequence[tuple[str, Any]], encoder: PretrainedEncoder
) -> dict[str, float]:
    """The scores of a ridge classifier on the states of words, with the state of the marked word if any.

    Args:
        scoring: Scores labels.
        datasets: Names and splits: for training, for validation, and others. All but the first are scored.
        encoder: The encoder as loaded.
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
    """The scored words of a split with their states by a frozen encoder."""

    words: ScoredWords
    cut: np.ndarray
    states: Tensor
    """States of all words of all examples, and a last row of zeros for words that were cut."""
    word: np.ndarray
    """The row of each scored word."""
    mark: np.ndarray | None
    """The row of the marked word of its example, if words are marked."""

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
        """The label of each word; -1 for words that were cut."""
        return np.where(self.cut, UNKNOWN, self.words.target)

    def rows(self, numbers: np.ndarray) -> Tensor:
        """The features of some of the scored words."""
        own = self.states[torch.from_numpy(self.word[numbers])]
        if self.mark is None:
            return own
        return pair_features(own, self.states[torch.from_numpy(self.mark[numbers])])


def _marked_word(data: Any, start: int, nothing: int) -> int:
    """The row of the marked word of an example; that of zeros if it was cut."""
    marked = data.word[(data.mark > 0) & (data.word >= 0)]
    return start + int(marked[0]) if len(marked) else nothing


DISTANCES = (0, 1, 2, 3, 5, 9)
"""Starts of the ranges of distances in words; the last is open."""
LENGTHS = (1, 11, 21, 31)
"""Starts of the ranges of lengths in words; the last is open."""


def f1_by_place(
    dataset: Any, found: np.ndarray, there: np.ndarray, words: ScoredWords
) -> dict[str, list[dict[str, Any]]]:
    """Tables of micro F1 by ``distance`` of a word from the nearest marked word, and by ``length`` of its
    sentence: range, such as ``"3-4"`` and ``"9+"``, number of scored words, and F1. Spans count at their
        first
    word.

    Args:
        dataset: A corpus with marks.
        found, there: Codes of the predictions and targets (:meth:`LabelScoring.codes`).
        words: The scored words.
    """
    example, place, size = _marked_words(dataset)
    first, last = (np.searchsorted(example, words.example, side) for side in ("left", "right"))
    most = int((last - first).max(initial=0))
    distance = np.full(len(words.place), np.iinfo(np.int64).max)
    for number in range(most):  # over the marked words of examples, mostly one
        here = first + number < last
        apart = np.abs(words.place[here] - place[first[here] + number])
        distance[here] = np.minimum(distance[here], apart)
    return {
        "distance": _table(distance, DISTANCES, found, there),
        "length": _table(size[words.example], LENGTHS, found, there),
    }


def _marked_words(dataset: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Example and position of each marked word, sorted by example, and the number of words per example."""
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
    """A row for each type of groups: name, number of groups, and share of correct ones.

    Args:
        dataset: A corpus with ``type_id`` and :attr:`types`, such as :class:`~graphdep.datasets.COGS`.
        right: For each group 1 if it is correct, else 0 (:meth:`LabelScoring.exact`).
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
    r"""Learns labels of words.

    The loss is the mean cross entropy of the words with known labels; with a learned CRF the negative
    log-likelihood of the labels of whole examples, divided by the same number of words, where words with
    unknown or no labels count as negative. The loss of a scaffold is added.

    Args:
        model: Gives logits and their nodes, one row per word.
        edges: Transform that builds the edges of a batch, including the tree control.
        scoring: Scores labels.
        metrics: Metrics for comparisons; the first selects the best epoch: ``"exact"``, over groups of
            examples, or a metric over words.
        optimizer: Makes an optimizer from parameters. (default: AdaGrad with a learning rate of 1e-3)
        chain: Finds the best sequence of labels; :obj:`None` labels words independently. (default:
            :obj:`None`)
        scaffold: Syntactic scaffold, used in training. (default: :obj:`None`)
        scaffold_weight: Weight of its loss. (default: :obj:`1.0`)
        **options: See :class:`LearningTask`.

    Shapes:
        - ``batch.y``: :math:`(W)`, label of each word; -1 for labels that training lacks, -100 for none
        - ``batch.example_id``, ``batch.group``: :math:`(B)`, numbers of examples in the split, and of the
          groups that exact match scores as a whole
        - ``batch.sentence``: :math:`(B)`, numbers of sentences
        - ``batch.cut_y``, ``batch.cut_y_batch``: :math:`(K)`, if words may be cut: the labels of words that
          were cut from the ends of examples, and their examples
    """

    model: TokenModel
    reads_columns = True
    graphs_outputs = False  # the number of scored words differs between batches

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
            raise ValueError("'labels' must be given, those of the data")
        model = build_label_model(config, parts, len(parts.labels))
        return cls(
            model,
            cls.make_edges(config),
            scoring_of(config, parts.labels),
            config.spec.metrics,
            grouped_optimizer(config, model),
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
        """Logits of the words of a batch with edges, ``[W, classes]``."""
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
            raise ValueError("the labels of an example are not allowed in BIO")
        return losses.sum() / known

    def items(self, batch: Batch) -> float:
        """Number of words with a known label."""
        return float((batch.y >= 0).sum())

    def predict(self, batch: Batch, logits: Tensor) -> Tensor:
        """The predicted label of each word, ``[W]``."""
        if self.chain is None or not logits.size(0):
            return logits.argmax(dim=-1)
        return self.chain.decode(logits, self._lengths(batch))

    def outputs(self, batch: Batch) -> Outputs:
        """One row per scored word, in the order of examples and words: prediction, loss (0 for unknown
        labels), target, and numbers of example, group, word and sentence. Words that were cut have the
        prediction -2 and the loss 0.
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
        """The example in the batch of each row of :meth:`outputs`."""
        y, example, _ = self._words(batch)
        return example[_scored(y, example)]

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        losses, known = outputs[1].double(), outputs[2] >= 0
        scores = self.scoring.scores(outputs[0].numpy(), scored_words(outputs))
        loss = {f"{prefix}_loss": float(losses.sum() / known.sum().clamp(min=1))}
        return loss | {f"{prefix}_{name}": value for name, value in scores.items()}

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        """Targets and predictions of the scored words as codes (:meth:`LabelScoring.codes`); for ``"exact"``
        1, and whether the group is correct.
        """
        prediction, words = outputs[0].numpy(), scored_words(outputs)
        if self.metrics[0].name == "exact":
            right, all_right = self.scoring.exact(prediction, words)
            return all_right, right
        return self.scoring.codes(words.target, words), self.scoring.codes(prediction, words)

    def groups(self, outputs: Outputs) -> np.ndarray:
        """The sentence of each scored word; for ``"exact"`` of each group."""
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
        found: dict[
            int, dict[int, str]
        ] = {}  # by group, such as a sentence, and example, such as a predicate
        for of, number in zip(group, example):
            found.setdefault(of, {})[number] = digest[number]
        return [example_digest(*examples.values()) for _, examples in sorted(found.items())]

    def floor(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        return label_floors(self.scoring, splits["train"], splits[split], split)

    def readable(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, list[str]]:
        example, group, place = (column.numpy() for column in outputs[3:6])
        rows = read_if_present(cast(LabelDataset, splits.in_memory(split)).rows)
        columns: dict[str, list[str]] = {}
        if self.metrics[0].name == "exact":  # one row per group
            example = example[np.unique(group, return_index=True)[1]]
        else:
            own = [(rows[n], k) for n, k in zip(example.tolist(), place.tolist())] if rows else []
            given = [row.labels[k] for row, k in own]
            columns = label_columns(outputs[2].numpy(), outputs[0].numpy(), splits.labels(), given)
            columns |= {"word": [row.words[k] for row, k in own]} if own else {}
        return columns | ({"text": [" ".join(rows[n].words) for n in example.tolist()]} if rows else {})

    def tables(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, Any]:
        scoring, words = self.scoring, scored_words(outputs)
        prediction = outputs[0].numpy()
        dataset: Any = splits[split]
        found = {"labels": scoring.table(prediction, words, dataset.unknown_name)}
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
                f"'output' must end in .conllu for labels of words in trees (got {request.output!r})"
            )
        # Files with another suffix may be given as lines of text.
        kind = kind_of(source) if source.is_file() and source.suffix.lower() not in NO_COLUMNS else None
        predict = {CONLLU: predict_conllu, WORDS: predict_columns, ROLES: predict_columns}.get(kind or "")
        predict = predict if request.trees is None else predict_conllu
        if predict is predict_columns and request.output in (".csv", ".tsv"):
            raise ValueError(
                f"'output' of columns must end in .jsonl or like the input (got {request.output!r})"
            )
        if predict is None:
            raise ValueError(
                f"{request.checkpoint}: trained on the task {name!r}, which labels words in .jsonl, .json, "
                f"CoNLL-U or column files (got {str(source)!r})"
            )
        return predict(self, request)

    def _words(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Target, example in the batch and position of each word; words that were cut come last."""
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
        """The example and position of each word that the model reads, ``[W]``."""
        nodes = word_nodes(batch)
        return batch.batch[nodes], batch.word[nodes]

    def _lengths(self, batch: Batch) -> Tensor:
        """The number of words in each example with words."""
        count = self._places(batch)[0].bincount()
        return count[count > 0]

    def _filled(self, y: Tensor) -> Tensor:
        """Labels of all words; unknown ones become negative, or inside a span that of the span."""
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
    """The numbers of the scored words, sorted by example."""
    scored = (y != UNSCORED).nonzero().view(-1)
    return scored[example[scored].argsort(stable=True)]


def scored_words(outputs: Outputs) -> ScoredWords:
    """The scored words in the outputs of a split."""
    target, example, group, place = (output.numpy() for output in outputs[2:6])
    return ScoredWords(target, example, group, place)


def word_losses(logits: Tensor, y: Tensor) -> Tensor:
    """Cross entropy of each word ``[W]``; 0 for words without a known label."""
    return F.cross_entropy(logits, torch.where(y < 0, UNSCORED, y), ignore_index=UNSCORED, reduction="none")
