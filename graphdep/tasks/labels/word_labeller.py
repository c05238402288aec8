"""Words and their labels in, labels out: training and prediction as a scikit-learn estimator."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from lightning import Callback
from torch_geometric.transforms import BaseTransform

from graphdep.datasets.labels.words import OUTSIDE, LabelledWords, check_bio
from graphdep.io.files import has_half_character
from graphdep.io.limits import MAX_WORDS, check_list, shown
from graphdep.parsing import Parser
from graphdep.sentence import Sentence
from graphdep.tasks.labels.word_predictor import WordAnswer, WordPredictor
from graphdep.training.estimator import TaskEstimator, plain


class WordLabeller(TaskEstimator):
    r"""Labels the words of sentences with an encoder whose attention follows their syntax.

    :meth:`fit` trains an encoder from nothing, or fine-tunes a pretrained one, as ``graphdep train --task
    labels`` does. A sentence is a list of words, which is parsed, or a :class:`graphdep.Sentence`, whose tree
    is read. Where one word of each sentence is marked, such as the predicate whose arguments the labels are,
    its number goes into ``marks``.

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
        scheme: ``"words"``, or ``"bio"`` for labels that say where spans begin and go on; the best epoch is
            then the one with the best F1 of whole spans. (default: ``"words"``)
        outside: The label that stands for no finding, which F1 leaves out. (default: ``"O"``)
        validation_fraction: The share of the sentences that the best epoch is chosen on, and that is not
            trained on. (default: :obj:`0.1`)
        random_state: Seed of the weights, of the order of the sentences, dropout, and what validates; a
            ``RandomState`` or :obj:`None` draws one. (default: :obj:`0`)
        batch_size: Sentences a batch, in training and prediction. (default: :obj:`32`)
        device: Such as ``"cpu"`` or ``"cuda"``; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show the epochs on stderr. (default: :obj:`True`)
        folder: Keeps the run, with its ``best.ckpt``, the sentences and their parses; :obj:`None` keeps the
            model alone, in memory. (default: :obj:`None`)
        cache: SQLite file that keeps the parses, those of predictions too, so that none is made twice, by
            whatever process; :obj:`None` keeps those of training in :obj:`folder`, or without one as long as
            this process lives, so that the fits of a search share them. (default: :obj:`None`)
        callbacks: Lightning's callbacks for the training, see :func:`graphdep.training.train`. (default:
            none)
        max_words, truncate: Words of a sentence at most, and whether the first ones of a longer sentence are
            read, which else is an error. (default: :obj:`10_000`, :obj:`False`)
        **settings: Any further setting of ``graphdep train --task labels``, such as :obj:`max_epochs`,
            :obj:`lr` or :obj:`crf`.

    Attributes:
        classes\_: The labels, sorted, as in the columns of :meth:`predict_proba`.
        history\_: The values of each epoch of the training, as in its ``metrics.csv``.
        result\_: What ``graphdep train`` reports of the run, its ``"checkpoint"`` being :obj:`None` without
            :obj:`folder`; a loaded model has none.
        parser_failures: Sentences of the last prediction that have a chain for a tree.
        cut_words: Words of the last prediction without a label: :obj:`truncate` has cut them, or a pretrained
            encoder had no room for them.

    Example:
        >>> from graphdep import WordLabeller
        >>> sentences, labels = [["Ann", "sings"], ["It", "rains"]] * 10, [["N", "V"], ["P", "V"]] * 10
        >>> model = WordLabeller(model="dt", max_epochs=5, lr=0.01, progress=False).fit(sentences, labels)
        >>> model.classes_, [len(row) for row in model.predict([["Ann", "rains"]])]
        (array(['N', 'P', 'V'], dtype='<U1'), [2])
        >>> model.save("tags.ckpt")
        >>> WordLabeller.load("tags.ckpt").predict_proba([["Ann", "rains"]])[0].shape
        (2, 3)
    """

    task = "labels"
    answers = "labels of words"
    predictor = WordPredictor
    called = "the labeller"
    own = ("scheme", "outside")
    usual_models = ("dt", "bert-dt")
    _predictor: WordPredictor | None = None

    def __init__(
        self,
        encoder: str | os.PathLike[str] | None = None,
        model: str | None = None,
        *,
        edges: str | BaseTransform | None = None,
        parser: str | Parser = "bundled",
        scheme: str = "words",
        outside: str | None = OUTSIDE,
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
        self.scheme = scheme
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

    def fit(self, sentences: Any, labels: Any, marks: Any = None) -> WordLabeller:
        """Trains on sentences and the labels of their words.

        Args:
            sentences: Lists of words, or parsed sentences.
            labels: For each sentence a list with a text for each word, or :obj:`None`, which is not scored.
            marks: For each sentence the number of its marked word, from 0, or :obj:`None`; :obj:`None` for no
                mark anywhere. (default: :obj:`None`)

        Raises:
            TypeError: If something is no list, word or label; the message has its position.
            ValueError: If there are not as many labels as words, or marks as sentences, a sentence has more
                than :obj:`max_words` words, there is one label or one sentence alone, or a setting is wrong.
            TrainingError: If the loss is not finite any more.
        """
        read = self._read(sentences, marks)
        examples = self._labelled(read, labels)
        found = {label for example in examples for label in example.labels if label is not None}
        if len(found) < 2:
            raise ValueError(f"'labels' must have at least two labels (got {sorted(found)})")
        if len({tuple(example.words) for example in examples}) < 2:
            raise ValueError("'sentences' must be at least two different ones, one of them to validate")
        text = "".join(json.dumps(_row(example)) + "\n" for example in examples)
        self._train_on(text, "sentences", scheme=self.scheme, outside=self.outside)
        return self

    def predict(self, sentences: Any, marks: Any = None) -> list[list[str | None]]:
        """The label of each word, sentence by sentence; with ``crf`` or ``decode="viterbi"`` the best
        sequence of them. A word that is not read (:attr:`cut_words`) has :obj:`None`.

        Raises:
            TypeError, ValueError: As :meth:`fit`.
        """
        return [answer.labels for answer in self._answers(sentences, marks)]

    def predict_proba(self, sentences: Any, marks: Any = None) -> list[np.ndarray]:
        """For each sentence the probability of each label at each word, ``[words, num_classes]``, float64: of
        each word by itself, whatever chain of labels :meth:`predict` finds. A word that is not read has
        zeros.

        Raises:
            TypeError, ValueError: As :meth:`fit`.
        """
        answers = self._answers(sentences, marks)
        return [answer.probabilities.numpy()[:, self._order] for answer in answers]

    def score(self, sentences: Any, labels: Any, marks: Any = None) -> float:
        """The share of the words with a label that get it. Labels that training did not have count as wrong,
        and so do words that are not read.

        Raises:
            TypeError, ValueError: As :meth:`fit`, and if no word has a label.
        """
        predicted = self.predict(sentences, marks)
        asked = _check_labels(labels, [len(row) for row in predicted])
        pairs = [pair for row in zip(asked, predicted) for pair in zip(*row) if pair[0] is not None]
        if not pairs:
            raise ValueError("'labels' must have a label for some word")
        return sum(label == mine for label, mine in pairs) / len(pairs)

    @classmethod
    def _arguments_of(cls, config: Any) -> dict[str, Any]:
        arguments = super()._arguments_of(config)
        own = {"encoder": config.encoder if config.pretrained else None}
        return {**arguments, **own, "scheme": config.scheme, "outside": config.outside}

    def _read(self, sentences: Any, marks: Any) -> list[LabelledWords]:
        """The sentences without labels, checked, and their marks."""
        sentences = _check_sentences(sentences)
        if marks is None:
            marks = [None] * len(sentences)
        marks = [plain(mark) for mark in _listed("marks", marks)]
        if len(marks) != len(sentences):
            raise ValueError(
                f"'marks' must have one for each of {len(sentences)} sentences (got {len(marks)})"
            )
        for number, mark in enumerate(marks):
            if mark is not None and type(mark) is not int:
                raise TypeError(f"'marks[{number}]' must be the number of a word (got {shown(mark)})")
        return [
            LabelledWords(
                sentence.form if isinstance(sentence, Sentence) else sentence,
                [None] * len(sentence),
                mark=mark,
                tree=sentence if isinstance(sentence, Sentence) else None,
                place=f"'sentences[{number}]'",
            )
            for number, (sentence, mark) in enumerate(zip(sentences, marks))
        ]

    def _labelled(self, read: Sequence[LabelledWords], labels: Any) -> list[LabelledWords]:
        """The examples of a training, cut as prediction cuts them."""
        asked = _check_labels(labels, [len(one) for one in read])
        examples = []
        for one, row in zip(read, asked):
            example = LabelledWords(one.words, row, mark=one.mark, tree=one.tree, place=one.place)
            if self.scheme == "bio":
                try:
                    check_bio(row)
                except ValueError as error:
                    raise example.error(str(error)) from None
            examples.append(example.cut(self._limit))
        return examples

    def _answers(self, sentences: Any, marks: Any) -> list[WordAnswer]:
        predictor: WordPredictor = self._ready()
        read = self._read(sentences, marks)
        _check_marks(predictor, read)
        kept = [one.cut(self._limit) for one in read]
        trees = predictor.trees([one.words if one.tree is None else one.tree for one in kept])
        answers = predictor.answers(trees, [one.mark for one in kept])
        whole = [answer.padded(len(one)) for answer, one in zip(answers, read)]
        self.parser_failures = predictor.parser_failures
        self.cut_words = sum(answer.labels.count(None) for answer in whole)
        return whole


def _check_marks(predictor: WordPredictor, read: Sequence[LabelledWords]) -> None:
    needs, takes = predictor.needs_marks, predictor.takes_marks
    for number, one in enumerate(read):
        if one.mark is None and needs:
            raise ValueError(
                f"'marks[{number}]' must be given, the number of the marked word, from 0: the model was "
                "trained with a mark in every sentence (got None)"
            )
        if one.mark is not None and not takes:
            raise ValueError(f"'marks[{number}]' is for models that have learned from marks (got {one.mark})")


def _listed(name: str, values: Any) -> list[Any]:
    """A list, array or Series as a list."""
    values = values.tolist() if hasattr(values, "tolist") else values
    check_list(name, values)
    return list(values)


def _check_sentences(sentences: Any) -> list[list[str] | Sentence]:
    """Lists of words and parsed sentences.

    Raises:
        TypeError, ValueError: If there is none, or one is neither; the message has its position.
    """
    rows = _listed("sentences", sentences)
    if not rows:
        raise ValueError("'sentences' is empty: there must be at least one")
    for number, row in enumerate(rows):
        if isinstance(row, Sentence):
            if row.head.count(0) > 1:
                raise ValueError(f"'sentences[{number}]' must be one tree (got {row.head.count(0)} roots)")
            continue
        rows[number] = words = _listed(f"sentences[{number}]", row)
        if not words:
            raise ValueError(f"'sentences[{number}]' is empty: a sentence has at least one word")
        for place, word in enumerate(words):
            if not isinstance(word, str):
                raise TypeError(f"'sentences[{number}][{place}]' must be a word (got {shown(word)})")
            if not word.strip() or has_half_character(word):
                raise ValueError(f"'sentences[{number}][{place}]' is no word (got {shown(word)})")
        rows[number] = [str(word) for word in words]
    return rows


def _check_labels(labels: Any, sizes: Sequence[int]) -> list[list[str | None]]:
    """A label or :obj:`None` for each word.

    Raises:
        TypeError, ValueError: If it is not that; the message has the position.
    """
    rows = _listed("labels", labels)
    if len(rows) != len(sizes):
        raise ValueError(f"'labels' must have a list for each of {len(sizes)} sentences (got {len(rows)})")
    for number, (row, size) in enumerate(zip(rows, sizes)):
        rows[number] = row = [plain(label) for label in _listed(f"labels[{number}]", row)]
        if len(row) != size:
            raise ValueError(
                f"'labels[{number}]' must have a label for each of {size} words (got {len(row)})"
            )
        for place, label in enumerate(row):
            if label is not None and not isinstance(label, str):
                raise TypeError(f"'labels[{number}][{place}]' must be a text or None (got {shown(label)})")
    return rows


def _row(example: LabelledWords) -> dict[str, Any]:
    """An example as a line of the file that is trained on."""
    row: dict[str, Any] = {"words": list(example.words), "labels": list(example.labels)}
    if example.mark is not None:
        row["mark"] = example.mark
    if example.tree is not None:
        row |= {"head": example.tree.head, "deprel": example.tree.deprel}
    return row
