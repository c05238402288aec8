"""Sentences with marked spans and labels in, labels out: training and prediction as a scikit-learn
classifier.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning import Callback
from sklearn.base import ClassifierMixin
from torch_geometric.transforms import BaseTransform

from graphdep.datasets.spans.rows import SpanExample
from graphdep.io.limits import MAX_WORDS, check_name, check_text
from graphdep.parsing import Parser
from graphdep.sentence.sentence import truncate
from graphdep.tasks.spans.span_predictor import SpanAnswer, SpanPredictor
from graphdep.tasks.spans.span_sentences import listed, span_sentences
from graphdep.training.estimator import TaskEstimator, plain

# Arguments that the files of a run on spans are made by: sentences are cut before they are written.
_NO_SETTINGS = ("max_words", "truncate")


class SpanClassifier(ClassifierMixin, TaskEstimator):
    r"""Gives one or two marked spans of a sentence a label, such as the relation between them, with an
    encoder whose attention follows the sentence's syntax.

    :meth:`fit` trains an encoder from nothing, or fine-tunes a pretrained one, as ``graphdep train --task
    spans`` does. A sentence is a text with tags, ``<e1>Rain</e1> makes <e2>mud</e2>.``; a text, with spans
    of characters; a list of words, with spans of words; or a :class:`graphdep.Sentence` with spans of words,
    whose tree is read, while all else is parsed. All have one span, or all have two.

    Args:
        encoder: Name or folder of a pretrained Hugging Face encoder; :obj:`None` or ``"transformer"`` for one
            that is trained from nothing, on words. (default: :obj:`None`)
        model: The syntax in it: a model of ``graphdep train``, such as ``"dt"``, ``"transformer"`` (none),
            ``"bilstm"``, or on a pretrained encoder ``"bert"`` (none), ``"bert-dt"``. (default: ``"dt"``, and
            ``"bert-dt"`` on a pretrained encoder)
        edges: What a word attends to, instead of the model's own edges: a name of
            :func:`graphdep.transforms.resolve`, or any transform. A transform is kept in copies and pickles,
            and no file of :meth:`save` can hold it: :meth:`load` has to be given the same. (default:
            :obj:`None`)
        parser: Name for :func:`graphdep.parsing.resolve_parser`. (default: ``"bundled"``)
        outside: The label that stands for no finding, which F1 leaves out. (default: :obj:`None`)
        validation_fraction: The share of the sentences that the best epoch is chosen on, and that is not
            trained on. (default: :obj:`0.1`)
        random_state: Seed of the weights, of the order of the sentences, dropout, and what validates; a
            ``RandomState`` or :obj:`None` draws one. (default: :obj:`0`)
        batch_size: Examples a batch, in training and prediction. (default: :obj:`32`)
        device: Such as ``"cpu"`` or ``"cuda"``; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show the epochs on stderr. (default: :obj:`True`)
        folder: Keeps the run, with its ``best.ckpt``, the sentences and their parses; :obj:`None` keeps the
            model alone, in memory. (default: :obj:`None`)
        cache: SQLite file that keeps the parses, those of predictions too, so that none is made twice;
            :obj:`None` keeps those of training in :obj:`folder`, or without one as long as this process
            lives. (default: :obj:`None`)
        callbacks: Lightning's callbacks for the training, see :func:`graphdep.training.train`. (default:
            none)
        max_words, truncate: Words of a sentence at most, and whether the first ones of a longer sentence are
            read, which else is an error. (default: :obj:`10_000`, :obj:`False`)
        **settings: Any further setting of ``graphdep train --task spans``, such as :obj:`max_epochs`,
            :obj:`lr` or :obj:`readout`.

    Attributes:
        classes\_: The labels, sorted, as in the columns of :meth:`predict_proba`.
        history\_: The values of each epoch of the training, as in its ``metrics.csv``.
        result\_: What ``graphdep train`` reports of the run, its ``"checkpoint"`` being :obj:`None` without
            :obj:`folder`; a loaded model has none.
        parser_failures: Sentences of the last prediction that have a chain for a tree.
        lost_spans: Examples of the last prediction without a label, since a span is not read:
            :obj:`truncate` has cut it, or a pretrained encoder had no room for it.

    Example:
        >>> from graphdep import SpanClassifier
        >>> verbs = {"makes": "cause", "brings": "cause", "needs": "effect", "follows": "effect"}
        >>> texts = [f"<e1>Rain</e1> {verb} <e2>{a}</e2>." for verb in verbs for a in ("mud", "fog", "ice")]
        >>> labels = [label for label in verbs.values() for _ in range(3)]
        >>> model = SpanClassifier(model="dt", max_epochs=5, lr=0.01, progress=False).fit(texts, labels)
        >>> model.classes_, model.predict(texts[:1]).shape
        (array(['cause', 'effect'], dtype='<U6'), (1,))
        >>> model.predict_proba([["Snow", "makes", "ice"]], spans=[[(0, 1), (2, 3)]]).shape
        (1, 2)
    """

    task = "spans"
    answers = "labels of marked spans"
    predictor = SpanPredictor
    own = ("outside",)
    usual_models = ("dt", "bert-dt")
    _predictor: SpanPredictor | None = None

    def __init__(
        self,
        encoder: str | os.PathLike[str] | None = None,
        model: str | None = None,
        *,
        edges: str | BaseTransform | None = None,
        parser: str | Parser = "bundled",
        outside: str | None = None,
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
        self.outside = outside
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

    def fit(self, sentences: Any, labels: Any, spans: Any = None) -> SpanClassifier:
        """Trains on sentences and their labels.

        Args:
            sentences: Texts, lists of words, or parsed sentences.
            labels: A text for each.
            spans: For each sentence one ``(start, end)`` or two, from 0, the end not included, of characters
                of a text or of words; :obj:`None` for texts with tags. (default: :obj:`None`)

        Raises:
            TypeError: If something is no sentence, span or label; the message has its position.
            ValueError: If a span is none, some sentences have one and others two, one has more than
                :obj:`max_words` words, there are fewer than two labels or sentences, or a setting is wrong.
            TrainingError: If the loss is not finite any more.
        """
        examples = self._examples(sentences, spans, len(span_sentences(sentences, spans)[0].spans))
        named = _check_labels(labels, len(examples))
        if len(set(named)) < 2:
            raise ValueError(f"'labels' must have at least two labels (got {sorted(set(named))})")
        if len({tuple(example.words) for example in examples}) < 2:
            raise ValueError("'sentences' must be at least two different ones, one of them to validate")
        rows = (_row(example, label, plain(self.max_words)) for example, label in zip(examples, named))
        text = "".join(json.dumps(row) + "\n" for row in rows)
        self._train_on(text, "spans", outside=self.outside)
        return self

    def predict(self, sentences: Any, spans: Any = None) -> np.ndarray:
        """The most likely label of each sentence, ``[n]``; an array of objects with :obj:`None` where a span
        is not read (:attr:`lost_spans`).

        Raises:
            TypeError, ValueError: As :meth:`fit`, and if there are more or fewer spans than in training.
        """
        labels = [answer.label for answer in self._answers(sentences, spans)]
        return np.array(labels, dtype=object if None in labels else None)

    def predict_proba(self, sentences: Any, spans: Any = None) -> np.ndarray:
        """The probability of each label, ``[n, num_classes]``, float64; zeros where a span is not read.

        Raises:
            TypeError, ValueError: As :meth:`predict`.
        """
        answers = self._answers(sentences, spans)
        return torch.stack([answer.probabilities for answer in answers]).numpy()[:, self._order]

    def score(self, sentences: Any, labels: Any, spans: Any = None) -> float:
        """The share of the sentences that get their label; what has none counts as wrong.

        Raises:
            TypeError, ValueError: As :meth:`predict`.
        """
        predicted = self.predict(sentences, spans)
        return float(np.mean(predicted == np.array(_check_labels(labels, len(predicted)), dtype=object)))

    @classmethod
    def _arguments_of(cls, config: Any) -> dict[str, Any]:
        own = {"encoder": config.encoder if config.pretrained else None, "outside": config.outside}
        files = {} if config.kind == "spans" else {"validation_fraction": config.val_fraction}
        return {"model": config.model, **own, **files}

    def _given(self, path: Path, folder: Path, own: Mapping[str, Any]) -> dict[str, Any]:
        given = super()._given(path, folder, own)
        return {name: value for name, value in given.items() if name not in _NO_SETTINGS}

    def _answers(self, sentences: Any, spans: Any) -> list[SpanAnswer]:
        predictor: SpanPredictor = self._ready()
        predictor.limit = self._limit
        answers = predictor.answers(self._examples(sentences, spans, predictor.num_spans))
        self.parser_failures, self.lost_spans = predictor.parser_failures, predictor.lost_spans
        return answers

    def _examples(self, sentences: Any, spans: Any, num_spans: int) -> list[SpanExample]:
        """The sentences with their spans, as many as they must have, and no longer than is read."""
        limit = self._limit
        examples = span_sentences(sentences, spans)
        for number, example in enumerate(examples):
            if num_spans != len(example.spans):
                other = "the model was trained on" if self._predictor else "'sentences[0]' has"
                raise ValueError(
                    f"'sentences[{number}]' has {len(example.spans)} marked spans, but {other} {num_spans}"
                )
            if len(example) > limit.max_words and not limit.truncate:
                most = f"more than max_words={limit.max_words}"
                how = "allow more, or read the first ones with truncate"
                raise ValueError(f"'sentences[{number}]': {len(example)} words, {most}: {how}")
        return examples

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


def _check_labels(labels: Any, count: int) -> list[str]:
    rows = [plain(label) for label in listed("labels", labels)]
    if len(rows) != count:
        raise ValueError(f"'labels' must have a label for each of {count} sentences (got {len(rows)})")
    for number, label in enumerate(rows):
        check_text(f"labels[{number}]", label, "label")
        check_name(f"labels[{number}]", label)
    return rows


def _row(example: SpanExample, label: str, most: int) -> dict[str, Any]:
    """An example as a line of the file that is trained on, with so many words at most."""
    if any(stop > most for _, stop in example.spans):
        raise example.error(f"a span is beyond max_words={most}")
    row: dict[str, Any] = {"words": list(example.words[:most]), "spans": [list(one) for one in example.spans]}
    if example.tree is not None:
        tree = truncate(example.tree, most)
        row |= {"head": tree.head, "deprel": tree.deprel}
    return row | {"label": label}
