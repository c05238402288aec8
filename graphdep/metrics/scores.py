"""Metrics of labels, scores, relations, spans and perplexity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graphdep.io.extras import check_extra, known_version
from graphdep.metrics.metric import Compute, Metric

# Only the functions that need scikit-learn and SciPy import them: tasks name their metrics without computing
# any.
SCIKIT_LEARN = f"scikit-learn {known_version('scikit-learn')}"


def _accuracy(prediction: np.ndarray, target: np.ndarray) -> float:
    check_extra("a score", "train", "sklearn")
    from sklearn.metrics import accuracy_score

    return accuracy_score(target, prediction)


def _weighted_accuracy(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return weight @ (prediction == target).astype(np.float64) / weight.sum(axis=1)


def _f1(prediction: np.ndarray, target: np.ndarray) -> float:
    check_extra("a score", "train", "sklearn")
    from sklearn.metrics import f1_score

    return f1_score(target, prediction, zero_division=0)


def _weighted_f1(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    found, true = prediction == 1, target == 1
    right, positive = (weight @ np.stack([found & true, found * 1.0 + true], axis=1)).T
    return np.divide(2 * right, positive, out=np.zeros(len(weight)), where=positive > 0)


def _macro_f1(prediction: np.ndarray, target: np.ndarray) -> float:
    check_extra("a score", "train", "sklearn")
    from sklearn.metrics import f1_score

    return f1_score(target, prediction, average="macro", zero_division=0)


def _weighted_macro_f1(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    check_extra("a score", "train", "scipy")
    from scipy import sparse

    # For each class, its correct predictions, and its predictions plus targets. The tables are sparse (one
    # class per example), and there may be thousands of classes.
    labels, place = np.unique(np.concatenate([prediction, target]), return_inverse=True)
    found, true = place.reshape(2, -1)
    examples = np.arange(found.size)
    both = np.concatenate([found, true]), np.concatenate([examples, examples])
    shape = len(labels), found.size
    counts = np.ascontiguousarray(weight.T, dtype=np.float64)
    right = sparse.csr_array((2.0 * (found == true), (found, examples)), shape) @ counts
    positive = sparse.csr_array((np.ones(2 * found.size), both), shape) @ counts
    scores = np.divide(right, positive, out=np.zeros_like(right), where=positive > 0)
    return scores.sum(axis=0) / (positive > 0).sum(axis=0)


def _mcc(prediction: np.ndarray, target: np.ndarray) -> float:
    # Undefined if one side has a single label: 0, no correlation was observed.
    if np.ptp(prediction) == 0 or np.ptp(target) == 0:
        return 0.0
    check_extra("a score", "train", "sklearn")
    from sklearn.metrics import matthews_corrcoef

    return matthews_corrcoef(target, prediction)


def _weighted_mcc(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    # For any number of classes, as in scikit-learn: covariance of indicators over their standard deviations.
    labels = np.union1d(prediction, target)
    found, true = (np.equal.outer(values, labels).astype(np.float64) for values in (prediction, target))
    right, size = weight @ (found * true).sum(axis=1), weight.sum(axis=1).astype(np.float64)
    found, true = weight @ found, weight @ true  # counts of each label in predictions and targets
    covariance = right * size - (found * true).sum(axis=1)
    scale = np.sqrt((size**2 - (found**2).sum(axis=1)) * (size**2 - (true**2).sum(axis=1)))
    return np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)


def _majority_class(train: np.ndarray, target: np.ndarray) -> np.ndarray:
    values, counts = np.unique(train, return_counts=True)
    return np.full(target.shape, values[counts.argmax()])


ACCURACY = Metric(
    "accuracy",
    _accuracy,
    lambda train, target: _accuracy(_majority_class(train, target), target),
    f"accuracy: share of right labels over the split ({SCIKIT_LEARN}); "
    "floor: the most frequent class of the training split",
    weighted=_weighted_accuracy,
    max_difference=1,
)
F1 = Metric(
    "f1",
    _f1,
    lambda train, target: _f1(_majority_class(train, target), target),
    f"F1 of the positive class, label 1, over the split ({SCIKIT_LEARN}), 0 where it is "
    "neither there nor predicted; floor: the most frequent class of the training split",
    weighted=_weighted_f1,
    max_difference=1,
)
MACRO_F1 = Metric(
    "macro_f1",
    _macro_f1,
    lambda train, target: _macro_f1(_majority_class(train, target), target),
    f"macro_f1: mean of the F1 of all classes that the split has or that are predicted "
    f"({SCIKIT_LEARN}), 0 where one is not there or not predicted; floor: the most frequent class of "
    "the training split",
    weighted=_weighted_macro_f1,
    max_difference=1,
)
MCC = Metric(
    "mcc",
    _mcc,
    lambda train, target: 0.0,
    f"MCC: Matthews correlation coefficient over the split ({SCIKIT_LEARN}), 0 where "
    "predictions or targets have a single label; floor: 0, a constant prediction",
    weighted=_weighted_mcc,
    max_difference=2,
)


_SCIPY = f"SciPy {known_version('scipy')}"


def _mse(prediction: np.ndarray, target: np.ndarray) -> float:
    check_extra("a score", "train", "sklearn")
    from sklearn.metrics import mean_squared_error

    return mean_squared_error(target, prediction)


def _weighted_mse(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return weight @ (prediction - target) ** 2 / weight.sum(axis=1)


def _mean_predictor(train: np.ndarray, target: np.ndarray) -> float:
    return _mse(np.full(target.shape, train.mean(dtype=np.float64)), target)


def _correlation(measure: Compute) -> Compute:
    def compute(prediction: np.ndarray, target: np.ndarray) -> float:
        # Undefined if one side is constant: 0, since NaN would break comparisons.
        if np.ptp(prediction) == 0 or np.ptp(target) == 0:
            return 0.0
        return measure(prediction.astype(np.float64), target.astype(np.float64))

    return compute


def _pearson(x: np.ndarray, y: np.ndarray) -> float:
    check_extra("a score", "train", "scipy")
    from scipy import stats

    return stats.pearsonr(x, y)[0]


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    check_extra("a score", "train", "scipy")
    from scipy import stats

    return stats.spearmanr(x, y)[0]


def _weighted_pearson(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    # Centred first, to avoid cancellation in sums of squares far from zero.
    x, y = prediction - prediction.mean(dtype=np.float64), target - target.mean(dtype=np.float64)
    sums = weight @ np.stack([x, y, x * x, y * y, x * y], axis=1) / weight.sum(axis=1, keepdims=True)
    mean_x, mean_y, xx, yy, xy = sums.T
    # A variance at the level of rounding errors is zero.
    var_x, var_y = xx - mean_x**2, yy - mean_y**2
    var_x[var_x <= 1e-12 * xx], var_y[var_y <= 1e-12 * yy] = 0.0, 0.0
    return _ratio(xy - mean_x * mean_y, var_x, var_y)


def _weighted_spearman(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    x, y = _ranks(prediction, weight), _ranks(target, weight)
    xx, yy, xy = (np.einsum("sn,sn,sn->s", weight, *pair) for pair in ((x, x), (y, y), (x, y)))
    return _ratio(xy, xx, yy)


def _ranks(values: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Ranks of the values ``[N]`` in each resample ``[S, N]``; ties share their mean rank; centred."""
    order = values.argsort()
    below = np.zeros((len(weight), values.size + 1), dtype=np.int64)
    weight.take(order, axis=1).cumsum(axis=1, out=below[:, 1:])
    first, last = (np.searchsorted(values, values, side, sorter=order) for side in ("left", "right"))
    return (below.take(first, axis=1) + below.take(last, axis=1) - below[:, -1:]) / 2


def _ratio(covariance: np.ndarray, var_x: np.ndarray, var_y: np.ndarray) -> np.ndarray:
    scale = np.sqrt(var_x * var_y)
    return np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0)


def _zero(train: np.ndarray, target: np.ndarray) -> float:
    return 0.0


_CONSTANT = "0 where predictions or targets do not vary; floor: 0, a constant prediction"

MSE = Metric(
    "mse",
    _mse,
    _mean_predictor,
    f"MSE: mean squared error on the 1-5 scale ({SCIKIT_LEARN}); floor: the mean score of the training split",
    maximize=False,
    weighted=_weighted_mse,
)
# For labels on an unknown scale.
MSE_OF_NUMBERS = replace(
    MSE,
    signature=f"MSE: mean squared error, on the scale of the labels squared "
    f"({SCIKIT_LEARN}); floor: the mean label of the training split",
)
PEARSON = Metric(
    "pearson",
    _correlation(_pearson),
    _zero,
    f"Pearson's r over the split ({_SCIPY}), {_CONSTANT}",
    weighted=_weighted_pearson,
    max_difference=2,
)
SPEARMAN = Metric(
    "spearman",
    _correlation(_spearman),
    _zero,
    f"Spearman's rho over the split ({_SCIPY}), {_CONSTANT}",
    weighted=_weighted_spearman,
    max_difference=2,
)


def mean_metric(name: str, first: Metric, second: Metric) -> Metric:
    """The mean of two metrics and of their floors.

    Args:
        name: Its key in results.
        first, second: The metrics; higher must be better in both, and both need a floor.

    Raises:
        ValueError: If a metric has no floor, or lower is better.
    """
    pair = (first, second)
    floors = [metric.floor for metric in pair if metric.floor is not None and metric.maximize]
    if len(floors) != len(pair):
        names = " and ".join(metric.name for metric in pair)
        raise ValueError(f"{name!r} must be of metrics with a floor that are maximised (got {names})")
    return Metric(
        name,
        lambda prediction, target: float(np.mean([metric.compute(prediction, target) for metric in pair])),
        lambda train, target: float(np.mean([floor(train, target) for floor in floors])),
        f"mean of {first.name} and {second.name}, GLUE's own score; {first.signature}; {second.signature}",
        weighted=lambda prediction, target, weight: np.mean(
            [metric.resampled(prediction, target, weight) for metric in pair], axis=0
        ),
        max_difference=(first.max_difference + second.max_difference) / 2,
    )


ACCURACY_F1 = mean_metric("accuracy_f1", ACCURACY, F1)
PEARSON_SPEARMAN = mean_metric("pearson_spearman", PEARSON, SPEARMAN)


_DIRECTION = re.compile(r"\(e[12],e[12]\)$")
_OTHER = "Other"


def semeval2010_macro_f1(labels: Sequence[str]) -> Metric:
    r"""The official score of `"SemEval-2010 Task 8" <https://aclanthology.org/S10-1006/>`_: macro F1 over the
    relations with their direction, without *Other*.

    .. math::
        F_r = \frac{2 c_r}{p_r + g_r} \qquad F = \frac{1}{|R|} \sum_{r \in R} F_r

    where :math:`p_r` and :math:`g_r` count the examples predicted and labelled as relation :math:`r` in
    either direction, :math:`c_r` the examples of both with the right direction, and :math:`R` are the
    relations among the targets: nine in the test file. So a wrong direction is a false positive in
    :math:`p_r`, like *xDIRx* in the official scorer. A number that is no label, such as -1, counts as no
    relation, in predictions and targets.

    Args:
        labels: The classes by id, such as ``Cause-Effect(e1,e2)`` and ``Other``. Without directions it is the
            scorer's evaluation that ignores directions.

    Raises:
        ValueError: If there is no relation among the labels.

    Example:
        >>> import numpy as np
        >>> from graphdep.metrics import semeval2010_macro_f1
        >>> metric = semeval2010_macro_f1(["A-B(e1,e2)", "A-B(e2,e1)", "Other"])
        >>> metric(np.array([0, 1, 2]), np.array([0, 0, 2]))  # 1 of 2 predicted, and of 2 that there are
        0.5
    """
    names = [None if label == _OTHER else _DIRECTION.sub("", label) for label in labels]
    relations = sorted({name for name in names if name is not None})
    if not relations:
        raise ValueError(f"'labels' has no relation (got {', '.join(labels) or 'none'})")
    # The last entry is for -1 and other numbers that are no label.
    relation_of = np.array([*(-1 if name is None else relations.index(name) for name in names), -1])

    def weighted(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
        found, true = (
            np.equal.outer(relation_of[_clip_unknown(numbers, len(labels))], np.arange(len(relations)))
            for numbers in (prediction, target)
        )
        right = weight @ (found * (prediction == target)[:, None]).astype(np.float64)
        predicted, there = weight @ found.astype(np.float64), weight @ true.astype(np.float64)
        scores = 2 * right / np.maximum(predicted + there, 1)
        return (scores * (there > 0)).sum(axis=1) / np.maximum((there > 0).sum(axis=1), 1)

    def compute(prediction: np.ndarray, target: np.ndarray) -> float:
        return float(weighted(prediction, target, np.ones((1, len(target))))[0])

    def floor(train: np.ndarray, target: np.ndarray) -> float:
        values, counts = np.unique(train, return_counts=True)
        return compute(np.full(target.shape, values[counts.argmax()]), target)

    directions = (
        "taking directions into account" if len(relations) < len(labels) - 1 else "without directions"
    )
    return Metric(
        "macro_f1",
        compute,
        floor,
        f"macro_f1: mean of the F1 of the relations that the split has, {directions}, Other left out, as "
        "(9+1)-way evaluation of semeval2010_task8_scorer-v1.2 (graphdep's own); floor: the most frequent "
        "class of the training split",
        weighted=weighted,
        max_difference=1,
    )


def _clip_unknown(numbers: np.ndarray, size: int) -> np.ndarray:
    """The numbers, with ``size`` in place of numbers that are no label."""
    return np.where((numbers >= 0) & (numbers < size), numbers, size)


SPAN = 1_000_000
"""Codes of at least this number are spans: this number times the label's id, plus the length in words."""
LABELS = 10_000
"""Upper bound of the number of labels."""
WITH_GAPS = LABELS * SPAN
"""Codes of at least this number are spans with gaps: id of the bounds * :data:`LABELS` + label id."""
NOTHING = -2
"""No prediction, since the word was cut."""
_NO_LABELS = (0, NOTHING)


def micro_f1(prediction: np.ndarray, target: np.ndarray) -> float:
    """2 correct / (predicted + labelled), over all labels together; 0 without any."""
    right, either = _counts(prediction, target)
    return float(2 * right.sum() / either.sum()) if either.any() else 0.0


def macro_f1(prediction: np.ndarray, target: np.ndarray) -> float:
    """Mean F1 of all labels among predictions or targets; 0 without any."""
    scores = [row["f1"] for row in label_table(prediction, target)]
    return float(np.mean(scores)) if scores else 0.0


def label_table(prediction: np.ndarray, target: np.ndarray) -> list[dict[str, float]]:
    """The id, counts (labelled, predicted, correct), precision, recall and F1 of each label."""
    labels, found, there = _places(prediction, target)
    right = there[(prediction == target) & (target > 0)]
    counts = [np.bincount(places, minlength=len(labels)).tolist() for places in (there, found, right)]
    return [_row(label, *own) for label, own in zip(labels.tolist(), zip(*counts)) if label not in _NO_LABELS]


def _row(label: int, there: int, found: int, right: int) -> dict[str, float]:
    return {
        "label": label,
        "there": there,
        "found": found,
        "right": right,
        "precision": right / found if found else 0.0,
        "recall": right / there if there else 0.0,
        "f1": 2 * right / (found + there),
    }


def labels_of(codes: np.ndarray) -> np.ndarray:
    """The label ids of codes."""
    return np.where(codes >= WITH_GAPS, codes % LABELS, np.where(codes >= SPAN, codes // SPAN, codes))


def _counts(prediction: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    right = (prediction == target) & (target > 0)
    return right.astype(np.float64), (prediction > 0) * 1.0 + (target != 0)


def _weighted_micro_f1(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    right, either = (weight @ np.stack(_counts(prediction, target), axis=1)).T
    return np.divide(2 * right, either, out=np.zeros(len(weight)), where=either > 0)


def _weighted_found_macro_f1(prediction: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    check_extra("a score", "train", "scipy")
    from scipy import sparse

    # The tables are sparse (one label per word), and there may be thousands of labels.
    labels, found, there = _places(prediction, target)
    words, kept = np.arange(target.size), ~np.isin(labels, _NO_LABELS)
    both = np.concatenate([found, there]), np.concatenate([words, words])
    shape, counts = (len(labels), target.size), np.ascontiguousarray(weight.T, dtype=np.float64)
    hits = 2.0 * ((prediction == target) & (target > 0))
    right = sparse.csr_array((hits, (there, words)), shape)[kept] @ counts
    either = sparse.csr_array((np.ones(2 * target.size), both), shape)[kept] @ counts
    total = np.divide(right, either, out=np.zeros_like(right), where=either > 0).sum(axis=0)
    number = (either > 0).sum(axis=0)
    return np.divide(total, number, out=np.zeros(len(weight)), where=number > 0)


def _places(prediction: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The ids of all labels among predictions or targets, and for each prediction and each target its index
    among them.
    """
    codes = np.concatenate([labels_of(prediction), labels_of(target)])
    labels, places = np.unique(codes, return_inverse=True)
    found, there = places.reshape(2, -1)
    return labels, found, there


_WORDS = (
    "over all scored words of the split (comparisons of systems draw whole sentences); labels that training "
    "lacks are wrong"
)
WORD_ACCURACY: Metric = replace(
    ACCURACY, signature=f"accuracy: share of correct labels {_WORDS} ({SCIKIT_LEARN})"
)
WORD_F1 = Metric(
    "f1",
    micro_f1,
    None,
    f"f1: micro-averaged F1 of all labels but the negative one, {_WORDS}",
    weighted=_weighted_micro_f1,
    max_difference=1,
)
WORD_MACRO_F1 = Metric(
    "macro_f1",
    macro_f1,
    None,
    f"macro_f1: mean F1 of all target or predicted labels but the negative one, {_WORDS}",
    weighted=_weighted_found_macro_f1,
    max_difference=1,
)
EXACT: Metric = replace(
    ACCURACY,
    name="exact",
    signature="exact: share of the examples whose scored words are all correct; groups of examples, such as "
    "the predicates of a sentence, count as one",
)


def unigram_losses(train: np.ndarray, target: np.ndarray, num_words: int) -> np.ndarray:
    """Negative log-likelihood of every target token under the add-one smoothed unigram counts of the training
    tokens: the floor of a perplexity.

    Shapes:
        - train: :math:`(M)`; target and output: :math:`(N)`
    """
    counts = np.bincount(train, minlength=num_words) + 1.0
    return -np.log(counts / counts.sum())[target]


def _exp(mean: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):  # infinite for a mean loss above 709
        return np.exp(mean)


def _of_tokens(loss: np.ndarray, tokens: np.ndarray) -> float:
    return float(_exp(loss.sum() / tokens.sum()))


def _of_tokens_weighted(loss: np.ndarray, tokens: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return _exp((weight @ loss) / (weight @ tokens))


def _of_responses(loss: np.ndarray, tokens: np.ndarray) -> float:
    return float(_exp((loss / tokens).mean()))


def _of_responses_weighted(loss: np.ndarray, tokens: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return _exp((weight @ (loss / tokens)) / weight.sum(axis=1))


def _perplexity(name: str, signature: str, *, by_response: bool = False) -> Metric:
    compute, weighted = (
        (_of_responses, _of_responses_weighted)
        if by_response
        else (
            _of_tokens,
            _of_tokens_weighted,
        )
    )
    # Token counts do not determine the floor: it comes from unigram_losses().
    return Metric(name, compute, None, f"PPL|{signature}", maximize=False, weighted=weighted)


PERPLEXITY = _perplexity(
    "perplexity",
    "exp of the mean loss over all target tokens, the end symbol of each response among them|dropout off|"
    "[UNK] is a word|floor: unigrams of the training responses",
)
PERPLEXITY_WORDS = _perplexity(
    "perplexity_words", "exp of the mean loss over all target tokens but the end symbols"
)
PERPLEXITY_RESPONSES = _perplexity(
    "perplexity_responses",
    "exp of the mean over responses of their mean loss|words of short ones count more",
    by_response=True,
)
