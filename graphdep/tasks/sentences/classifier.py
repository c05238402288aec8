"""Texts and labels in, labels out: training and prediction as a scikit-learn classifier."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from lightning import Callback
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from torch_geometric.transforms import BaseTransform

from graphdep.io.limits import MAX_WORDS, check_list, check_name, check_text, shown
from graphdep.parsing import Parser
from graphdep.tasks.sentences.predictor import Predictor, check_examples, place_in
from graphdep.training.estimator import TaskEstimator, plain

if TYPE_CHECKING:
    from graphdep.visualization import AttentionMap

_COLUMNS = ("first", "second")


class SequenceClassifier(ClassifierMixin, TaskEstimator):
    r"""Classifies texts or pairs of texts with a Transformer whose attention follows their syntax.

    :meth:`fit` parses the texts and fine-tunes a pretrained encoder on them, or trains one from nothing, as
    ``graphdep train --task csv`` does. What an example is, a text or a pair, is said by the shape of ``X``: a
    list, array or Series of :math:`n` texts, or a list of pairs, an array or a data frame of two columns.

    Args:
        encoder: Name or folder of a pretrained Hugging Face encoder; ``"transformer"`` for one that is
            trained from nothing, on words, which needs more texts. (default: ``"bert-base-uncased"``)
        model: The syntax in it: a model of ``graphdep train``, such as ``"bert"`` (none), ``"bert-dt"``,
            ``"bert-g2g"``, ``"bert-dam"``, or from nothing ``"dt"``, ``"transformer"``, ``"lstm"``.
            (default: ``"bert-dam-basic"``, since ``"bert-dam"`` needs the extra ``[enhanced]``, which
            ``"bert-dam-ud"`` does not, and ``"dt"`` from nothing)
        edges: What a word attends to, instead of the model's own edges: a name of
            :func:`graphdep.transforms.resolve`, or any transform. A transform is kept in copies and pickles,
            and no file of :meth:`save` can hold it: :meth:`load` has to be given the same. (default:
            :obj:`None`)
        parser: Name for :func:`graphdep.parsing.resolve_parser`. (default: ``"bundled"``)
        validation_fraction: The share of the texts that the best epoch is chosen on, and that is not trained
            on. (default: :obj:`0.1`)
        random_state: Seed of the weights, of the order of the texts, dropout, and what validates; a
            ``RandomState`` or :obj:`None` draws one. (default: :obj:`0`)
        batch_size: Texts or pairs a batch, in training and prediction. (default: :obj:`32`)
        device: Such as ``"cpu"`` or ``"cuda"``; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show the epochs on stderr. (default: :obj:`True`)
        folder: Keeps the run, with its ``best.ckpt``, the texts and their parses, so that ``graphdep
            evaluate`` finds what it was trained and validated on; :obj:`None` keeps the model alone, in
            memory. (default: :obj:`None`)
        cache: SQLite file that keeps the parses, those of predictions too, so that none is made twice, by
            whatever process; :obj:`None` keeps those of training in :obj:`folder`, or without one as long as
            this process lives, so that the fits of a search share them. (default: :obj:`None`)
        callbacks: Lightning's callbacks for the training, see :func:`graphdep.training.train`. (default:
            none)
        max_words, truncate: Words of a text at most (:class:`~graphdep.parsing.parser.WordLimit`), and
            whether the first ones of a longer text are read, which else is an error. (default:
            :obj:`10_000`, :obj:`False`)
        **settings: Any further setting of ``graphdep train``, such as :obj:`max_epochs` or :obj:`lr`.

    Attributes:
        classes\_: The classes, sorted, as in the columns of :meth:`predict_proba`.
        history\_: The values of each epoch of the training, as in its ``metrics.csv``.
        result\_: What ``graphdep train`` reports of the run, its ``"checkpoint"`` being :obj:`None` without
            :obj:`folder`; a loaded model has none.
        parser_failures: Texts of the last prediction that have a chain for a tree.
        cut_words: Words of the last prediction that the model did not read, as there was no room for them.

    Example:
        >>> from graphdep import SequenceClassifier
        >>> texts, labels = ["A fine film.", "So dull."] * 10, ["good", "bad"] * 10
        >>> model = SequenceClassifier("bert-base-uncased", max_epochs=1, progress=False).fit(texts, labels)
        >>> model.classes_, model.predict_proba(["What a film!"]).shape
        (array(['bad', 'good'], dtype='<U4'), (1, 2))
        >>> model.save("reviews.ckpt")
        >>> SequenceClassifier.load("reviews.ckpt").predict(["What a film!"]).shape
        (1,)
    """

    task = "csv"
    answers = "predictions for single texts or pairs"
    predictor = Predictor
    called = "the classifier"
    own = ("text_columns", "label_column")
    usual_models = ("dt", "bert-dam-basic")
    needed = ("train", *own)
    _predictor: Predictor | None = None

    def __init__(
        self,
        encoder: str | os.PathLike[str] = "bert-base-uncased",
        model: str | None = None,
        *,
        edges: str | BaseTransform | None = None,
        parser: str | Parser = "bundled",
        validation_fraction: float = 0.1,
        random_state: int | np.random.RandomState | None = 0,
        batch_size: int = 32,
        device: str | torch.device | None = None,
        progress: bool = True,
        folder: str | os.PathLike[str] | None = None,
        cache: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callback] | None = None,
        max_words: int = MAX_WORDS,
        truncate: bool = False,
        **settings: Any,
    ) -> None:
        self.encoder = encoder
        self.model = model
        self.edges = edges
        self.parser = parser
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.batch_size = batch_size
        self.device = device
        self.progress = progress
        self.folder = folder
        self.cache = cache
        self.callbacks = callbacks
        self.max_words = max_words
        self.truncate = truncate
        self.settings = settings

    def fit(self, X: Any, y: Any) -> SequenceClassifier:
        """Trains on texts and their labels: texts, whole or truth values, or numbers that stand for classes.

        Raises:
            TypeError: If something is no text; the message has its position.
            ValueError: If a text is blank or has more than :obj:`max_words` words, a label has a control
                character, the shapes of ``X`` and ``y`` are wrong, there are fewer than two classes, or a
                setting is wrong.
            TrainingError: If the loss is not finite any more.
        """
        limit = self._limit
        examples = [
            tuple(
                limit.text(text, repr(place_in("X", n, column, len(row)))) for column, text in enumerate(row)
            )
            for n, row in enumerate(check_examples("X", X))
        ]
        labels = _check_labels(y, len(examples))
        classes = np.unique(labels)
        if len(classes) < 2:
            raise ValueError(f"'y' must have at least two classes (got {classes.tolist()})")
        columns = _COLUMNS[: len(examples[0])]
        rows = ({**dict(zip(columns, x)), "label": y} for x, y in zip(examples, labels.tolist()))
        text = "".join(json.dumps(row) + "\n" for row in rows)
        self._train_on(text, "texts", text_columns=",".join(columns), label_column="label")
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The most likely class of each text or pair, ``[n]``.

        Raises:
            TypeError, ValueError: As :meth:`fit`, and if ``X`` has pairs where the model was trained on
                single texts, or the other way round.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, ``[n, num_classes]``, float64.

        Raises:
            TypeError, ValueError: As :meth:`predict`.
        """
        predictor: Predictor = self._ready()
        predictor.limit = self._limit
        examples = check_examples("X", X, predictor.config.num_texts)
        logits = predictor.outputs(examples, lambda n, c: repr(place_in("X", n, c, len(examples[0]))))
        self.parser_failures, self.cut_words = predictor.parser_failures, predictor.cut_words
        return logits.double().softmax(dim=1).numpy()[:, self._order]

    def attention(self, X: Any) -> list[AttentionMap]:
        """What the words of each text or pair attend to, in every layer and head: with pictures,
        ``model.attention(["It rains."])[0].plot()``.

        Raises:
            TypeError, ValueError: As :meth:`predict`, and if the model has no attention between words, or a
                text is too long for it.
        """
        from graphdep.visualization.plots import attention_of

        known: Predictor = self._ready()
        examples = check_examples("X", X, known.config.num_texts)
        return [attention_of(known.task, known.state, texts, known.parser) for texts in examples]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, True
        return tags


def _check_labels(y: Any, count: int) -> np.ndarray:
    """Labels as an array ``[count]`` of one kind."""
    if tuple(getattr(y, "shape", ()))[1:] == (1,):
        y = column_or_1d(y, warn=True)
    values = y.tolist() if hasattr(y, "tolist") else y
    check_list("y", values)
    values = [plain(value) for value in values]
    if len(values) != count:
        raise ValueError(f"'y' must have a label for each of {count} texts (got {len(values)})")
    for number, value in enumerate(values):
        if not isinstance(value, (str, int, float)) or type(value) is not type(values[0]):
            first = f" as 'y[0]', {shown(values[0])}" if number else ""
            raise TypeError(f"'y[{number}]' must be a text or a number{first} (got {shown(value)})")
        if isinstance(value, str):
            check_text(f"y[{number}]", value, "label")
            check_name(f"y[{number}]", value)
    labels = np.array(values)
    check_classification_targets(labels)
    return labels
