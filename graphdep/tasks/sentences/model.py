"""The task of sentences and its models."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import torch
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform

from graphdep.data.filler import without_fillers
from graphdep.data.node_table import NodeType
from graphdep.data.stored_batches import StoredBatches
from graphdep.datasets.base.rows import spread_rows
from graphdep.io.progress import say, with_progress
from graphdep.metrics.scores import ACCURACY, MSE, label_table
from graphdep.nn import models as M
from graphdep.nn.models.embedding import Pieces, text_of, texts_of
from graphdep.nn.models.transformer import FrozenEncoder, GraphTransformer
from graphdep.nn.static_batch import FlatBatch
from graphdep.parsing.parser import Parser
from graphdep.sentence.sentence import Sentence
from graphdep.tasks.sentences.settings import TREE_ENCODERS, Goal, SentenceConfig, Sentences
from graphdep.training.build import (
    BuildInputs,
    add_syntax,
    build_encoder,
    encoder_reads,
    grouped_optimizer,
    training_options,
)
from graphdep.training.family import BAG, FilePrediction, FileRequest, label_columns
from graphdep.training.floors import BagOfWords, frozen_vectors
from graphdep.training.learning_task import EncoderTask, MakeOptimizer, Outputs
from graphdep.training.splits import Splits
from graphdep.training.task import resolve_task
from graphdep.transforms.edge_set import CLS_ALL, ROOT
from graphdep.visualization.side import Answer
from graphdep.vocab.relations import RelationVocab
from graphdep.vocab.vocab import Vocab

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


_CLASSES: dict[str, Callable[..., M.TextEncoder]] = {
    "tree-lstm-ct": M.BinaryTreeLSTM,
    "rntn": M.RNTN,
    "bitree-lstm-ct": M.BiTreeLSTM,
    "dc-treelstm": M.DCTreeLSTM,
    "taghypertreelstm": M.TagHyperTreeLSTM,
    "use": M.UniversalEncoder,
    "tree-transformer-ct": M.ConstituencyTreeTransformer,
    "tree-transformer-dt": M.DependencyTreeTransformer,
}


def build_tree_encoder(config: Any, num_words: int, vectors: Tensor | None = None) -> M.TextEncoder:
    """A new encoder of the settings.

    Args:
        config: A :class:`SentenceConfig` with one of :data:`TREE_ENCODERS`.
        num_words: Size of the vocabulary.
        vectors: Initial word vectors, ``[num_words, dim]``. (default: :obj:`None`)
    """
    own = {name: getattr(config, name) for name in TREE_ENCODERS[config.encoder]}
    return _CLASSES[config.encoder](
        num_words, hidden_channels=config.hidden_channels, dropout=config.dropout, vectors=vectors, **own
    )


def build_model(
    config: SentenceConfig,
    num_words: int,
    num_relations: int,
    vectors: Tensor | None = None,
    *,
    num_classes: int,
) -> M.SentenceModel | M.SentencePairModel:
    """A new encoder with its head."""
    if config.encoder in TREE_ENCODERS:
        encoder = build_tree_encoder(config, num_words, vectors)
    else:
        encoder = build_encoder(config, num_words, num_relations, vectors)
    return with_head(config, encoder, num_classes)


def with_head(
    config: SentenceConfig, encoder: M.TextEncoder, num_classes: int
) -> M.SentenceModel | M.SentencePairModel:
    """The encoder with a head on text vectors: a classifier, or for pairs a comparison."""
    if config.num_texts == 1:
        head: nn.Module = M.ClassificationHead(encoder.hidden_channels, num_classes, config.dropout)
        return M.SentenceModel(encoder, head)
    head = M.RelatednessHead(encoder.hidden_channels, num_classes, config.head_channels)
    return M.SentencePairModel(encoder, head)


def build_pretrained_model(
    config: SentenceConfig, num_classes: int, num_relations: int, encoder: PretrainedEncoder
) -> M.SentenceModel:
    """A pretrained encoder with the syntax of the settings and a new classifier of [CLS]; if frozen, with the
    head of models trained from scratch.

    Args:
        config: The settings.
        num_classes: Size of the output.
        num_relations: Number of relation ids.
        encoder: The encoder, which is changed in place.
    """
    if config.frozen:
        return with_head(config, M.FrozenEncoder(encoder), num_classes)
    # Before the syntax, so that all models of a seed have the same classifier.
    head = M.ClassificationHead(encoder.hidden_channels, num_classes, config.dropout, std=0.02)
    add_syntax(config, num_relations, encoder)
    return M.SentenceModel(encoder, head)


LIMIT_TRAIN = 10_000
"""Largest number of training examples of a linear model, spread over the split; more hardly change it."""
_C = (1e-3, 1e-2, 1e-1, 1.0)
_ALPHA = (1e3, 1e2, 1e1, 1.0)
_SOME_SECONDS = 2000  # texts to which a bag of words is fitted


def probe_scores(
    goal: Goal, splits: Splits, names: Sequence[str], encoder: PretrainedEncoder
) -> dict[str, float]:
    """The scores of a linear model on the vectors of a frozen encoder.

    Args:
        goal: Predictions and metrics.
        splits: The data.
        names: Names of the splits: for training, for validation, and others. All but the first are scored.
        encoder: The encoder as loaded.
    """
    x, y = {}, {}
    for name in names:
        dataset = splits.in_memory(name)
        numbers: Sequence[int] = range(len(dataset))
        if name == names[0]:
            numbers = spread_rows(numbers, LIMIT_TRAIN)
        x[name] = features(frozen_vectors(encoder, (dataset[number] for number in numbers)))
        y[name] = goal.target(splits.targets(name)[[*numbers]].double()).numpy()
    if goal.classifies:
        y = {name: target.astype(np.int64) for name, target in y.items()}
    model = fit_probe(x, y, names[0], names[1], classifies=goal.classifies)
    found = {name: model.predict(x[name]) for name in names[1:]}
    return {
        f"{name}_{metric.name}": metric(prediction, y[name])
        for name, prediction in found.items()
        for metric in goal.metrics
    }


def features(vectors: Tensor) -> np.ndarray:
    r"""Features of a linear model: the vector :math:`\mathbf{u}` of a text, or
    :math:`|\mathbf{u} - \mathbf{v}|` and :math:`\mathbf{u} \odot \mathbf{v}` of a pair.

    Shapes:
        - vectors: :math:`(N, 1, C)` or :math:`(N, 2, C)`; output: :math:`(N, C)` or :math:`(N, 2C)`
    """
    if vectors.size(1) == 1:
        return vectors[:, 0].numpy()
    u, v = vectors.unbind(dim=1)
    return torch.cat([(u - v).abs(), u * v], dim=1).numpy()


def fit_probe(
    x: dict[str, np.ndarray], y: dict[str, np.ndarray], train: str, val: str, *, classifies: bool
) -> Any:
    """A logistic regression, or for numbers a ridge regression.

    Features are scaled to unit variance. The regularisation is chosen by accuracy or mean squared error on
    :obj:`val`, the strongest of equally good ones. With a single class, that class is always predicted.

    Args:
        x, y: Features ``[N, F]`` and targets ``[N]`` by split.
        train, val: Names of the splits.
        classifies: Whether targets are classes.
    """
    if classifies and len(np.unique(y[train])) < 2:
        return DummyClassifier(strategy="most_frequent").fit(x[train], y[train])
    metric = ACCURACY if classifies else MSE
    best, value = None, None
    strengths = _C if classifies else _ALPHA
    for strength in with_progress(strengths, "fitting a linear model to the frozen encoder"):
        own = LogisticRegression(C=strength, max_iter=2000) if classifies else Ridge(alpha=strength)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = make_pipeline(StandardScaler(), own).fit(x[train], y[train])
        score = metric(model.predict(x[val]), y[val])
        if metric.is_better(score, value):
            best, value = model, score
    return best


def bag_scores(goal: Goal, splits: Splits, split: str) -> dict[str, float]:
    """The scores of a bag of words on a split; the model is fitted once and kept in ``splits``.

    Args:
        goal: Predictions and metrics.
        splits: The data; at most :data:`LIMIT_TRAIN` training examples are used.
        split: Name of the split.
    """
    if (found := splits.kept.get((BAG, goal, split))) is not None:
        return dict(found)
    bag = splits.kept.get((BAG, goal))
    if bag is None:
        rows = spread_rows(range(len(splits["train"])), LIMIT_TRAIN)
        if len(rows) >= _SOME_SECONDS:
            say("fitting a bag of words")
        y = goal.target(splits.targets("train")[[*rows]].double()).numpy()
        y = y.astype(np.int64) if goal.classifies else y
        texts = _word_rows(splits, "train", rows)
        bag = splits.kept[BAG, goal] = BagOfWords(texts, y, classifies=goal.classifies)
    target = goal.target(splits.targets(split).double()).numpy()
    prediction = bag.predict(_word_rows(splits, split, range(len(target))))
    scores = {f"{split}_{metric.name}_{BAG}": metric(prediction, target) for metric in goal.metrics}
    splits.kept[BAG, goal, split] = scores
    return dict(scores)


def _word_rows(splits: Splits, split: str, rows: Sequence[int]) -> list[tuple[Pieces, ...]]:
    dataset = splits.in_memory(split)
    found: list[tuple[Pieces, ...]] = []
    stored = StoredBatches(dataset) if StoredBatches.serves(dataset) else None
    for start in range(0, len(rows), 512):
        part = rows[start : start + 512]
        batch = stored(part) if stored else Batch.from_data_list([dataset[number] for number in part])
        texts = iter(texts_of(batch))
        found += zip(*[texts] * int(text_of(batch)[1][0]))
    return found


logger = logging.getLogger("graphdep.training")


def _spec(config: SentenceConfig) -> Sentences:
    return cast(Sentences, config.spec)


class SentenceTask(EncoderTask):
    """Learns labels or grades of sentences or of pairs of sentences.

    Args:
        model: Gives logits: ``model(batch) -> [num_graphs, classes]``.
        edges: Transform that builds the edges of a batch, including the tree control.
        goal: Loss and metrics.
        optimizer: See :class:`LearningTask`.
        **options: See :class:`LearningTask`.

    Example:
        >>> from graphdep import Sentence, Vocab, to_data
        >>> from graphdep.nn.models import ClassificationHead, SentenceModel, WordAverage
        >>> from graphdep.tasks import SENTIMENT, SentenceTask
        >>> from graphdep.transforms import resolve
        >>> model = SentenceModel(WordAverage(7, hidden_channels=8), ClassificationHead(8, 2))
        >>> task = SentenceTask(model, edges=resolve("transformer"), goal=SENTIMENT)
        >>> task(to_data([Sentence.chain(["She", "sings"])], vocab=Vocab(["She", "sings"]))).shape
        torch.Size([1, 2])
    """

    def __init__(
        self,
        model: nn.Module,
        edges: BaseTransform,
        goal: Goal,
        optimizer: MakeOptimizer | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, edges, optimizer, **options)
        self.goal, self.metrics = goal, goal.metrics
        self._root_checked = not isinstance(getattr(model, "encoder", None), GraphTransformer)

    @classmethod
    def build(cls, config: SentenceConfig, parts: BuildInputs) -> Self:
        spec = _spec(config)
        classes = parts.num_classes or spec.num_classes
        if parts.pretrained is None:
            sizes = parts.num_words, parts.num_relations, parts.vectors
            model = build_model(config, *sizes, num_classes=classes)
        else:
            model = build_pretrained_model(config, classes, parts.num_relations, parts.pretrained)
        optimizer = grouped_optimizer(config, model)
        return cls(model, cls.make_edges(config), spec.goal, optimizer, **training_options(config))

    @classmethod
    def predictor(cls, task: str) -> str | None:
        classifies = cast(Sentences, resolve_task(task)).goal.classifies
        own = "SequenceClassifier" if classifies else "SentenceEncoder"
        return f"graphdep.tasks.sentences.predict.{own}"

    @classmethod
    def reads(cls, config: SentenceConfig) -> frozenset[str]:
        return encoder_reads(config) | {CLS_ALL if config.pretrained else ROOT}

    @classmethod
    def known_labels(cls, config: SentenceConfig) -> bool:
        return config.kind == "csv"

    @classmethod
    def floor_frozen(
        cls, config: SentenceConfig, splits: Splits, encoder: PretrainedEncoder
    ) -> dict[str, float]:
        return probe_scores(_spec(config).goal, splits, config.splits, encoder)

    def on_train_start(self) -> None:
        # Before training and in the order of the data: other batches would change the last digits, and the
        # result of a resumed run.
        encoder = getattr(self.model, "encoder", None)
        if isinstance(encoder, FrozenEncoder):
            given = self.trainer.train_dataloader, self.trainer.val_dataloaders
            loaders = [one for some in given for one in (some if isinstance(some, list) else [some])]
            encoder.remember(data for loader in loaders if loader is not None for data in loader.dataset)

    def on_before_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        batch = super().on_before_batch_transfer(batch, dataloader_idx)
        if not self._root_checked:
            self._root_checked = True
            if _reads_no_word(batch.on("cpu") if isinstance(batch, FlatBatch) else batch):
                logger.warning(
                    "no edge of the first batch goes from a word to ROOT, whose state is classified: the "
                    "model sees no word (edges: %r)",
                    self.edges,
                )
        return batch

    @property
    def counts_fillers(self) -> bool:
        # A frozen encoder would encode fillers, which it does not cache, in each step.
        return isinstance(getattr(self.model, "encoder", None), FrozenEncoder)

    def loss(self, batch: Batch) -> Tensor:
        if "node_y" not in batch:
            logits, y = (without_fillers(batch, rows) for rows in (self(batch), batch.y))
            return self.goal.loss(logits.float(), y)
        # With labels of nodes, the sum over all nodes of a sentence, as in the papers.
        logits, y = self.model.node_logits(batch)  # type: ignore[operator]
        return self.goal.loss(logits.float(), y) * (y.numel() / batch.y.numel())

    def outputs(self, batch: Batch) -> Outputs:
        """Logits and targets."""
        return self(batch), batch.y

    def score(self, outputs: Outputs, prefix: str) -> dict[str, float]:
        logits, y = outputs
        return self.goal.score(logits, y, prefix)

    def compared(self, outputs: Outputs) -> tuple[np.ndarray, np.ndarray]:
        logits, y = outputs
        return self.goal.compared(logits, y)

    def floor(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, float]:
        no_skill = self.goal.floor(splits.targets("train"), outputs[1], split)
        return no_skill | bag_scores(self.goal, splits, split)

    def tables(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, Any]:
        names = splits.labels() if self.goal.classifies else None
        if not names:
            return {}
        target, prediction = self.compared(outputs)
        rows = label_table(prediction + 1, target + 1)  # without a negative label, which is 0
        return {"labels": [{**row, "label": str(names[int(row["label"]) - 1])} for row in rows]}

    def readable(self, splits: Splits, split: str, outputs: Outputs) -> dict[str, list[str]]:
        columns = label_columns(*self.compared(outputs), splits.labels())
        texts = splits.in_memory(split).texts()
        if len(texts) != len(outputs[1]):  # a filter of one's own has left some out
            return columns
        names = ["text"] if len(texts[0]) == 1 else [f"text_{place + 1}" for place in range(len(texts[0]))]
        return columns | {name: list(column) for name, column in zip(names, zip(*texts))}

    def example(
        self,
        config: SentenceConfig,
        vocab: Vocab,
        relations: RelationVocab,
        texts: list[str],
        parser: Parser,
    ) -> tuple[Data, list[Sentence]]:
        if len(texts) != config.num_texts:
            what = {1: "one text", 2: "a pair of texts"}[config.num_texts]
            raise ValueError(f"'texts' must be {what}, as in training (got {len(texts)})")
        return super().example(config, vocab, relations, texts, parser)

    def answers(self, state: Any, batch: Data, trees: Sequence[Sentence]) -> list[Answer]:
        """The classes with their probabilities, or the number."""
        logits, task = self(batch).double().cpu(), state.config.task
        if not self.goal.classifies:
            return [Answer("number", task, (("the model gives", float(self.goal.predict(logits)[0])),))]
        labels = state.labels or range(logits.size(1))
        order = logits[0].argsort(descending=True, stable=True).tolist()
        shares = logits.softmax(dim=1)[0].tolist()
        rows = [(str(labels[number]), shares[number]) for number in order]
        return [Answer("classes", task, tuple(rows))]

    def predict_file(self, request: FileRequest) -> FilePrediction:
        from graphdep.tasks.sentences.predict import predict_rows

        return predict_rows(self, request)


def _reads_no_word(batch: Batch) -> bool:
    """Whether no edge goes from a word to ROOT."""
    if batch.edge_index is None:  # only implicit pairs, which are utterances
        return False
    source, target = batch.node_type[batch.edge_index] == NodeType.ROOT
    return not bool((target & ~source).any())
