"""Scores without training: counted labels, bags of words and frozen features."""

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
from graphdep.nn.models.embedding import Pieces, texts_of
from graphdep.nn.models.transformer import read_texts
from graphdep.training.task import family_of, resolve_task

if TYPE_CHECKING:
    from graphdep.nn.pretrained import PretrainedEncoder


def look_up(keys: np.ndarray, labels: np.ndarray, asked: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """The commonest label of each key that is asked for, the first of equally common ones.

    Shapes:
        - keys, labels: :math:`(N)`, what is known
        - asked, otherwise: :math:`(M)`, keys, and labels of those that are not known; output :math:`(M)`
    """
    (key, label), count = np.unique(np.stack([keys, labels]), axis=1, return_counts=True)
    order = np.lexsort((label, -count, key))
    known, first = np.unique(key[order], return_index=True)
    best = label[order][first]
    place = np.searchsorted(known, asked).clip(max=len(known) - 1)
    return np.where(known[place] == asked, best[place], otherwise)


def below_floor(task: str, scores: Mapping[str, float], floor: Mapping[str, float]) -> str:
    """The main score where it is no better than its best floor, and that floor, for people; else empty.

    Args:
        task: Name of the task.
        scores: Scores by name, ``<split>_<metric>``; the test split counts, or where there is none the
            validation split.
        floor: What :meth:`TaskFamily.floor` gives for the same splits.

    Example:
        >>> from graphdep.training.floors import below_floor
        >>> below_floor("labels", {"test_f1": 0.25}, {"test_f1": 0.0, "test_f1_lookup": 0.5})
        'test_f1 0.2500 is no better than look-up 0.5000'
    """
    metric, name = _main(task, scores)
    floors = family_of(task).split_floors(floor)
    known = {about: values[name] for about, values in floors.items() if name in values}
    if not known:
        return ""
    about = (max if metric.maximize else min)(known, key=known.__getitem__)
    if metric.is_better(scores[name], known[about]):
        return ""
    return f"{name} {scores[name]:.4f} is no better than {about} {known[about]:.4f}"


def untrained(task: str, scores: Mapping[str, float], frozen: Mapping[str, float]) -> str:
    """The main score of a pretrained encoder where it is no better than what the encoder gave before its
    training, for people; else empty. Such a row says nothing of what it was trained with.

    Args:
        task: Name of the task.
        scores: As in :func:`below_floor`.
        frozen: What :meth:`TaskFamily.floor_frozen` gives for the same splits; empty for other encoders.

    Example:
        >>> from graphdep.training.floors import untrained
        >>> untrained("sick-e", {"test_accuracy": 0.5}, {"test_accuracy": 0.625})
        'test_accuracy 0.5000 is no better than 0.6250 of the encoder before its training'
    """
    metric, name = _main(task, scores)
    if name not in frozen or metric.is_better(scores[name], frozen[name]):
        return ""
    return (
        f"{name} {scores[name]:.4f} is no better than {frozen[name]:.4f} of the encoder before its training"
    )


def _main(task: str, scores: Mapping[str, float]) -> tuple[Metric, str]:
    """The first metric of a task, and its name among the scores of the split that counts, empty for none."""
    metric = resolve_task(task).metrics[0]
    names = (f"{split}_{metric.name}" for split in ("test", "val"))
    return metric, next((name for name in names if name in scores), "")


LIMIT_ROWS = 20_000
"""Rows to learn from at most, and to choose on: more hardly change a linear model."""
_ALPHA = (1e4, 1e3, 1e2, 1e1)
_CHUNK = 20_000

Rows = Callable[[np.ndarray], Tensor]
"""Gives the features of some rows by their numbers: ``[n] -> [n, F]``."""


def fit_ridge(train: Rows, y: np.ndarray, val: Rows, y_val: np.ndarray) -> Any:
    """The ridge classifier of ``y`` that is right most often on a second split.

    Features are scaled to unit variance, and least squares are solved exactly, which many classes cost no
    more. Of equally good strengths of regularisation it is the strongest. One class alone is predicted
    always.

    Args:
        train: Features of the rows to learn from, of which at most :data:`LIMIT_ROWS` are taken, evenly
            spread.
        y: Their classes; a row of class -1, which has none, is not taken.
        val, y_val: Of the split to choose on, in the same way; a row of class -1 is always wrong.
    """
    rows, rows_val = _spread(np.flatnonzero(y >= 0)), _spread(np.arange(len(y_val)))
    x, x_val = (part(numbers).numpy() for part, numbers in ((train, rows), (val, rows_val)))
    if len(np.unique(y[rows])) < 2:
        return DummyClassifier(strategy="most_frequent").fit(x, y[rows])
    best, most = None, -1.0
    for alpha in with_progress(_ALPHA, "fitting a linear model to the encoder's vectors"):
        model = make_pipeline(StandardScaler(), RidgeClassifier(alpha=alpha)).fit(x, y[rows])
        right = float((model.predict(x_val) == y_val[rows_val]).mean()) if len(rows_val) else 0.0
        if right > most:
            best, most = model, right
    return best


def predict_rows(model: Any, rows: Rows, count: int) -> np.ndarray:
    """The class of each of ``count`` rows, whose features are not all in memory at a time."""
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
    """Predicts a class or a number of the words of a text, or of a pair, whatever their order.

    A logistic regression of 100 steps at most, of numbers a ridge regression, on TF-IDF of the commonest
    20,000 words, by scikit-learn. Of a pair with the vectors u and v it reads u, v, |u - v| and u * v. One
    class alone is predicted always.

    Args:
        texts: Words by their numbers, a tuple for each of an example's one or two texts.
        y: Targets ``[N]``.
        classifies: Whether they are classes.

    Example:
        >>> import numpy as np
        >>> from graphdep.training.floors import BagOfWords
        >>> bag = BagOfWords([((3, 4),), ((4, 5),), ((5, 6),)], np.array([0, 1, 1]), classifies=True)
        >>> bag.predict([((3,),), ((6, 5),)])
        array([0, 1])
    """

    def __init__(self, texts: Sequence[tuple[Pieces, ...]], y: np.ndarray, *, classifies: bool) -> None:
        self._terms = TfidfVectorizer(analyzer=_as_they_are, max_features=_TERMS)
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


def _as_they_are(words: Pieces) -> Pieces:
    return words


POOLS = ("mean", "cls")


@torch.no_grad()
def frozen_vectors(encoder: PretrainedEncoder, examples: Iterable[Data], pool: str = "mean") -> Tensor:
    r"""The vectors of the texts of examples by an encoder as it is, of length 1.

    The encoder reads each text on its own, :math:`[\text{CLS}]\ x_1 \dots x_n\ [\text{SEP}]`, over all pairs
    of its nodes, and each different text once.

    Args:
        encoder: The encoder. It stays on its device and in its mode.
        examples: Examples of one or two segments, each a text: a sentence, a context or a response. What is
            cut of an example is not read here either.
        pool: ``"mean"`` over all nodes of the text, [CLS] and [SEP] among them, or the state of [CLS],
            ``"cls"``. (default: ``"mean"``)

    Shapes:
        - output: :math:`(N, T, C)`, :math:`T` texts an example, on the CPU

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
    r"""The states of the words of examples by an encoder as it is, each a mean over its pieces.

    The encoder reads each text as in :func:`frozen_vectors`; marks are no part of it.

    Args:
        encoder: The encoder. It stays on its device and in its mode.
        examples: Examples of one text.

    Returns:
        An example's :math:`(W, C)`, on the CPU; examples of equal texts share it.
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
    """What is new in a row.

    Args:
        prediction: The label; :obj:`None` where nothing can be predicted.
        probabilities: Those of all labels by their names; :obj:`None` as well.
    """

    prediction: Any
    probabilities: Mapping[str, float] | None


def write_rows(
    kind: str,
    rows: Sequence[Mapping[str, Any]],
    predicted: Sequence[PredictedRow],
    names: Sequence[str] | None,
) -> tuple[str, list[str]]:
    """The text of a file of some kind with predictions and probabilities, in JSON as one object, else
    in a column each with six digits; and the keys or columns of the source that they replace.

    Args:
        kind: Its suffix, ``.csv``, ``.tsv``, ``.jsonl``, or ``.json`` or ``.parquet``, of which JSON lines
            are made.
        rows: What it has.
        predicted: What is new in each row.
        names: Those of the labels; :obj:`None` where numbers are predicted, which have no probabilities.

    Raises:
        ValueError: If a cell of a ``.tsv`` file would have a tab or a line break.
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
