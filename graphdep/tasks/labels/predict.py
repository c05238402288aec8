"""Labels of words from a trained model."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from itertools import repeat
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from lightning import Callback
from torch import Tensor
from torch_geometric.transforms import BaseTransform

from graphdep.data.node_table import mark_words
from graphdep.datasets.base.rows import (
    TextRow,
    check_keys,
    read_text_rows,
    row_raw,
    row_words,
    taken,
    tree_values,
)
from graphdep.datasets.labels.bio import OUTSIDE, recoded
from graphdep.datasets.labels.own import KEYS, read_own_sentences, row_mark, sentence_places, with_labels
from graphdep.datasets.labels.words import UPOS, Column, LabelledWords, marked_word
from graphdep.io.files import placed
from graphdep.io.limits import MAX_WORDS, and_unparsed, listed, plural, shown
from graphdep.io.trees import read_conllu
from graphdep.parsing.inputs import ADVICE, entries, has_own_tree, read_inputs
from graphdep.parsing.parser import Input, Parser, WordLimit
from graphdep.sentence.conllu import format_conllu
from graphdep.sentence.intake import Intake, given_tree
from graphdep.sentence.sentence import Sentence, truncate
from graphdep.sentence.tree import Constituent
from graphdep.tasks.labels.settings import LabelConfig
from graphdep.training.checkpoint import RunState
from graphdep.training.estimator import (
    Predictor,
    TaskEstimator,
    check_different,
    check_learnable,
)
from graphdep.training.family import FilePrediction, FileRequest


class WordAnswer(NamedTuple):
    """The predictions for a sentence.

    Args:
        labels: The label of each word; :obj:`None` for words beyond the length limit of the encoder.
        probabilities: ``[words, classes]``, float64, of single words, even if a chain has chosen the labels;
            zeros for words beyond the limit.
    """

    labels: list[str | None]
    probabilities: Tensor

    def padded(self, words: int) -> WordAnswer:
        """The predictions extended to a number of words, without predictions for the last."""
        cut = words - len(self.labels)
        rest = self.probabilities.new_zeros(cut, self.probabilities.size(1))
        return WordAnswer([*self.labels, *[None] * cut], torch.cat([self.probabilities, rest]))


def takes_marks(state: RunState) -> bool:
    """Whether a model was trained with marks; otherwise their vector is random."""
    return cast(LabelConfig, state.config).marked and state.data["marked"]["train"] > 0


def needs_marks(state: RunState) -> bool:
    """Whether all training sentences had a marked word."""
    config = cast(LabelConfig, state.config)
    if config.word_task.needs_mark or not config.marked:
        return config.word_task.needs_mark
    return 0 < state.data["examples"]["train"] <= state.data["marked"]["train"]


_KEY = "misc:Label"
"""The place of labels that were not learned from a column."""


def predict_conllu(task: Any, request: FileRequest) -> FilePrediction:
    """A CoNLL-U file with predicted labels in the column that they were learned from, or in MISC as
    ``Label``; the rest is unchanged. As in training, trees are the file's or a parser's, and marks are read
    with ``mark_key``. Words beyond the length limit of the encoder have no label.

    Raises:
        ValueError: If it is not a CoNLL-U file, an option is for texts, the model needs marks, or it has
            diverged.
        OSError: If the file cannot be read.
    """
    state = cast(RunState, request.state)
    config = cast(LabelConfig, state.config)
    mark_key = getattr(config, "mark_key", None)
    if needs_marks(state) and mark_key is None:
        raise ValueError(
            f"{request.checkpoint}: trained on the task {config.task!r}, which needs a marked word: use a "
            f".jsonl file, or a .conllu file if training had a 'mark_key' (got {str(request.source)!r})"
        )
    _refuse(text_columns=request.text_columns, truncate=request.limit.truncate)
    own, model = config.reads_own_trees, WordLabeller._of_request(task, request)
    sentences = [*(request.trees or read_conllu(request.source, max_words=request.limit.max_words))]
    marks = _marks(request, sentences, mark_key, needs_marks(state))
    trees = [given_tree(sentence, own, config.arcs) for sentence in sentences]
    given = [tuple(one.form) if tree is None else tree for one, tree in zip(sentences, trees)]
    answers = model._answers(given, marks)
    key = next(iter(state.data.get("key", {}).values()), None)
    column = Column(_KEY) if key is None else Column(key, config.absent)
    named = [column.write(sentence, answer.labels) for sentence, answer in zip(sentences, answers)]
    words, failures, cut = sum(map(len, sentences)), model.parser_failures, model.cut_words
    counts = {"key": column.key, "parser_failures": failures, "cut_words": cut}
    said = f"{column.key} of {plural(words, 'word')} in {plural(len(sentences), 'sentence')}"
    return model._prediction(
        "".join(format_conllu(sentence) + "\n" for sentence in named),
        {"sentences": len(sentences), "words": words, **counts},
        [f"{plural(cut, 'word')} without a label, beyond the encoder's max_length"] if cut else [],
        and_unparsed(said, failures),
    )


def predict_columns(task: Any, request: FileRequest) -> FilePrediction:
    """A file of columns with predicted labels: in the last column of words and labels, in a new column after
    words only, or in the columns of roles, one per marked predicate; the rest is unchanged. With ``.jsonl``
    as output, rows as by :func:`predict_json_lines`. Sentences without trees in the file are parsed.

    Raises:
        ValueError: If a row is invalid, the file lacks marks that the model needs, or has marks that it was
            not trained with, an option is for texts, or the model has diverged.
        OSError: If the file cannot be read.
    """
    state = cast(RunState, request.state)
    config = cast(LabelConfig, state.config)
    _refuse(text_columns=request.text_columns, truncate=request.limit.truncate)
    model, outside = WordLabeller._of_request(task, request), config.outside_label or OUTSIDE
    found = read_own_sentences(
        request.source,
        Column(UPOS),
        model._ready().intake(),
        outside=outside,
        constituents=config.reads_constituents,
        labelled=False,
    )
    examples = [example.cut(request.limit) for example in found.examples]
    roles, source = found.layout is not None, str(request.source)
    if roles and not takes_marks(state):
        raise ValueError(f"{source}: roles of marked words are for models that were trained with marks")
    if not roles and needs_marks(state):
        raise ValueError(f"{source}: the model needs a marked word, but the file has no marks")
    trees = [given_tree(example.tree, config.reads_own_trees, config.arcs) for example in examples]
    given = [tuple(example.words) if tree is None else tree for example, tree in zip(examples, trees)]
    marks = [example.mark for example in examples]
    constituents = [None if config.parses_words else example.constituents for example in examples]
    answers = model._answers(given, marks, constituents)
    words, cut = sum(map(len, examples)), model.cut_words
    parsed, failures = model._ready().parsed, model.parser_failures
    counts = {"parsed": parsed, "parser_failures": failures, "cut_words": cut}
    labels = [answer.labels for answer in answers]
    rows = (_row(example) | {_LABELS: own} for example, own in zip(examples, labels))
    objects = request.output == ".jsonl"
    unread = [f"{plural(cut, 'word')} without a label, beyond the encoder's max_length"]
    said = f"labels of {plural(words, 'word')} in {plural(len(examples), 'example')}"
    return model._prediction(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        if objects
        else with_labels(request.source, found, labels, outside),
        {"sentences": len(examples), "words": words, **counts},
        [*found.notes, *(unread if cut else [])],
        and_unparsed(said, failures, parsed=parsed),
    )


def _refuse(**options: Any) -> None:
    """Raises :class:`ValueError` if an option for files of texts is given."""
    for name, given in options.items():
        if given:
            raise ValueError(f"{name!r} is for files of texts (got {given!r})")


def _marks(request: FileRequest, sentences: list[Sentence], key: str | None, needs: bool) -> list[int | None]:
    """The marked word of each sentence."""
    if key is None:
        return [None] * len(sentences)
    column, marks = Column(key), []
    places = sentence_places(request.source) if request.source.suffix.lower() == ".conllu" else []
    if len(places) != len(sentences):  # another format, or sentences were skipped
        places = [f"{request.source}: sentence {number}" for number in range(1, len(sentences) + 1)]
    for place, sentence in zip(places, sentences):
        mark = marked_word(sentence, column, place)
        if mark is None and needs:
            raise ValueError(f"{place}: the model needs a marked word, but none has {key!r}")
        marks.append(mark)
    return marks


_LABELS = "labels"


def predict_json_lines(task: Any, request: FileRequest) -> FilePrediction:
    """A file of ``{"words": [...], "mark": 3}`` with predicted ``labels``, which replace those in the file;
    the rest is unchanged. Sentences without ``head`` and ``deprel`` are parsed. Words beyond ``max_words`` or
    the length limit of the encoder have ``null``.

    Raises:
        ValueError: If a row is invalid, lacks a mark that the model needs, or has a mark that it was not
            trained with (the message has file, line and value); an option is for texts; or the model has
            diverged.
        OSError: If the file cannot be read.
    """
    state = cast(RunState, request.state)
    _refuse(text_columns=request.text_columns)
    rows = read_text_rows(request.source, ["words"])
    for row in rows:
        check_keys(row, [key for key in KEYS if key != _LABELS], [_LABELS])
    model = WordLabeller._of_request(task, request)
    trees, _ = taken([row_raw(row, row_words(row)) for row in rows], model._ready().intake())
    config = cast(LabelConfig, state.config)
    trees = [given_tree(tree, not config.parses_words, config.arcs) for tree in trees]
    sentences = [_sentence(row, tree, request.limit) for row, tree in zip(rows, trees)]
    needs, takes = needs_marks(state), takes_marks(state)
    marks = [_mark(row, len(sentence), needs, takes) for row, sentence in zip(rows, sentences)]
    answers = model._answers(sentences, marks)
    lines, cut = [], 0
    for row, answer in zip(rows, answers):
        missing = len(row.values["words"]) - len(answer.labels)
        labels = [*answer.labels, *[None] * missing]
        cut += labels.count(None)
        lines.append(json.dumps(row.values | {_LABELS: labels}, ensure_ascii=False) + "\n")
    words, replaced = (
        sum(len(row.values["words"]) for row in rows),
        sum(_LABELS in row.values for row in rows),
    )
    parsed, failures = model._ready().parsed, model.parser_failures
    counts = {"parsed": parsed, "parser_failures": failures, "cut_words": cut}
    said = f"labels of {plural(words, 'word')} in {plural(len(rows), 'sentence')}"
    return model._prediction(
        "".join(lines),
        {"sentences": len(rows), "words": words, **counts, "replaced": replaced},
        [
            *([f"labels of {plural(replaced, 'row')} were replaced"] if replaced else []),
            *([f"{plural(cut, 'word')} without a label, beyond max_words or max_length"] if cut else []),
        ],
        and_unparsed(said, failures, parsed=parsed),
    )


def _sentence(row: TextRow, tree: Sentence | None, limit: WordLimit) -> Input:
    """The words up to the limit, or their tree."""
    words, most = row.values["words"], limit.max_words
    if len(words) > most and not limit.truncate:
        advice = "allow more, or read the first with truncate"
        raise row.error(f"'words' has more than max_words={most} words: {advice}", len(words))
    return tuple(words[:most]) if tree is None else truncate(tree, most)


def _mark(row: TextRow, left: int, needs: bool, takes: bool) -> int | None:
    mark = row_mark(row, row.values["words"])
    if mark is None and needs:
        raise row.error("no 'mark' (number of a word, from 0): the model needs a marked word")
    if mark is not None and not takes:
        raise row.error("'mark' is for models that were trained with marks", mark)
    if mark is not None and mark >= left:
        raise row.error("'mark' is a word beyond max_words", mark)
    return mark


class WordLabeller(TaskEstimator):
    r"""Labels the words of sentences with an encoder whose attention follows their syntax.

    :meth:`fit` trains an encoder from scratch, or fine-tunes a pretrained one, like ``graphdep train --task
    labels``. A sentence is a list of words, which is parsed, or a parse, as in :class:`SequenceClassifier`.
    If one word of each sentence is marked, such as the predicate of semantic roles, ``marks`` has its number.

    Args:
        encoder: Name or folder of a pretrained Hugging Face encoder; :obj:`None` or ``"transformer"`` for an
            encoder of words from scratch. (default: :obj:`None`)
        model: A model of ``graphdep train``: from scratch e.g. ``"dt"``, ``"transformer"`` (no syntax),
            ``"bilstm"``; with a pretrained encoder e.g. ``"bert"`` (no syntax), ``"bert-dt"``. (default:
            ``"dt"`` or ``"bert-dt"``)
        edges: Edges instead of the model's: a name for :func:`graphdep.transforms.resolve`, or a transform.
            Copies and pickles keep a transform, files of :meth:`save` do not: give it to :meth:`load`.
            (default: :obj:`None`)
        parser: Name for :func:`graphdep.parsing.resolve_parser`. (default: ``"bundled"``)
        scheme: ``"words"``, or ``"bio"`` for BIO labels of spans, for which the best epoch is that with the
            best F1 of spans. (default: ``"words"``)
        outside: The negative label, which F1 leaves out. (default: ``"O"``)
        validation_fraction: Share of the sentences for validation, by which the best epoch is chosen.
            (default: :obj:`0.1`)
        random_state: Seed of weights, order of sentences, dropout and validation share; with a
            ``RandomState`` or :obj:`None` a random one. (default: :obj:`0`)
        batch_size: Sentences per batch, in training and prediction. (default: :obj:`32`)
        device: E.g. ``"cpu"`` or ``"cuda"``; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show epochs on stderr. (default: :obj:`True`)
        folder: Folder to keep the run in, with ``best.ckpt``, sentences and parses; :obj:`None` keeps only
            the model, in memory. (default: :obj:`None`)
        cache: SQLite file that keeps all parses; :obj:`None` keeps those of training in :obj:`folder`, or
            without one in a temporary file that the fits of this process share. (default: :obj:`None`)
        callbacks: Lightning callbacks for training, see :func:`graphdep.training.train`. (default: none)
        max_words, truncate: Longest sentence in words, and whether longer ones are cut instead of an error.
            (default: :obj:`10_000`, :obj:`False`)
        **settings: Further settings of ``graphdep train --task labels``, such as :obj:`max_epochs`,
            :obj:`lr` or :obj:`crf`.

    Attributes:
        classes\_: The sorted labels, in the order of the columns of :meth:`predict_proba`.
        history\_: The values of each epoch, as in ``metrics.csv``.
        result\_: The result of the run as in ``result.json``, with ``"checkpoint"`` :obj:`None` without
            :obj:`folder`; loaded models have none.
        own_trees: Whether each sentence of the last fit or prediction came with a tree, ``[n]``.
        tree_counts: Numbers of given trees in the last fit or prediction, of bad ones by reason, and of
            converted ones by scheme (:meth:`Intake.counts`).
        parser_failures: Number of sentences in the last prediction whose tree is a chain.
        cut_words: Number of words in the last prediction without a label, beyond :obj:`max_words` or the
            length limit of the encoder.

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
    called = "the labeller"
    own = ("scheme", "outside")
    usual_models = ("dt", "bert-dt")
    scheme: str
    outside: str | None
    own_trees: np.ndarray

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
        self._keep(locals())

    def fit(self, sentences: Any, labels: Any, marks: Any = None) -> WordLabeller:
        """Trains on sentences and the labels of their words.

        Args:
            sentences: Lists of words, or parses.
            labels: For each sentence a list with the label of each word, :obj:`None` for words that are not
                scored.
            marks: For each sentence the number of its marked word, from 0, or :obj:`None`. (default:
                :obj:`None`, no marks)

        Raises:
            TypeError: If a sentence, word or label has a wrong type; the message has its position.
            ValueError: If a parse is not a tree, the numbers of labels and words, or of marks and sentences,
                differ, a sentence has more than :obj:`max_words` words, there are fewer than two labels or
                different sentences, or a setting is invalid.
            TrainingError: If the loss is not finite.
        """
        intake = self._intake()
        read = self._read(sentences, marks, intake)
        examples = self._labelled(read, labels)
        found = {label for example in examples for label in example.labels if label is not None}
        check_learnable("labels", found)
        check_different("sentences", (tuple(example.words) for example in examples))
        text = "".join(json.dumps(_row(example)) + "\n" for example in examples)
        self.own_trees = has_own_tree([example.tree for example in examples])
        self._train_on(text, "sentences", intake, scheme=self.scheme, outside=self.outside)
        return self

    def predict(self, sentences: Any, marks: Any = None) -> list[list[str | None]]:
        """The labels of the words of each sentence; with ``crf`` or ``decode="viterbi"`` the best sequence.
        Words beyond the limits (:attr:`cut_words`) have :obj:`None`.

        Raises:
            TypeError, ValueError: See :meth:`fit`.
        """
        return [answer.labels for answer in self._asked(sentences, marks)]

    def predict_proba(self, sentences: Any, marks: Any = None) -> list[np.ndarray]:
        """The probabilities of the labels of each word, per sentence ``[words, num_classes]``, float64: of
        single words, even with ``crf``; zeros for words beyond the limits.

        Raises:
            TypeError, ValueError: See :meth:`fit`.
        """
        answers = self._asked(sentences, marks)
        return [answer.probabilities.numpy()[:, self._order] for answer in answers]

    def score(self, sentences: Any, labels: Any, marks: Any = None) -> float:
        """The accuracy over the words with a label. Labels that training lacked and words beyond the limits
        count as wrong.

        Raises:
            TypeError, ValueError: See :meth:`fit`, and if no word has a label.
        """
        predicted = self.predict(sentences, marks)
        asked = _check_labels(labels, [len(row) for row in predicted])
        pairs = [pair for row in zip(asked, predicted) for pair in zip(*row) if pair[0] is not None]
        if not pairs:
            raise ValueError("'labels' must have a label for at least one word")
        return sum(label == mine for label, mine in pairs) / len(pairs)

    @classmethod
    def _arguments_of(cls, config: Any) -> dict[str, Any]:
        arguments = super()._arguments_of(config)
        own = {"encoder": config.encoder if config.pretrained else None}
        return {**arguments, **own, "scheme": config.label_scheme, "outside": config.outside_label}

    def _read(self, sentences: Any, marks: Any, intake: Intake) -> list[LabelledWords]:
        """The checked sentences with marks, without labels."""
        given = entries("sentences", sentences, "sentence")
        for place, sentence in given:
            if isinstance(sentence, str):
                raise TypeError(f"{place!r} must be a list of words or a parse (got {shown(sentence)})")
        read = read_inputs(given, intake)
        marks = [None] * len(read) if marks is None else listed("marks", marks, len(read))
        for number, mark in enumerate(marks):
            if mark is not None and type(mark) is not int:
                raise TypeError(f"'marks[{number}]' must be the number of a word (got {shown(mark)})")
        return [
            LabelledWords(
                one.form if isinstance(one, Sentence) else one,
                [None] * len(one),
                mark=mark,
                tree=one if isinstance(one, Sentence) else None,
                place=repr(place),
            )
            for (place, _), one, mark in zip(given, read, marks)
        ]

    def _labelled(self, read: Sequence[LabelledWords], labels: Any) -> list[LabelledWords]:
        """The training examples, cut to the limit of words."""
        asked = _check_labels(labels, [len(one) for one in read])
        examples = []
        for one, row in zip(read, asked):
            example = LabelledWords(one.words, row, mark=one.mark, tree=one.tree, place=one.place)
            if self.scheme == "bio":
                with placed(example.place):
                    recoded(row, "IOB2")
            examples.append(example.cut(self._limit))
        return examples

    def _asked(self, sentences: Any, marks: Any) -> list[WordAnswer]:
        read = self._read(sentences, marks, self._ready().intake(ADVICE))
        _check_marks(self._ready().state, read)
        kept = [one.cut(self._limit) for one in read]
        given: list[Input] = [tuple(one.words) if one.tree is None else one.tree for one in kept]
        answers = self._answers(given, [one.mark for one in kept])
        whole = [answer.padded(len(one)) for answer, one in zip(answers, read)]
        self.cut_words = sum(answer.labels.count(None) for answer in whole)
        return whole

    def _answers(
        self,
        sentences: Sequence[Input],
        marks: Sequence[int | None],
        constituents: Sequence[Sequence[Constituent] | None] | None = None,
    ) -> list[WordAnswer]:
        """The predictions for sentences with marked words; given constituents replace the parser's."""
        known = self._ready()
        trees = [
            tree if own is None else dataclasses.replace(tree, constituents=[*own])
            for tree, own in zip(known.trees(sentences), constituents or repeat(None))
        ]
        found: list[WordAnswer] = []
        for part in known.chunks(len(trees)):
            found += self._chunk(known, trees[part], marks[part])
        self.own_trees, self.parser_failures = has_own_tree(sentences), known.parser_failures
        self.tree_counts = known.taken.counts()
        self.cut_words = sum(answer.labels.count(None) for answer in found)
        return found

    @torch.inference_mode()
    def _chunk(
        self, known: Predictor, trees: list[Sentence], marks: Sequence[int | None]
    ) -> list[WordAnswer]:
        made = [known.data([graph]) for graph in known.graphs(trees)]
        if known.config.marked:
            for data, tree, mark in zip(made, trees, marks):
                mark_words(data, [int(word == mark) for word in range(len(tree))])
        found: dict[int, WordAnswer] = {}
        labels = self._classes(known.state)
        for numbers, batch in known.batches(made):
            left = [int(made[number].word.max()) + 1 for number in numbers]
            logits = known.check_finite(known.task(batch).float())
            best = known.task.predict(batch, logits).cpu().split(left)
            shares = logits.double().softmax(dim=-1).cpu().split(left)
            for number, one, share in zip(numbers, best, shares):
                answer = WordAnswer([labels[label] for label in one.tolist()], share)
                found[number] = answer.padded(len(trees[number]))
        return [found[number] for number in range(len(trees))]


def _check_marks(state: RunState, read: Sequence[LabelledWords]) -> None:
    needs, takes = needs_marks(state), takes_marks(state)
    for number, one in enumerate(read):
        if one.mark is None and needs:
            raise ValueError(
                f"'marks[{number}]' must be the number of a word, from 0: the model was trained with a "
                "marked word in every sentence (got None)"
            )
        if one.mark is not None and not takes:
            raise ValueError(f"'marks[{number}]' is for models that were trained with marks (got {one.mark})")


def _check_labels(labels: Any, sizes: Sequence[int]) -> list[list[str | None]]:
    """Checks that there is a label or :obj:`None` for each word."""
    rows = listed("labels", labels, len(sizes))
    for number, (row, size) in enumerate(zip(rows, sizes)):
        rows[number] = row = listed(f"labels[{number}]", row, size, "words")
        for place, label in enumerate(row):
            if label is not None and not isinstance(label, str):
                raise TypeError(f"'labels[{number}][{place}]' must be a text or None (got {shown(label)})")
    return rows


def _row(example: LabelledWords) -> dict[str, Any]:
    """An example as a line of the training file."""
    row: dict[str, Any] = {"words": list(example.words), "labels": list(example.labels)}
    if example.mark is not None:
        row["mark"] = example.mark
    if example.tree is not None:
        row |= tree_values(example.tree)
    return row
