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
from graphdep.io.limits import MAX_WORDS, listed, plural, shown
from graphdep.io.trees import read_conllu
from graphdep.parsing.inputs import ADVICE, entries, has_own_tree, read_inputs
from graphdep.parsing.parser import Input, Parser, WordLimit
from graphdep.sentence.conllu import format_conllu
from graphdep.sentence.intake import Intake
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
    """What is said of a sentence.

    Args:
        labels: The label of each word; :obj:`None` for words that a pretrained encoder had no room for.
        probabilities: ``[words, classes]``, float64, of each word by itself, whatever chain has chosen the
            labels; zeros for words that were cut.
    """

    labels: list[str | None]
    probabilities: Tensor

    def padded(self, words: int) -> WordAnswer:
        """The answer for so many words, of which nothing is said of the last."""
        cut = words - len(self.labels)
        rest = self.probabilities.new_zeros(cut, self.probabilities.size(1))
        return WordAnswer([*self.labels, *[None] * cut], torch.cat([self.probabilities, rest]))


def takes_marks(state: RunState) -> bool:
    """Whether a model has learned from marks: where training had none, their vector is a random one."""
    return cast(LabelConfig, state.config).marked and state.data["marked"]["train"] > 0


def needs_marks(state: RunState) -> bool:
    """Whether all sentences had a marked word that a model has learned from: of others it knows nothing."""
    config = cast(LabelConfig, state.config)
    if config.word_task.needs_mark or not config.marked:
        return config.word_task.needs_mark
    return 0 < state.data["examples"]["train"] <= state.data["marked"]["train"]


_KEY = "misc:Label"
"""Where the labels of a model go that has not learned them from a column."""


def predict_conllu(task: Any, request: FileRequest) -> FilePrediction:
    """A CoNLL-U file whose words have the labels that a model gives them, in the column that it has learned,
    else in MISC as ``Label``; all else stays as it is. The model reads trees as it was trained: the file's
    own, or a parser's; and marks where it had a ``mark_key``. Words that a pretrained encoder has no room for
    have none.

    Raises:
        ValueError: If it is no CoNLL-U file, an option is for texts, the model needs marks, or it has
            diverged.
        OSError: If the file cannot be read.
    """
    state = cast(RunState, request.state)
    config = cast(LabelConfig, state.config)
    mark_key = getattr(config, "mark_key", None)
    if needs_marks(state) and mark_key is None:
        raise ValueError(
            f"{request.checkpoint}: trained on the task {config.task!r}, which labels words as a marked one "
            f"sees them: a .jsonl file can have the mark, or a .conllu file where training had a 'mark_key' "
            f"(got {str(request.source)!r})"
        )
    _refuse(text_columns=request.text_columns, truncate=request.limit.truncate)
    own, model = config.reads_own_trees, WordLabeller._of_request(task, request)
    sentences = [*(request.trees or read_conllu(request.source, max_words=request.limit.max_words))]
    marks = _marks(request, sentences, mark_key, needs_marks(state))
    answers = model._answers(sentences if own else [tuple(one.form) for one in sentences], marks)
    key = next(iter(state.data.get("key", {}).values()), None)
    column = Column(_KEY) if key is None else Column(key, config.absent)
    named = [column.write(sentence, answer.labels) for sentence, answer in zip(sentences, answers)]
    words, failures, cut = sum(map(len, sentences)), model.parser_failures, model.cut_words
    counts = {"key": column.key, "parser_failures": failures, "cut_words": cut}
    return FilePrediction(
        "".join(format_conllu(sentence) + "\n" for sentence in named),
        {"sentences": len(sentences), "words": words, **counts},
        [
            *([f"{plural(cut, 'word')} without a label: the encoder has no room for more"] if cut else []),
            f"{column.key} of {plural(words, 'word')} in {plural(len(sentences), 'sentence')}, {failures} of "
            "them with a chain tree",
        ],
    )


def predict_columns(task: Any, request: FileRequest) -> FilePrediction:
    """A file of columns with the labels that a model gives the words: in the last column of words and labels,
    behind words alone, or in the columns of roles, one for each predicate that the file marks; all else stays
    as it is. With ``.jsonl`` as output a row an example, as :func:`predict_json_lines` writes it. Trees of
    the file are read, and a sentence without one is parsed.

    Raises:
        ValueError: If a row is wrong, the model needs marks and the file has none, or the model knows none,
            an option is for texts, or the model has diverged.
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
        raise ValueError(f"{source}: roles of marked words are for models that have learned from marks")
    if not roles and needs_marks(state):
        raise ValueError(
            f"{source}: the file marks no words, and the model labels words as a marked one sees them"
        )
    read = config.reads_own_trees
    given = [
        example.tree if example.tree is not None and read else tuple(example.words) for example in examples
    ]
    marks, constituents = [e.mark for e in examples], [e.constituents for e in examples]
    answers = model._answers(given, marks, constituents)
    words, cut = sum(map(len, examples)), model.cut_words
    parsed, failures = model._ready().parsed, model.parser_failures
    counts = {"parsed": parsed, "parser_failures": failures, "cut_words": cut}
    labels = [answer.labels for answer in answers]
    rows = (_row(example) | {_LABELS: own} for example, own in zip(examples, labels))
    objects = request.output == ".jsonl"
    return FilePrediction(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        if objects
        else with_labels(request.source, found, labels, outside),
        {"sentences": len(examples), "words": words, **counts},
        [
            *found.notes,
            *([f"{plural(cut, 'word')} without a label: the encoder has no room for more"] if cut else []),
            f"labels of {plural(words, 'word')} in {plural(len(examples), 'example')}, {parsed} of them "
            f"parsed, {failures} with a chain tree",
        ],
        model._ready().taken,
    )


def _refuse(**options: Any) -> None:
    """Raises :class:`ValueError` if there is an option that is for files of texts."""
    for name, given in options.items():
        if given:
            raise ValueError(f"{name!r} is for files of texts (got {given!r})")


def _marks(request: FileRequest, sentences: list[Sentence], key: str | None, needs: bool) -> list[int | None]:
    """The marked word of each sentence."""
    if key is None:
        return [None] * len(sentences)
    column, marks = Column(key), []
    places = sentence_places(request.source) if request.source.suffix.lower() == ".conllu" else []
    if len(places) != len(sentences):  # another format, or some are left out
        places = [f"{request.source}: sentence {number}" for number in range(1, len(sentences) + 1)]
    for place, sentence in zip(places, sentences):
        mark = marked_word(sentence, column, place)
        if mark is None and needs:
            raise ValueError(
                f"{place}: no word has {key!r}, the mark: the model labels words as a marked one sees them"
            )
        marks.append(mark)
    return marks


_LABELS = "labels"


def predict_json_lines(task: Any, request: FileRequest) -> FilePrediction:
    """A file of ``{"words": [...], "mark": 3}`` with the ``labels`` that a model gives the words; those that
    are there are replaced, and all else stays as it is. ``head`` and ``deprel`` are the tree of a sentence;
    one without them is parsed. A word that is not read, beyond the limit of words or where a pretrained
    encoder has no room for it, has ``null``.

    Raises:
        ValueError: If a row is wrong, has no mark where the model needs one, or has one where it knows none,
            with file, line and value; an option is for texts; or the model has diverged.
        OSError: If the file cannot be read.
    """
    state = cast(RunState, request.state)
    _refuse(text_columns=request.text_columns)
    rows = read_text_rows(request.source, ["words"])
    for row in rows:
        check_keys(row, [key for key in KEYS if key != _LABELS], [_LABELS])
    model = WordLabeller._of_request(task, request)
    trees, _ = taken([row_raw(row, row_words(row)) for row in rows], model._ready().intake())
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
    return FilePrediction(
        "".join(lines),
        {"sentences": len(rows), "words": words, **counts, "replaced": replaced},
        [
            *([f"{plural(replaced, 'row')} had labels, which are replaced"] if replaced else []),
            *([f"{plural(cut, 'word')} not read, and without a label"] if cut else []),
            f"labels of {plural(words, 'word')} in {plural(len(rows), 'sentence')}, {parsed} of them parsed, "
            f"{failures} with a chain tree",
        ],
        model._ready().taken,
    )


def _sentence(row: TextRow, tree: Sentence | None, limit: WordLimit) -> Input:
    """The words that are read, or the tree of them."""
    words, most = row.values["words"], limit.max_words
    if len(words) > most and not limit.truncate:
        advice = "allow more, or read the first with truncate"
        raise row.error(f"'words' has more than max_words={most} words: {advice}", str(len(words)))
    return tuple(words[:most]) if tree is None else truncate(tree, most)


def _mark(row: TextRow, left: int, needs: bool, takes: bool) -> int | None:
    mark = row_mark(row, row.values["words"])
    if mark is None and needs:
        raise row.error(
            "no 'mark', the number of a word, from 0: the model labels words as a marked one sees them"
        )
    if mark is not None and not takes:
        raise row.error("'mark' is for models that have learned from marks", str(mark))
    if mark is not None and mark >= left:
        raise row.error("'mark' is a word that is not read", str(mark))
    return mark


class WordLabeller(TaskEstimator):
    r"""Labels the words of sentences with an encoder whose attention follows their syntax.

    :meth:`fit` trains an encoder from nothing, or fine-tunes a pretrained one, as ``graphdep train --task
    labels`` does. A sentence is a list of words, which is parsed, or a parse, whose tree is read, as
    :class:`SequenceClassifier` takes them. Where one word of each sentence is marked, such as the predicate
    whose arguments the labels are, its number goes into ``marks``.

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
        own_trees: Of the sentences of the last fit or prediction whether their trees were given, ``[n]``; all
            others are a parser's.
        tree_counts: Of the last fit or prediction how many trees were given, and how many of them were bad,
            by the reason, or converted, by the scheme (:meth:`Intake.counts`).
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
            labels: For each sentence a list with a text for each word, or :obj:`None`, which is not scored.
            marks: For each sentence the number of its marked word, from 0, or :obj:`None`; :obj:`None` for no
                mark anywhere. (default: :obj:`None`)

        Raises:
            TypeError: If something is no list, word or label; the message has its position.
            ValueError: If a parse is no tree, there are not as many labels as words, or marks as sentences, a
                sentence has more than :obj:`max_words` words, there is one label or one sentence alone, or a
                setting is wrong.
            TrainingError: If the loss is not finite any more.
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
        """The label of each word, sentence by sentence; with ``crf`` or ``decode="viterbi"`` the best
        sequence of them. A word that is not read (:attr:`cut_words`) has :obj:`None`.

        Raises:
            TypeError, ValueError: As :meth:`fit`.
        """
        return [answer.labels for answer in self._asked(sentences, marks)]

    def predict_proba(self, sentences: Any, marks: Any = None) -> list[np.ndarray]:
        """For each sentence the probability of each label at each word, ``[words, num_classes]``, float64: of
        each word by itself, whatever chain of labels :meth:`predict` finds. A word that is not read has
        zeros.

        Raises:
            TypeError, ValueError: As :meth:`fit`.
        """
        answers = self._asked(sentences, marks)
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
        return {**arguments, **own, "scheme": config.label_scheme, "outside": config.outside_label}

    def _read(self, sentences: Any, marks: Any, intake: Intake) -> list[LabelledWords]:
        """The sentences without labels, checked, and their marks."""
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
        """The examples of a training, cut as prediction cuts them."""
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
        """What the model says of the words of each sentence, as the marked word, from 0, sees them, with
        constituents that are not the parser's where some are given.
        """
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
                f"'marks[{number}]' must be given, the number of the marked word, from 0: the model was "
                "trained with a mark in every sentence (got None)"
            )
        if one.mark is not None and not takes:
            raise ValueError(f"'marks[{number}]' is for models that have learned from marks (got {one.mark})")


def _check_labels(labels: Any, sizes: Sequence[int]) -> list[list[str | None]]:
    """A label or :obj:`None` for each word; else an error that has the position."""
    rows = listed("labels", labels, len(sizes))
    for number, (row, size) in enumerate(zip(rows, sizes)):
        rows[number] = row = listed(f"labels[{number}]", row, size, "words")
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
        row |= tree_values(example.tree)
    return row
