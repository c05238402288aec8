"""Floors: scores of counting, bags of words and frozen encoders."""

from __future__ import annotations

import csv
import io
import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphdep.data.node_table import NodeType
from graphdep.datasets.base.rows import OBJECTS
from graphdep.io.limits import check_choice
from graphdep.io.progress import with_progress
from graphdep.metrics.metric import Metric
from graphdep.metrics.scores import NOTHING
from graphdep.nn.models.embedding import Pieces, texts_of
from graphdep.nn.models.transformer import read_texts
from graphdep.training.family import LOOKUP
from graphdep.training.task import family_of, resolve_task

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


Scores = Callable[[np.ndarray], dict[str, float]]


def look_up(keys: np.ndarray, labels: np.ndarray, asked: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """The most frequent label of each key, the smallest of equally frequent ones.

    Shapes:
        - keys, labels: :math:`(N)`, the training data
        - asked, otherwise: :math:`(M)`, the keys to look up and the labels of unknown keys; output
          :math:`(M)`
    """
    (key, label), count = np.unique(np.stack([keys, labels]), axis=1, return_counts=True)
    order = np.lexsort((label, -count, key))
    known, first = np.unique(key[order], return_index=True)
    best = label[order][first]
    place = np.searchsorted(known, asked).clip(max=len(known) - 1)
    return np.where(known[place] == asked, best[place], otherwise)


def count_floors(
    keys: np.ndarray, labels: np.ndarray, asked: np.ndarray, lost: np.ndarray, score: Scores
) -> dict[str, float]:
    """Scores of two predictions by counting: the most frequent label of training, and the look-up of the most
    frequent label of each key, or else the most frequent of all; the latter with the suffix ``_lookup``.

    Args:
        keys, labels: The training data ``[N]``.
        asked: The keys to look up ``[M]``.
        lost: Whether an item was cut from its example and has no prediction ``[M]``.
        score: Scores of predictions ``[M]`` by name.
    """
    often = np.full(len(asked), np.bincount(labels).argmax())
    found = {"": often, f"_{LOOKUP}": look_up(keys, labels, asked, otherwise=often)}
    return {
        f"{name}{suffix}": value
        for suffix, prediction in found.items()
        for name, value in score(np.where(lost, NOTHING, prediction)).items()
    }


def below_floor(
    task: str, settings: Mapping[str, Any], scores: Mapping[str, float], floor: Mapping[str, float]
) -> str:
    """A sentence with the main score and its best floor if it is not better than that floor; else empty.

    Args:
        task: Name of the task.
        settings: Settings of the run, which may choose the main score.
        scores: Scores by name, ``<split>_<metric>``, of the test split or, without one, of the validation
            split.
        floor: Floors of the same splits (:meth:`LearningTask.floor`).

    Example:
        >>> from graphdep.training.floors import below_floor
        >>> below_floor("labels", {}, {"test_f1": 0.25}, {"test_f1": 0.0, "test_f1_lookup": 0.5})
        'test_f1 0.2500 is no better than look-up 0.5000'
    """
    metric, name = _main(task, settings, scores)
    floors = family_of(task).split_floors(floor)
    known = {about: values[name] for about, values in floors.items() if name in values}
    if not known:
        return ""
    about = (max if metric.maximize else min)(known, key=known.__getitem__)
    if metric.is_better(scores[name], known[about]):
        return ""
    return f"{name} {scores[name]:.4f} is no better than {about} {known[about]:.4f}"


def untrained(
    task: str, settings: Mapping[str, Any], scores: Mapping[str, float], frozen: Mapping[str, float]
) -> str:
    """A sentence with the main score of a pretrained encoder if it is not better than that of the frozen
    encoder; else empty. Training had no effect in such a run, so that it shows nothing about its syntax.

    Args:
        task: Name of the task.
        settings: See :func:`below_floor`.
        scores: See :func:`below_floor`.
        frozen: Scores of the frozen encoder on the same splits (:meth:`LearningTask.floor_frozen`), if any.

    Example:
        >>> from graphdep.training.floors import untrained
        >>> untrained("sick-e", {}, {"test_accuracy": 0.5}, {"test_accuracy": 0.625})
        'test_accuracy 0.5000 is no better than 0.6250 of the frozen encoder'
    """
    metric, name = _main(task, settings, scores)
    if name not in frozen or metric.is_better(scores[name], frozen[name]):
        return ""
    return f"{name} {scores[name]:.4f} is no better than {frozen[name]:.4f} of the frozen encoder"


def _main(task: str, settings: Mapping[str, Any], scores: Mapping[str, float]) -> tuple[Metric, str]:
    """The first metric of a task, and the name of its score on the test or validation split, if any."""
    metric = resolve_task(task, settings).metrics[0]
    names = (f"{split}_{metric.name}" for split in ("test", "val"))
    return metric, next((name for name in names if name in scores), "")


LIMIT_ROWS = 20_000
"""Largest number of rows to fit a linear model to, and to select it on; more hardly change it."""
_ALPHA = (1e4, 1e3, 1e2, 1e1)
_CHUNK = 20_000

Rows = Callable[[np.ndarray], Tensor]
"""Gives the features of rows from their numbers: ``[n] -> [n, F]``."""


def fit_ridge(train: Rows, y: np.ndarray, val: Rows, y_val: np.ndarray) -> Any:
    """A ridge classifier whose regularisation has the best accuracy on a second split.

    Features are scaled to unit variance. Of equally good strengths of regularisation the strongest is chosen.
    With a single class, that class is always predicted.

    Args:
        train: Features of the training rows; at most :data:`LIMIT_ROWS`, evenly spread, are used.
        y: Their classes; rows of class -1 are not used.
        val, y_val: The same for the second split, where class -1 counts as wrong.
    """
    rows, rows_val = _spread(np.flatnonzero(y >= 0)), _spread(np.arange(len(y_val)))
    x, x_val = (part(numbers).numpy() for part, numbers in ((train, rows), (val, rows_val)))
    if len(np.unique(y[rows])) < 2:
        return DummyClassifier(strategy="most_frequent").fit(x, y[rows])
    best, most = None, -1.0
    for alpha in with_progress(_ALPHA, "fitting a linear model to the frozen encoder"):
        model = make_pipeline(StandardScaler(), RidgeClassifier(alpha=alpha)).fit(x, y[rows])
        right = float((model.predict(x_val) == y_val[rows_val]).mean()) if len(rows_val) else 0.0
        if right > most:
            best, most = model, right
    return best


def predict_rows(model: Any, rows: Rows, count: int) -> np.ndarray:
    """The predicted classes of ``count`` rows, whose features are computed in chunks."""
    found = [model.predict(rows(numbers).numpy()) for numbers in _chunks(count)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *found]).astype(np.int64)


def pair_features(u: Tensor, v: Tensor) -> Tensor:
    r""":math:`\mathbf{u}, \mathbf{v}, |\mathbf{u} - \mathbf{v}|, \mathbf{u} \odot \mathbf{v}` of two vectors
    a row, ``[n, 4C]``.
    """
    return torch.cat([u, v, (u - v).abs(), u * v], dim=1)


def _spread(numbers: np.ndarray) -> np.ndarray:
    if len(numbers) <= LIMIT_ROWS:
        return numbers
    return numbers[np.arange(LIMIT_ROWS) * len(numbers) // LIMIT_ROWS]


def _chunks(count: int) -> Iterator[np.ndarray]:
    return (np.arange(start, min(start + _CHUNK, count)) for start in range(0, count, _CHUNK))


_TERMS, _STEPS, _TOLERANCE = 20_000, 100, 1e-3


class BagOfWords:
    """Predicts a class or a number from the words of a text or a pair, without their order.

    By scikit-learn: logistic regression with at most 100 steps (ridge regression for numbers) on TF-IDF of
    the 20,000 most frequent words. For pairs with vectors u and v the features are u, v, |u - v| and u * v.
    With a single class, that class is always predicted.

    Args:
        texts: Numbers of words, a tuple for each of an example's one or two texts.
        y: Targets ``[N]``.
        classifies: Whether the targets are classes.

    Example:
        >>> import numpy as np
        >>> from graphdep.training.floors import BagOfWords
        >>> bag = BagOfWords([((3, 4),), ((4, 5),), ((5, 6),)], np.array([0, 1, 1]), classifies=True)
        >>> bag.predict([((3,),), ((6, 5),)])
        array([0, 1])
    """

    def __init__(self, texts: Sequence[tuple[Pieces, ...]], y: np.ndarray, *, classifies: bool) -> None:
        self._terms = TfidfVectorizer(analyzer=tuple, max_features=_TERMS)
        self._terms.fit([text for row in texts for text in row])
        if not classifies:
            model: Any = Ridge(max_iter=_STEPS)
        elif len(np.unique(y)) < 2:
            model = DummyClassifier(strategy="most_frequent")
        else:
            model = LogisticRegression(max_iter=_STEPS, tol=_TOLERANCE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._model = model.fit(self._features(texts), y)

    def predict(self, texts: Sequence[tuple[Pieces, ...]]) -> np.ndarray:
        """The prediction of each example ``[N]``."""
        return np.asarray(self._model.predict(self._features(texts)))

    def _features(self, texts: Sequence[tuple[Pieces, ...]]) -> Any:
        u, *others = (self._terms.transform(column) for column in zip(*texts))
        return sparse.hstack(
            [part for v in others for part in (u, v, abs(u - v), u.multiply(v))] or [u]
        ).tocsr()


POOLS = ("mean", "cls")


@torch.no_grad()
def frozen_vectors(encoder: PretrainedEncoder, examples: Iterable[Data], pool: str = "mean") -> Tensor:
    r"""The vectors of the texts of examples by a frozen encoder, normalized to length 1.

    The encoder reads each distinct text once and on its own,
    :math:`[\text{CLS}]\ x_1 \dots x_n\ [\text{SEP}]`, with full attention.

    Args:
        encoder: The encoder, which stays on its device and in its mode.
        examples: Examples of one or two texts, one per segment.
        pool: ``"mean"`` over all nodes of the text including [CLS] and [SEP], or ``"cls"``, the state of
            [CLS]. (default: ``"mean"``)

    Shapes:
        - output: :math:`(N, T, C)` with :math:`T` texts per example, on the CPU

    Raises:
        ValueError: If :obj:`pool` is unknown.
    """
    check_choice("pool", pool, POOLS)
    number: dict[tuple[int, ...], int] = {}
    rows = [[number.setdefault(text, len(number)) for text in texts_of(data)] for data in examples]
    table = torch.zeros(len(number), encoder.hidden_channels)
    for row, x in read_texts(encoder, [*number]):
        table[row] = x[0] if pool == "cls" else x.mean(dim=0)
    return torch.nn.functional.normalize(table, dim=-1)[torch.tensor(rows)]


@torch.no_grad()
def frozen_words(encoder: PretrainedEncoder, examples: Iterable[Data]) -> list[Tensor]:
    r"""The states of the words of examples by a frozen encoder, each the mean over its pieces.

    The encoder reads each text as in :func:`frozen_vectors`, without marks.

    Args:
        encoder: The encoder, which stays on its device and in its mode.
        examples: Examples of one text.

    Returns:
        Per example :math:`(W, C)`, on the CPU; examples with the same text share it.
    """
    number: dict[tuple[int, ...], int] = {}
    words: dict[int, Tensor] = {}
    rows = []
    for data in examples:
        (text,) = texts_of(data)
        rows.append(number.setdefault(text, len(number)))
        words[rows[-1]] = data.word[(data.node_type == NodeType.WORD) & (data.word >= 0)]
    found: dict[int, Tensor] = {}
    for row, x in read_texts(encoder, [*number]):
        found[row] = scatter(x[1:-1], words[row], dim=0, reduce="mean")
    return [found[row] for row in rows]


PREDICTION, PROBABILITIES, PROBABILITY = "prediction", "probabilities", "probability_"


class PredictedRow(NamedTuple):
    """The prediction for a row.

    Args:
        prediction: The label; :obj:`None` if nothing can be predicted.
        probabilities: The probabilities of all labels by name; likewise.
    """

    prediction: Any
    probabilities: Mapping[str, float] | None


def write_rows(
    kind: str,
    rows: Sequence[Mapping[str, Any]],
    predicted: Sequence[PredictedRow],
    names: Sequence[str] | None,
) -> tuple[str, list[str]]:
    """The text of a file with predictions and probabilities (one object in JSON, else a column per label with
    six digits), and the keys or columns of the source that they replace.

    Args:
        kind: Suffix of the source: ``.csv``, ``.tsv``, or ``.jsonl``, ``.json`` or ``.parquet``, for which
            the result is JSON lines.
        rows: Rows of the source.
        predicted: The prediction for each row.
        names: Names of the labels; :obj:`None` for predicted numbers, which have no probabilities.

    Raises:
        ValueError: If a cell of a ``.tsv`` file has a tab or a line break.
    """
    lines = kind in OBJECTS
    shares = [PROBABILITIES] if lines else [f"{PROBABILITY}{name}" for name in names or ()]
    keys = [PREDICTION, *(shares if names is not None else ())]
    replaced = [key for key in keys if any(key in row for row in rows)]
    old = [{name: value for name, value in row.items() if name not in keys} for row in rows]
    if lines:
        objects = [row | {key: getattr(own, key) for key in keys} for row, own in zip(old, predicted)]
        return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in objects), replaced
    cells = [[*old[0], *keys]]
    cells += [[*row.values(), *_cells(own, names)] for row, own in zip(old, predicted)]
    return _table(cells, kind), replaced


def _cells(own: PredictedRow, names: Sequence[str] | None) -> list[str]:
    if names is None:
        return [str(own.prediction)]
    if own.probabilities is None:
        return [""] * (1 + len(names))
    return [str(own.prediction), *(f"{own.probabilities[name]:.6g}" for name in names)]


def _table(cells: list[list[str]], kind: str) -> str:
    if kind == ".csv":
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(cells)
        return file.getvalue()
    for cell in (cell for row in cells for cell in row):
        if "\t" in cell or "\n" in cell:
            raise ValueError(f"a .tsv file cannot hold a tab or a line break (got {cell[:80]!r})")
    return "".join("\t".join(row) + "\n" for row in cells)
