"""Tasks, models and settings of sentences and pairs of sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from graphdep.datasets.base.rows import check_columns, check_suffix
from graphdep.io.limits import MAX_WORDS
from graphdep.metrics.metric import Metric
from graphdep.metrics.scores import (
    ACCURACY,
    ACCURACY_F1,
    F1,
    MACRO_F1,
    MCC,
    MSE,
    MSE_OF_NUMBERS,
    PEARSON,
    PEARSON_SPEARMAN,
    SPEARMAN,
)
from graphdep.training.config import ModelPreset, TrainConfig
from graphdep.training.encoder_config import (
    HEADED,
    OF_WORDS,
    PRETRAINED_MODELS,
    SCRATCH_ENCODERS,
    EncoderConfig,
)
from graphdep.training.family import Published
from graphdep.training.own_config import OF_TREES, OwnTableConfig
from graphdep.training.settings import setting
from graphdep.training.task import DEFAULT_TASK, Task

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


# Only functions import PyTorch: tasks are described without it.


@dataclass(frozen=True)
class Goal:
    """A loss with its prediction and metrics.

    Args:
        loss: Mean loss, a function of logits ``[B, classes]`` and targets ``y``; for regression the single
            logit is the number.
        predict: Predictions ``[B]``, a function of logits ``[B, classes]``.
        target: Targets ``[B]`` of the metrics, a function of targets ``y``.
        metrics: The metrics; the first selects the best epoch.

    Example:
        >>> import torch
        >>> from graphdep.tasks import PARAPHRASE
        >>> logits = torch.tensor([[2.0, 0.0], [0.0, 2.0], [0.0, 1.0], [1.0, 0.0]])
        >>> scores = PARAPHRASE.score(logits, torch.tensor([0, 1, 0, 0]), prefix="test")
        >>> {name: round(value, 3) for name, value in scores.items()}
        {'test_loss': 0.47, 'test_accuracy': 0.75, 'test_f1': 0.667}
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    predict: Callable[[Tensor], Tensor]
    target: Callable[[Tensor], Tensor]
    metrics: tuple[Metric, ...]

    @property
    def classifies(self) -> bool:
        """Whether targets are classes."""
        from torch.nn import functional as F

        return self.loss in (cross_entropy, F.cross_entropy)

    def score(self, logits: Tensor, y: Tensor, prefix: str) -> dict[str, float]:
        """Loss and metrics of a whole split, in float64: ``<prefix>_loss`` and ``<prefix>_<metric>``."""
        logits, y = _precise(logits), _precise(y)
        target, prediction = self.compared(logits, y)
        scores = {f"{prefix}_{metric.name}": metric(prediction, target) for metric in self.metrics}
        return {f"{prefix}_loss": float(self.loss(logits, y)), **scores}

    def compared(self, logits: Tensor, y: Tensor) -> tuple[np.ndarray, np.ndarray]:
        """Targets and predictions ``[N]`` of the metrics, labels or float64."""
        return self.target(_precise(y)).numpy(), self.predict(_precise(logits)).numpy()

    def floor(self, train_y: Tensor, y: Tensor, prefix: str) -> dict[str, float]:
        """The floor of each metric, by the targets of the training split."""
        train, target = self.target(train_y).double().numpy(), self.target(y).double().numpy()
        floors = ((metric.name, metric.floor) for metric in self.metrics)
        return {f"{prefix}_{name}": floor(train, target) for name, floor in floors if floor is not None}


def _precise(x: Tensor) -> Tensor:
    return x.double() if x.is_floating_point() else x


def cross_entropy(logits: Tensor, y: Tensor) -> Tensor:
    """Mean cross entropy of the classes.

    Shapes:
        - logits: :math:`(B, C)`; y: :math:`(B)`
    """
    from torch.nn import functional as F

    return F.cross_entropy(logits, y)


def kl_divergence(logits: Tensor, y: Tensor) -> Tensor:
    r"""Kullback-Leibler divergence of the sparse target distribution from the prediction, from "Improved
    Semantic Representations From Tree-Structured Long Short-Term Memory Networks" (section 4.2).

    .. math::
        J = \frac{1}{m} \sum_{k=1}^{m} \mathrm{KL} \big( p^{(k)} \,\Vert\, \hat{p}^{(k)} \big)

    Shapes:
        - logits, y: :math:`(B, C)`, y sums to 1
    """
    from torch.nn import functional as F

    return F.kl_div(logits.log_softmax(dim=-1), y, reduction="batchmean")


def expected_grade(distribution: Tensor) -> Tensor:
    """Mean of a distribution over the grades 1, 2, ...: ``[B, C] -> [B]``."""
    import torch

    grades = torch.arange(1, distribution.size(-1) + 1, dtype=distribution.dtype, device=distribution.device)
    return distribution @ grades


def squared_error(output: Tensor, y: Tensor) -> Tensor:
    """Mean squared error of a regression with one output.

    Shapes:
        - output: :math:`(B, 1)`; y: :math:`(B)`
    """
    from torch.nn import functional as F

    return F.mse_loss(output.squeeze(-1), y)


RELATEDNESS = Goal(
    loss=kl_divergence,
    predict=lambda logits: expected_grade(logits.softmax(dim=-1)),
    target=expected_grade,
    metrics=(MSE, PEARSON, SPEARMAN),
)
ENTAILMENT = Goal(
    loss=cross_entropy,
    predict=lambda logits: logits.argmax(dim=-1),
    target=lambda y: y,
    metrics=(ACCURACY,),
)
SENTIMENT = ENTAILMENT
PARAPHRASE = replace(ENTAILMENT, metrics=(ACCURACY, F1))
# GLUE's tasks; the first metric is that of BERT's tables.
ACCEPTABILITY = replace(ENTAILMENT, metrics=(MCC, ACCURACY))
DUPLICATE = replace(ENTAILMENT, metrics=(F1, ACCURACY, ACCURACY_F1))
SIMILARITY = Goal(
    loss=squared_error,
    predict=lambda output: output.squeeze(-1),
    target=lambda y: y,
    metrics=(SPEARMAN, PEARSON, PEARSON_SPEARMAN),
)
# The user's texts.
CLASSES = replace(ENTAILMENT, metrics=(ACCURACY, MACRO_F1))
NUMBERS = replace(SIMILARITY, metrics=(MSE_OF_NUMBERS, PEARSON, SPEARMAN))


@dataclass(frozen=True)
class Sentences(Task):
    """Labels or grades of sentences or of pairs of sentences.

    Args:
        goal: Loss and metrics.
        num_classes: Size of the model's output.
        sentences: Number of sentences in an example, 1 or 2. (default: :obj:`2`)
        **others: See :class:`Task`.

    Example:
        >>> from graphdep.datasets import SICK
        >>> from graphdep.tasks import ENTAILMENT, Sentences
        >>> task = Sentences("SICK-E", SICK, "datasets/sick", goal=ENTAILMENT, num_classes=3)
        >>> [metric.name for metric in task.metrics]
        ['accuracy']
    """

    goal: Goal = field(kw_only=True)
    num_classes: int = field(kw_only=True)
    sentences: int = field(default=2, kw_only=True)

    kind: ClassVar[str] = "sentence"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return self.goal.metrics

    @property
    def signatures(self) -> dict[str, str]:
        regression = "logistic regression" if self.goal.classifies else "ridge regression"
        bag = f"; bag of words: {regression} on TF-IDF of words or pieces (scikit-learn)"
        return {name: text + bag for name, text in super().signatures.items()}


@dataclass(frozen=True)
class OwnTexts(Sentences):
    """Labels or numbers of the user's texts or pairs of texts. The settings decide the number of texts in an
    example, the data the number of classes.

    Args:
        num_classes: Size of the model's output; 0 for the number of classes in the data. (default: :obj:`0`)
        **others: See :class:`Sentences`.

    Example:
        >>> from graphdep.datasets import CSVTexts
        >>> from graphdep.tasks import CLASSES, OwnTexts
        >>> task = OwnTexts("Reviews", CSVTexts, "datasets/csv", {"goal": "classification"}, goal=CLASSES)
        >>> [metric.name for metric in task.metrics]
        ['accuracy', 'macro_f1']
    """

    num_classes: int = field(default=0, kw_only=True)

    kind: ClassVar[str] = "csv"


_SICK, _SST, _MRPC = "datasets/sick", "datasets/sst", "datasets/mrpc"


def _glue(
    name: str,
    title: str,
    goal: Goal,
    num_classes: int = 2,
    sentences: int = 2,
    other_tests: tuple[str, ...] = (),
) -> Sentences:
    return Sentences(
        title,
        "graphdep.datasets:GLUE",
        "datasets/glue",
        {"name": name},
        goal=goal,
        num_classes=num_classes,
        sentences=sentences,
        other_tests=other_tests,
    )


TASKS: dict[str, Task] = {
    "sick-r": Sentences(
        "SICK-R", "graphdep.datasets:SICK", _SICK, {"task": "relatedness"}, goal=RELATEDNESS, num_classes=5
    ),
    "sick-e": Sentences(
        "SICK-E", "graphdep.datasets:SICK", _SICK, {"task": "entailment"}, goal=ENTAILMENT, num_classes=3
    ),
    "sst": Sentences(
        "SST-2, sentences",
        "graphdep.datasets:SST",
        _SST,
        {"layout": "sentence"},
        goal=SENTIMENT,
        num_classes=2,
        sentences=1,
    ),
    "sst2": Sentences(
        "SST-2 of GLUE",
        "graphdep.datasets:SST",
        _SST,
        {"layout": "glue"},
        goal=SENTIMENT,
        num_classes=2,
        sentences=1,
    ),
    "sst-trees": Sentences(
        "SST-2, treebank",
        "graphdep.datasets:SST",
        _SST,
        {"layout": "trees"},
        goal=SENTIMENT,
        num_classes=2,
        sentences=1,
    ),
    "mrpc": Sentences("MRPC", "graphdep.datasets:MRPC", _MRPC, goal=PARAPHRASE, num_classes=2),
    "cola": _glue("cola", "CoLA", ACCEPTABILITY, sentences=1),
    "stsb": _glue("stsb", "STS-B", SIMILARITY, num_classes=1),
    "rte": _glue("rte", "RTE", ENTAILMENT),
    "qnli": _glue("qnli", "QNLI", ENTAILMENT),
    "qqp": _glue("qqp", "QQP", DUPLICATE),
    "mnli": _glue("mnli", "MNLI", ENTAILMENT, num_classes=3, other_tests=("test-mismatched",)),
    # A part of GLUE's training set for validation, its dev set for testing.
    "glue-sst2": _glue("sst2", "SST-2, GLUE's splits", SENTIMENT, sentences=1),
    "glue-mrpc": _glue("mrpc", "MRPC, GLUE's splits", DUPLICATE),
    "csv": OwnTexts(
        "Own texts", "graphdep.datasets:CSVTexts", "datasets/csv", {"goal": "classification"}, goal=CLASSES
    ),
    "csv-regression": OwnTexts(
        "Own texts, numbers",
        "graphdep.datasets:CSVTexts",
        "datasets/csv",
        {"goal": "regression"},
        goal=NUMBERS,
        num_classes=1,
    ),
}
COLUMNS: dict[str, tuple[str, ...]] = {
    "sick-r": ("test_mse", "test_pearson", "test_spearman"),
    "sick-e": ("test_accuracy", "val_accuracy"),
    "sst": ("test_accuracy", "val_accuracy"),
    "sst2": ("test_accuracy", "val_accuracy"),
    "sst-trees": ("test_accuracy", "val_accuracy"),
    "mrpc": ("test_accuracy", "test_f1", "val_accuracy"),
}
"""The scores in tables, the paper's first."""


_OF_BRANCHES = ("heads", "ff_channels", "form", "position_codes")
CONSTITUENT_ENCODERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "tree-lstm-ct": ("leaf", "binarized"),
        "rntn": ("leaf", "binarized"),
        "bitree-lstm-ct": ("binarized",),
        "tree-transformer-ct": _OF_BRANCHES,
        "dc-treelstm": ("cell", "meta_channels", "binarized"),
        "taghypertreelstm": ("cell", "meta_channels", "binarized"),
    }
)
"""Encoders over constituents, and the settings below that each reads."""
TREE_ENCODERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **CONSTITUENT_ENCODERS,
        "tree-transformer-dt": _OF_BRANCHES,
        "use": ("variant", "num_layers", "heads", "ff_channels"),
    }
)
"""The same, and encoders over words and dependency trees with such settings."""
TAG_ENCODERS = ("taghypertreelstm",)
"""Encoders that read the tags of words."""
_OF_ENCODERS = ("leaf", "binarized", "form", "position_codes", "cell", "meta_channels", "variant")
TREE_HEADED = ("tree-transformer-ct", "tree-transformer-dt", "use")
"""Tree encoders with attention heads."""
LABELLED = "SST of the layouts 'sentence' or 'trees'"


def _plain(summary: str, **overrides: object) -> ModelPreset:
    return ModelPreset(
        summary,
        edges="transformer-utterance",
        overrides={"relation_attention": False, "level_embedding": False, **overrides},
    )


def _dt(summary: str, **overrides: object) -> ModelPreset:
    return ModelPreset(summary, overrides=overrides)


def _baseline(summary: str, encoder: str, **overrides: object) -> ModelPreset:
    shared = {"encoder": encoder, "relation_attention": False, "level_embedding": False}
    return ModelPreset(summary, edges=None, overrides={**shared, **overrides})


_LR: dict[str, object] = {"gate": None, "level_embedding": False}

MODELS: dict[str, ModelPreset] = {
    # Table 3 of the paper
    "transformer": _plain("no syntax: all words of a sentence attend to each other"),
    "dt-lr": _dt("DT without gate and level embedding", **_LR),
    "dt-rg": _dt("DT without level embedding", level_embedding=False),
    "dt": _dt("Dependency-Transformer, complete"),
    # what the paper leaves open
    "dt-tanh": _dt(
        "DT with tanh instead of the sigmoid, as in the text; initially nearly closed", gate="tanh"
    ),
    "dt-key": _dt(
        "DT with the gate of the key word's state, as in one sentence of the text", gate_state="key"
    ),
    "dt-text": _dt(
        "DT with tanh and the key word's state: one reading of the text", gate="tanh", gate_state="key"
    ),
    "dt-untyped": _dt("DT as in Eq. 2-3: the gate also acts on pairs without a relation", untyped="gate"),
    "dt-torch": _dt("DT with PyTorch's default initialization of relations, which is wider", start="torch"),
    "dt-infill0": _dt(
        "DT with only the relation of a word to itself: of the tree it knows the depth", max_distance=0
    ),
    "dt-infill1": _dt("DT without infilling: only arcs", max_distance=1),
    "dt-infill3": _dt("DT with paths of up to 3 arcs", max_distance=3),
    "dt-infill4": _dt("DT with paths of up to 4 arcs", max_distance=4),
    "dt-undirected": _dt(
        "DT with the same relation for governor and dependent; levels still differ", directions=False
    ),
    "dt-nopos": _dt("DT without position embedding", position_embedding=False),
    "dt-related": ModelPreset("DT with attention to related pairs only", edges="dt-related"),
    "transformer-nopos": _plain("no syntax and no positions: a bag of words", position_embedding=False),
    "transformer-level": _plain("the Transformer with level embedding", level_embedding=True),
    "transformer-wide": _plain(
        "the Transformer with a wider feed-forward layer: as many parameters as DT with 300 channels",
        ff_channels=424,
    ),
    # baselines; 1e-3, the paper's learning rate for DT, is too small for recurrent ones with AdaGrad
    "word-average": _baseline("mean of the word vectors, learning rate 0.01", "word-average", lr=0.01),
    "lstm": _baseline("LSTM over the words, learning rate 0.01", "lstm", lr=0.01),
    "bilstm": _baseline("LSTM over the words in both directions, learning rate 0.01", "bilstm", lr=0.01),
    "tree-lstm": _baseline(
        "child-sum Tree-LSTM over the dependency tree, learning rate 0.01", "tree-lstm", lr=0.01
    ),
    "bitree-lstm": _baseline(
        "Tree-LSTM up and down the dependency tree, learning rate 0.01", "bitree-lstm", lr=0.01
    ),
    "tree-transformer": _baseline(
        "simplified Tree-Transformer over the dependency tree: no branches, no position codes",
        "tree-transformer",
    ),
    "dt-rnn": _baseline(
        "DT-RNN over the dependency tree: a matrix per position of a dependent, learning rate 0.01",
        "dt-rnn",
        lr=0.01,
    ),
    # over constituents
    "tree-lstm-ct": _baseline(
        "N-ary Tree-LSTM over binarised constituents, learning rate 0.01", "tree-lstm-ct", lr=0.01
    ),
    "rntn": _baseline(
        "RNTN over binarised constituents, 30 channels, learning rate 0.01; with node_labels=true over the "
        "treebank's trees",
        "rntn",
        hidden_channels=30,
        lr=0.01,
    ),
    "bitree-lstm-ct": _baseline(
        "head-lexicalised Tree-LSTM up and down binarised constituents, 150 channels, learning rate 0.01",
        "bitree-lstm-ct",
        hidden_channels=150,
        lr=0.01,
    ),
    "tree-transformer-ct": _baseline(
        "Tree-Transformer with branches over constituents with any number of children", "tree-transformer-ct"
    ),
    "tree-transformer-dt": _baseline(
        "Tree-Transformer with branches over the dependency tree", "tree-transformer-dt"
    ),
    "dc-treelstm": _baseline(
        "DC-TreeLSTM: a second Tree-LSTM generates the composition of each node, learning rate 0.01",
        "dc-treelstm",
        lr=0.01,
    ),
    "taghypertreelstm": _baseline(
        "TagHyperTreeLSTM: tags of words and constituents generate the composition, learning rate 0.01",
        "taghypertreelstm",
        lr=0.01,
    ),
    "use": _baseline(
        "Universal Sentence Encoder, a Transformer with summed states, trained from scratch",
        "use",
    ),
    # in a pretrained encoder
    **PRETRAINED_MODELS,
    # instead of the USE features in the paper's Table 1
    "bert-frozen": ModelPreset(
        "the frozen pretrained encoder: means of its last layer over the pieces of each text, with the head "
        "of models trained from scratch, learning rate 0.01",
        edges="transformer",
        overrides={
            "encoder": "bert-base-uncased",
            "relation_attention": False,
            "level_embedding": False,
            "frozen": True,
            "lr": 0.01,
        },
    ),
}


_DT = "Integrating Dependency Tree into Self-attention for Sentence Representation"
_TASKS = ("sick-r", "sick-e", "sst", "mrpc")
_METRICS = ("mse", "accuracy", "accuracy", "accuracy")
_SICK_SIZES = {"train": 4500, "val": 500, "test": 4927}
_SIZES = (
    _SICK_SIZES,
    _SICK_SIZES,
    {"train": 6920, "val": 872, "test": 1821},
    {"train": 3668, "val": 408, "test": 1725},  # the paper does not say how it chose the epoch
)
# One column per task, in the order of _TASKS.
_ROWS: dict[str, tuple[float, ...]] = {
    # Table 3
    "transformer": (0.2833, 0.8334, 0.8719, 0.7241),
    "dt-lr": (0.2545, 0.8476, 0.8821, 0.7301),
    "dt-rg": (0.2526, 0.8493, 0.8853, 0.7311),
    "dt": (0.2428, 0.8513, 0.8877, 0.7358),
    # Table 1
    "lstm": (0.2831, 0.7680, 0.8490, 0.7170),
    "bilstm": (0.2736, 0.8211, 0.8750, 0.7270),
    "tree-lstm": (0.2734, 0.8200, 0.8570, 0.7207),
    "dt-rnn": (0.3848, 0.6338, 0.8660, 0.6751),
}
# Rows of the same table with missing figures.
_SOME: dict[str, tuple[float | None, ...]] = {
    "rntn": (None, 0.5942, 0.8540, 0.6691),
    "bitree-lstm-ct": (0.2736, None, 0.9030, None),
    "dc-treelstm": (None, 0.8230, 0.8780, None),
    "taghypertreelstm": (None, 0.8390, 0.9120, None),
    "tree-transformer-ct": (0.3012, 0.8272, 0.8666, 0.7173),
    "tree-transformer-dt": (0.2774, 0.8295, 0.8312, 0.7034),
    "tree-lstm-ct": (0.2532, 0.8311, 0.8800, 0.7007),
}
_OTHERS: dict[str, tuple[float | None, ...]] = {
    "USE, its weights": (None, 0.8115, 0.8538, 0.7496),  # ours has only its architecture
    "DT in Table 1": (0.2428, 0.8510, 0.8870, 0.7358),
}
_NOTES = {
    "sick-r": "the paper of Tree-LSTM has .2532 for dependency and .2734 for constituency trees, not the "
    "other way round, and, as far as we know, .3848 for SDT-RNN and .2736 for BiLSTM",
    "sst": "the paper trains on labels of all nodes (here node_labels=true), ours on those of sentences",
}


def _column(rows: Mapping[str, tuple[float | None, ...]], place: int) -> dict[str, tuple[float]]:
    return {name: (value,) for name, values in rows.items() if (value := values[place]) is not None}


def _of_sentences(task: str) -> Published:
    place = _TASKS.index(task)
    return Published(
        f'"{_DT}", Table 3 (means over five runs); baselines and others: its Table 1',
        (f"test_{_METRICS[place]}",),
        _column({**_ROWS, **_SOME}, place),
        _SIZES[place],
        _column(_OTHERS, place),
        _NOTES.get(task, ""),
    )


# As in the paper: training on the labels of all nodes, or on all phrases as separate examples.
_ON_SST = _of_sentences("sst")
_SST_NODES = replace(_ON_SST, note="", settings={"node_labels": True})
_SST_PHRASES = replace(
    _ON_SST, note="", settings={"phrases": True}, examples={"train": 98794, "val": 872, "test": 1821}
)


_DAM = "Augmenting Transformers with Enhanced Dependency Structures by Treating Relations as New Words"
# By task: the score in BERT's tables, and numbers of training and development examples.
_DAM_TASKS: dict[str, tuple[str, int, int]] = {
    "cola": ("mcc", 8551, 1043),
    "stsb": ("spearman", 5749, 1500),
    "glue-mrpc": ("f1", 3668, 408),
    "rte": ("accuracy", 2490, 277),
    "glue-sst2": ("accuracy", 67349, 872),
    "qnli": ("accuracy", 104743, 5463),
    "qqp": ("f1", 363846, 40430),
    "mnli": ("accuracy", 392702, 9815),
}
_DAM_TABLE_2: dict[str, tuple[float, ...]] = {
    "bert": (0.521, 0.858, 0.889, 0.664, 0.935, 0.905, 0.712, 0.846, 0.834),
    "bert-dam": (0.529, 0.854, 0.872, 0.688, 0.932, 0.909, 0.716, 0.848, 0.835),
}
_DAM_TABLE_3 = {
    "cola": {"bert": 0.5814, "bert-dt": 0.5827, "bert-g2g": 0.2200, "bert-dam": 0.5844},
    "glue-sst2": {"bert": 0.9232, "bert-dt": 0.9254, "bert-g2g": 0.9094, "bert-dam": 0.9289},
}


def _of_glue(task: str) -> Iterator[Published]:
    metric, train, dev = _DAM_TASKS[task]
    place = [*_DAM_TASKS].index(task)
    scores = (f"test_{metric}", *(f"{split}_{metric}" for split in TASKS[task].other_tests))
    yield Published(
        f'"{_DAM}", Table 2 (test set, by GLUE\'s server)',
        scores,
        {name: row[place : place + len(scores)] for name, row in _DAM_TABLE_2.items()},
        {"train": train, "val": dev},
        note="its BERT is the base model; F1 of MRPC and QQP and Spearman of STS-B as in BERT's tables",
        settings={"val_from": "dev"},
    )
    of_dev = {name: (value,) for name, value in _DAM_TABLE_3.get(task, {}).items()}
    if of_dev:
        source, note = f'"{_DAM}", Table 3', "its BERT is the base model; presumably its figures are on the "
        note += "development set, on which its models were chosen"
        yield Published(
            source,
            (f"val_{metric}",),
            of_dev,
            {"train": train, "val": dev},
            note=note,
            settings={"val_from": "dev"},
        )
        sizes = {"train": train - train // 10, "val": train // 10, "test": dev}
        note += "; here that set is used only for testing, and a tenth of train for validation"
        yield Published(source, (f"test_{metric}",), of_dev, sizes, note=note)


PAPER: dict[str, tuple[Published, ...]] = {
    **{task: (_of_sentences(task),) for task in ("sick-r", "sick-e", "mrpc")},
    "sst": (_ON_SST, _SST_NODES),
    "sst-trees": (_ON_SST, _SST_NODES, _SST_PHRASES),
    **{task: (*_of_glue(task),) for task in _DAM_TASKS},
}


# Settings without effect on a frozen encoder, and their only allowed values.
_WHEN_FROZEN: dict[str, object] = {
    "edges": "transformer",
    "relation_attention": False,
    "word_order": "text",
    "freeze_layers": 0,
    "layer_decay": 1.0,
}


class SentenceConfig(EncoderConfig, kind="sentence"):
    """Settings of a run on sentences. The defaults are those of "Integrating Dependency Tree into
    Self-attention for Sentence Representation", if given. ``graphdep settings --task sick-e`` lists them.

    Args:
        **settings: The settings of :class:`~graphdep.training.encoder_config.EncoderConfig`, of sentence
            tasks, and of baseline encoders (:func:`~graphdep.tasks.sentences.model.build_tree_encoder`).

    Raises:
        ValueError: If a value has the wrong type or is out of range; the message names key and value.
    """

    task: str = DEFAULT_TASK
    model: str = "dt"
    encoder: str = setting(
        "transformer",
        "Encoder: transformer, lisa, gate or g2g over the edges; word-average, lstm, bilstm or use over "
        "words; tree-lstm, bitree-lstm, tree-transformer, dt-rnn or tree-transformer-dt over the dependency "
        "tree; tree-lstm-ct, rntn and others over constituents; for models whose names begin with bert, a "
        "pretrained encoder: a folder or a name on the Hugging Face hub.",
    )
    edges: str | None = "dt"
    max_distance: int = setting(2, "Longest tree path that has a relation: the infilling threshold.")
    min_freq: int = 1
    max_epochs: int = 30
    patience: int | None = 6
    batch_size: int = 32
    optimizer: str = "adagrad"
    lr: float = 1e-3
    weight_decay: float = 0.0
    hidden_channels: int = 300
    num_layers: int = setting(3, "Layers of a Transformer that is trained from scratch; LSTMs have one.")
    heads: int = 6
    ff_channels: int = 300
    dropout: float = 0.0
    head_channels: int = setting(50, "Hidden size of the relatedness head of pairs.")
    val_from: str | None = setting(
        None,
        "Splits of GLUE: train validates on a tenth of the training file and tests on the development file; "
        "dev trains on the whole training file and validates on the development file, without test, for "
        "graphdep submit; none for the default of the corpus.",
        choices=(None, "train", "dev"),
    )
    frozen: bool = setting(
        False,
        "Freeze the pretrained encoder; the head of models trained from scratch reads the mean over the "
        "pieces of each text.",
        defines=True,
    )
    phrases: bool = setting(
        False,
        "sst-trees: train on all phrases of the training trees that are not neutral, as in DT's paper.",
    )
    # baseline encoders
    binarized: str = setting(
        "left",
        "Encoders over binary constituents: binarise larger constituents from the left or from the head.",
        choices=("left", "head"),
        defines=True,
    )
    leaf: str = setting(
        "paper",
        "Encoders tree-lstm-ct and rntn: leaves as in the paper or as in its code.",
        choices=("paper", "code"),
        defines=True,
    )
    form: str = setting(
        "paper",
        "Encoders tree-transformer-dt and tree-transformer-ct: blocks as in the paper or as in its code.",
        choices=("paper", "code"),
        defines=True,
    )
    position_codes: bool = setting(
        False,
        "Encoders tree-transformer-dt and tree-transformer-ct: encode the positions of children.",
        defines=True,
    )
    cell: str = setting(
        "lstm",
        "Encoders dc-treelstm and taghypertreelstm: kind of both networks, LSTM or recursive RNN.",
        choices=("lstm", "rnn"),
        defines=True,
    )
    meta_channels: int = setting(
        50,
        "Encoders dc-treelstm and taghypertreelstm: size of the network that generates the composition.",
        defines=True,
    )
    variant: str = setting(
        "transformer",
        "Encoder use: one of the two encoders of its paper.",
        choices=("transformer", "dan"),
        defines=True,
    )
    node_labels: bool = setting(
        False,
        "sst and sst-trees: train on the labels of all nodes, for encoders over constituents those of the "
        "treebank's trees, over dependencies those of the phrases that subtrees of words span.",
    )

    models: ClassVar[Mapping[str, ModelPreset]] = MODELS
    encoders: ClassVar[Mapping[str, bool]] = {**SCRATCH_ENCODERS, **dict.fromkeys(TREE_ENCODERS, False)}
    of_words: ClassVar[tuple[str, ...]] = (*OF_WORDS, "use")
    headed: ClassVar[tuple[str, ...]] = (*HEADED, *TREE_HEADED)

    def check(self) -> None:
        if self.trees == "gold" and self.over_constituents:
            raise ValueError(
                f"'trees' are dependency trees; for a treebank's constituents use node_labels=true with "
                f"{LABELLED} (got {self.trees!r}, encoder={self.encoder!r})"
            )
        super().check()
        self._check_frozen()
        self.check_option("val_from", "val_from")
        layout = self.spec.options.get("layout")
        readers = [encoder for encoder in self.encoders if encoder not in self.of_words]
        if self.phrases and layout != "trees":
            raise ValueError(f"'phrases' is for task 'sst-trees', not for {self.task!r} (got True)")
        self.check_read(("node_labels",), LABELLED, layout in ("sentence", "trees"))
        self.check_read(("node_labels",), f"encoders {', '.join(readers)}", self.encoder in readers)
        if self.node_labels:
            self._check_node_labels()

    def _check_node_labels(self) -> None:
        if self.phrases:
            raise ValueError("'phrases' and 'node_labels' cannot both be True: they train on the same labels")
        if self.over_constituents and self.trees != "parser":
            raise ValueError(f"'node_labels' are those of the treebank's trees (got trees={self.trees!r})")

    def _check_frozen(self) -> None:
        self.check_read(("frozen",), "a pretrained encoder", self.pretrained)
        for name, only in _WHEN_FROZEN.items():
            if self.frozen and getattr(self, name) != only:
                raise ValueError(
                    f"{name!r} must be {only!r} for a frozen encoder (got {getattr(self, name)!r})"
                )

    def _readers(self) -> Iterator[tuple[tuple[str, ...], str, bool]]:
        yield from super()._readers()
        for name in _OF_ENCODERS:
            readers = [encoder for encoder, read in TREE_ENCODERS.items() if name in read]
            yield (name,), f"encoders {', '.join(readers)}", self.encoder in readers

    @property
    def over_constituents(self) -> bool:
        """Whether the encoder reads constituents."""
        return self.encoder in CONSTITUENT_ENCODERS

    @property
    def reads_constituents(self) -> bool:
        return self.over_constituents or super().reads_constituents

    @property
    def phrases_read(self) -> bool | str:
        return "tagged" if self.encoder in TAG_ENCODERS else super().phrases_read

    @property
    def num_texts(self) -> int:
        """Number of texts in an example, 1 or 2."""
        task = self.spec
        assert isinstance(task, Sentences)
        return task.sentences

    @property
    def splits(self) -> tuple[str, ...]:
        # GLUE's test set has no labels.
        return ("train", "val") if self.val_from == "dev" else super().splits

    def dataset_options(self, split: str) -> dict[str, Any]:
        own: dict[str, Any] = {} if self.val_from is None else {"val_from": self.val_from}
        own |= {"phrases": True} if self.phrases else {}
        own |= {"layout": "trees", "trees": True} if self.node_labels else {}
        return super().dataset_options(split) | own

    @property
    def about_data(self) -> str:
        if self.node_labels:
            return "with labels of all nodes"
        return "with phrases" if self.phrases else super().about_data


class CSVConfig(SentenceConfig, OwnTableConfig, kind="csv"):
    """Settings of a run on the user's texts or pairs of texts (:class:`graphdep.datasets.CSVTexts`).

    Args:
        **settings: The settings of :class:`SentenceConfig` except ``raw_from``, and of the files.

    Raises:
        ValueError: If a setting is missing or invalid; the message names it.
    """

    task: str = "csv"
    max_words: int = setting(
        MAX_WORDS, "Longest text in words; longer ones are an error, or cut with truncate.", free=True
    )
    truncate: bool = setting(False, "Cut longer texts after max_words.", free=True)

    def check(self) -> None:
        super().check()
        for name in ("text_columns", "label_column"):
            if getattr(self, name) is None:
                option = name.replace("_", "-")
                raise ValueError(f"task {self.task!r} needs {name!r} (--{option})")

    @property
    def columns(self) -> list[str]:
        """The names of the columns of texts."""
        assert self.text_columns is not None
        return [name.strip() for name in self.text_columns.split(",")]

    @property
    def num_texts(self) -> int:
        return len(self.columns)

    def check_sources(self) -> None:
        super().check_sources()
        assert self.label_column is not None
        for name, path in self.own_files().items():
            check_suffix(name, path)
            check_columns(path, [*self.columns, self.label_column])

    def for_evaluation(self, settings: Mapping[str, Any]) -> TrainConfig:
        config = super().for_evaluation(settings)
        assert isinstance(config, CSVConfig)
        if config.num_texts != self.num_texts:
            raise ValueError(
                f"'text_columns' must name as many columns as in training, {self.num_texts} (got "
                f"{config.text_columns!r})"
            )
        return config

    def dataset_options(self, split: str) -> dict[str, Any]:
        own = ("train", "val", "test", "label_column", "val_fraction", "max_words", "truncate", *OF_TREES)
        return {
            **super().dataset_options(split),
            **{name: getattr(self, name) for name in own},
            "text_columns": self.columns,
            "seed": self.val_seed,
        }
