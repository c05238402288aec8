"""Labels of marked spans from a trained model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from lightning import Callback
from sklearn.base import ClassifierMixin
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.datasets.base.rows import rows_of_lines, tree_values
from graphdep.datasets.spans.base import mark_spans
from graphdep.datasets.spans.formats import Read, read_rows
from graphdep.datasets.spans.rows import SpanExample, read_tags, span_rows
from graphdep.datasets.spans.texts import first_words, parse_examples
from graphdep.io.files import placed
from graphdep.io.limits import MAX_WORDS, and_unparsed, check_name, check_text, listed, plural
from graphdep.parsing.inputs import ADVICE, entries, has_own_tree, read_inputs
from graphdep.parsing.parser import Input, Parser, WordLimit
from graphdep.sentence.intake import Intake, given_tree, needs_tree
from graphdep.sentence.sentence import Sentence, truncate
from graphdep.sentence.tree import are_side_by_side
from graphdep.tasks.spans.settings import SpanConfig
from graphdep.training.checkpoint import check_scheme, labels_of, trained_setting
from graphdep.training.estimator import (
    Predictor,
    TaskEstimator,
    check_different,
    check_learnable,
)
from graphdep.training.family import FilePrediction, FileRequest
from graphdep.training.floors import PredictedRow, write_rows


def span_sentences(sentences: Any, spans: Any = None, intake: Intake | None = None) -> list[SpanExample]:
    """Examples without labels.

    Args:
        sentences: Texts, lists of words, lists of sentences in words, or parses.
        spans: For each sentence one or two ``(start, end)``, from 0, the end excluded, in characters of texts
            and in words otherwise; :obj:`None` for texts with tags, ``<e1>Rain</e1> makes <e2>mud</e2>.``
            (default: :obj:`None`)
        intake: Checks and converts parses. (default: a new one)

    Raises:
        TypeError: If an entry has a wrong type; the message has its position.
        ValueError: If there is no sentence, a text has no word or no tags, a span is empty or reaches beyond
            the sentence, or the numbers of spans and sentences differ.
    """
    given = entries("sentences", sentences, "sentence")
    marks = [None] * len(given) if spans is None else listed("spans", spans, len(given))
    lengths = [_lengths(value) for _, value in given]
    flat = [
        (place, [word for words in value for word in words] if sizes else value)
        for (place, value), sizes in zip(given, lengths)
    ]
    rows = zip(given, read_inputs(flat, intake, roots="all"), marks, lengths)
    return [
        _sentence_example(place, f"spans[{n}]", one, of, sizes)
        for n, ((place, _), one, of, sizes) in enumerate(rows)
    ]


def _sentence_example(
    place: str, of_spans: str, sentence: Input, spans: Any, lengths: Sequence[int]
) -> SpanExample:
    ends = None if spans is None else _ends(of_spans, spans)
    if isinstance(sentence, str):
        with placed(repr(place)):
            return SpanExample.of_text(*(read_tags(sentence) if ends is None else (sentence, ends)))
    if ends is None:
        message = "must be given unless sentences are texts with <e1>...</e1>"
        raise ValueError(f"{of_spans!r} {message} (got None)")
    if not isinstance(sentence, Sentence):
        return SpanExample(list(sentence), ends, place=repr(place), lengths=lengths)
    if not are_side_by_side(sentence.head):
        roots = sentence.head.count(0)
        raise ValueError(f"{place!r} must be one tree, or trees side by side (got {roots} roots)")
    return SpanExample(sentence.form, ends, tree=sentence, place=repr(place))


def _lengths(value: Any) -> list[int]:
    """The number of words of each sentence in a list of sentences in words; empty for other inputs."""
    several = isinstance(value, list | tuple) and bool(value)
    if several and all(isinstance(s, list | tuple) and s and isinstance(s[0], str) for s in value):
        return [*map(len, value)]
    return []


def _ends(place: str, spans: Any) -> list[Any]:
    """Spans as lists; they are checked where they are used."""
    return [
        listed(place, span) if isinstance(span, (list, tuple)) or hasattr(span, "tolist") else span
        for span in listed(place, spans)
    ]


class SpanAnswer(NamedTuple):
    """The prediction for an example.

    Args:
        label: Its label; :obj:`None` if a span is beyond ``max_words`` or the length limit of the encoder.
        probabilities: ``[classes]``, float64; zeros without a label.
    """

    label: str | None
    probabilities: Tensor


def predict_rows(task: Any, request: FileRequest) -> FilePrediction:
    """A file in a layout of :class:`~graphdep.datasets.OwnSpans`, with or without labels, with a prediction
    for each row. Sentences without ``head`` and ``deprel`` are parsed. Rows with a span beyond ``max_words``
    or the length limit of the encoder have no prediction.

    Raises:
        ValueError: If a row is invalid or has another number of spans than in training (the message has file,
            line and value), or the model has diverged.
        OSError: If the file cannot be read.
    """
    source, model = request.source, SpanClassifier._of_request(task, request)
    column = request.text_columns or getattr(request.state.config, "text_columns", None) or "text"
    if request.lines is None:
        rows, said, _ = _rows(source, column, request.state)
    else:
        rows, said, _ = Read(rows_of_lines(source, request.lines, [column]))
    most = None if request.limit.truncate else request.limit.max_words
    examples = span_rows(rows, column, max_words=most, intake=model._ready().intake())
    config = cast(SpanConfig, request.state.config)
    examples = [
        replace(example, tree=given_tree(example.tree, not config.parses_words, config.arcs))
        for example in examples
    ]
    for row, example in zip(rows, examples):
        if model._num_spans != len(example.spans):
            message = f"the model was trained with examples of {plural(model._num_spans, 'span')}"
            raise row.error(message, len(example.spans))
    labels = model._classes(request.state)
    answers, words = model._answers(examples)
    predicted = [_predicted(answer, labels) for answer in answers]
    text, replaced = write_rows(request.kind, [row.values for row in rows], predicted, labels)
    parsed, failures, lost = model._ready().parsed, model.parser_failures, model.lost_spans
    counts = {"rows": len(rows), "parsed": parsed, "parser_failures": failures, "lost_spans": lost}
    notes = [f"columns of the input were replaced: {', '.join(replaced)}"]
    unread = [f"{plural(lost, 'row')} without a prediction: a span is beyond max_words or max_length"]
    return model._prediction(
        text,
        {**counts, "replaced": replaced},
        [*said, *(notes if replaced else []), *(unread if lost else []), *words],
        and_unparsed(plural(len(rows), "row"), failures, parsed=parsed),
    )


def _rows(path: Path, column: str, state: Any) -> Read:
    """:func:`read_rows` with ``span_end`` of the training, since a file to predict may be too short to
    decide.
    """
    return read_rows(path, column, span_end=trained_setting(state, "span_end"))


def one_row(path: Path, state: Any, intake: Intake) -> SpanExample:
    """The only example of a file.

    Raises:
        ValueError: If there is not exactly one example, and as in :func:`read_rows`.
    """
    column = getattr(state.config, "text_columns", None) or "text"
    examples = span_rows(_rows(path, column, state).rows, column, intake=intake)
    if len(examples) != 1:
        raise ValueError(
            f"{path}: must have one example (got {len(examples)}), such as one line of the .jsonl output of "
            "`graphdep predict`"
        )
    return examples[0]


def _predicted(answer: SpanAnswer, names: list[str]) -> PredictedRow:
    if answer.label is None:
        return PredictedRow(None, None)
    return PredictedRow(answer.label, dict(zip(names, answer.probabilities.tolist())))


# Arguments that are no settings, since sentences are cut before they are written.
_NO_SETTINGS = ("max_words", "truncate")


class SpanClassifier(ClassifierMixin, TaskEstimator):
    r"""Labels one or two marked spans of a sentence, e.g. with their relation, with an encoder whose
    attention follows the syntax of the sentence.

    :meth:`fit` trains an encoder from scratch, or fine-tunes a pretrained one, like ``graphdep train --task
    spans``. A sentence is a text with tags, ``<e1>Rain</e1> makes <e2>mud</e2>.``, a text with spans in
    characters, a list of words with spans in words, or a parse with spans in words. All but parses are
    parsed, as in :class:`SequenceClassifier`. A list of lists of words, or of parses, is a text of several
    sentences. All sentences must have the same number of spans.

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
        outside: The negative label, which F1 leaves out; with it, F1 selects the best epoch. (default:
            :obj:`None`)
        validation_fraction: Share of the sentences for validation, by which the best epoch is chosen.
            (default: :obj:`0.1`)
        random_state: Seed of weights, order of sentences, dropout and validation share; with a
            ``RandomState`` or :obj:`None` a random one. (default: :obj:`0`)
        batch_size: Examples per batch, in training and prediction. (default: :obj:`32`)
        device: E.g. ``"cpu"`` or ``"cuda"``; :obj:`None` for a GPU if there is one. (default: :obj:`None`)
        progress: Show epochs on stderr. (default: :obj:`True`)
        folder: Folder to keep the run in, with ``best.ckpt``, sentences and parses; :obj:`None` keeps only
            the model, in memory. (default: :obj:`None`)
        cache: SQLite file that keeps all parses; :obj:`None` keeps those of training in :obj:`folder`, or
            without one in a temporary file that the fits of this process share. (default: :obj:`None`)
        callbacks: Lightning callbacks for training, see :func:`graphdep.training.train`. (default: none)
        max_words, truncate: Longest sentence in words, and whether longer ones are cut instead of an error.
            (default: :obj:`10_000`, :obj:`False`)
        **settings: Further settings of ``graphdep train --task spans``, such as :obj:`max_epochs`,
            :obj:`lr` or :obj:`readout`.

    Attributes:
        classes\_: The sorted labels, in the order of the columns of :meth:`predict_proba`.
        history\_: The values of each epoch, as in ``metrics.csv``.
        result\_: The result of the run as in ``result.json``, with ``"checkpoint"`` :obj:`None` without
            :obj:`folder`; loaded models have none.
        own_trees: Whether each sentence of the last fit or prediction came with a tree, ``[n]``.
        tree_counts: Numbers of given trees in the last fit or prediction, of bad ones by reason, and of
            converted ones by scheme (:meth:`Intake.counts`).
        parser_failures: Number of sentences in the last prediction whose tree is a chain.
        lost_spans: Number of examples in the last prediction without a label, since a span is beyond
            :obj:`max_words` or the length limit of the encoder.

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
    own = ("outside",)
    usual_models = ("dt", "bert-dt")
    outside: str | None
    own_trees: np.ndarray

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
        self._keep(locals())

    def fit(self, sentences: Any, labels: Any, spans: Any = None) -> SpanClassifier:
        """Trains on sentences and their labels.

        Args:
            sentences: Texts, lists of words, or parses.
            labels: The label of each sentence.
            spans: For each sentence one or two ``(start, end)``, from 0, the end excluded, in characters of
                texts and in words otherwise; :obj:`None` for texts with tags. (default: :obj:`None`)

        Raises:
            TypeError: If a sentence, span or label has a wrong type; the message has its position.
            ValueError: If a span is invalid, the numbers of spans differ between sentences, a sentence has
                more than :obj:`max_words` words, there are fewer than two labels or different sentences, or a
                setting is invalid.
            TrainingError: If the loss is not finite.
        """
        intake = self._intake()
        examples = self._examples(sentences, spans, intake)
        named = _check_labels(labels, len(examples))
        check_learnable("labels", named)
        check_different("sentences", (tuple(example.words) for example in examples))
        rows = (_row(example, label, self._limit) for example, label in zip(examples, named))
        text = "".join(json.dumps(row) + "\n" for row in rows)
        self.own_trees = has_own_tree([example.tree for example in examples])
        self._train_on(text, "spans", intake, outside=self.outside)
        return self

    def predict(self, sentences: Any, spans: Any = None) -> np.ndarray:
        """The most likely label of each sentence, ``[n]``; an array of objects with :obj:`None` if a span is
        beyond the limits (:attr:`lost_spans`).

        Raises:
            TypeError, ValueError: See :meth:`fit`; also if the number of spans is not that of the training.
        """
        labels = [answer.label for answer in self._asked(sentences, spans)]
        return np.array(labels, dtype=object if None in labels else None)

    def predict_proba(self, sentences: Any, spans: Any = None) -> np.ndarray:
        """The probability of each label, ``[n, num_classes]``, float64; zeros if a span is beyond the limits.

        Raises:
            TypeError, ValueError: See :meth:`predict`.
        """
        answers = self._asked(sentences, spans)
        return torch.stack([answer.probabilities for answer in answers]).numpy()[:, self._order]

    def score(self, sentences: Any, labels: Any, spans: Any = None) -> float:
        """The accuracy; sentences without a prediction count as wrong.

        Raises:
            TypeError, ValueError: See :meth:`predict`.
        """
        predicted = self.predict(sentences, spans)
        return float(np.mean(predicted == np.array(_check_labels(labels, len(predicted)), dtype=object)))

    @classmethod
    def _arguments_of(cls, config: Any) -> dict[str, Any]:
        own = {"encoder": config.encoder if config.pretrained else None, "outside": config.outside_label}
        files = {} if config.kind == "spans" else {"validation_fraction": config.val_fraction}
        return {"model": config.model, **own, **files}

    def _given(self, path: Path, folder: Path, own: Mapping[str, Any]) -> dict[str, Any]:
        given = super()._given(path, folder, own)
        return {name: value for name, value in given.items() if name not in _NO_SETTINGS}

    @property
    def _num_spans(self) -> int:
        """Number of spans in the examples of the training."""
        return int(self._ready().state.data["num_spans"]["train"])

    def _asked(self, sentences: Any, spans: Any) -> list[SpanAnswer]:
        intake = self._ready().intake(ADVICE)
        return self._answers(self._examples(sentences, spans, intake, self._num_spans))[0]

    def _answers(self, examples: Sequence[SpanExample]) -> tuple[list[SpanAnswer], list[str]]:
        """The predictions for examples, and notes on their words."""
        known = self._ready()
        own = has_own_tree([example.tree for example in examples])
        asks = any(needs_tree(example.tree) for example in examples)
        most = known.limit.max_words if known.limit.truncate else None
        parsed = parse_examples(examples, known.parser if asks else None, most)
        for each in (True, False):
            trees = (marked.tree for marked, one in zip(parsed.marked, own) if one == each)
            check_scheme(known.name, known.state, labels_of(known.state, trees), parsed=not each)
        graphs = known.graphs([marked.tree for marked in parsed.marked])
        found: list[SpanAnswer] = []
        for part in known.chunks(len(examples)):
            made = [
                mark_spans(known.data([graph]), one.marks)
                for one, graph in zip(parsed.marked[part], graphs[part])
            ]
            found += self._chunk(known, made)
        known.parsed, known.parser_failures = len(own) - int(own.sum()), parsed.failures
        self.own_trees, self.parser_failures = own, parsed.failures
        self.tree_counts = known.taken.counts()
        self.lost_spans = sum(answer.label is None for answer in found)
        return found, parsed.notes()

    @torch.inference_mode()
    def _chunk(self, known: Predictor, made: list[Data]) -> list[SpanAnswer]:
        found: dict[int, SpanAnswer] = {}
        labels = self._classes(known.state)
        for numbers, batch in known.batches(made):
            logits = known.check_finite(known.task(batch).float().cpu())
            for number, share in zip(numbers, logits.double().softmax(dim=-1)):
                lost = int(made[number].lost) > 0
                label = None if lost else labels[int(share.argmax())]
                found[number] = SpanAnswer(label, share * 0 if lost else share)
        return [found[number] for number in range(len(made))]

    def _examples(
        self, sentences: Any, spans: Any, intake: Intake, num_spans: int | None = None
    ) -> list[SpanExample]:
        """The sentences with their spans, whose number is checked, up to the limit of words."""
        limit = self._limit
        examples = span_sentences(sentences, spans, intake)
        wanted = len(examples[0].spans) if num_spans is None else num_spans
        for number, example in enumerate(examples):
            if wanted != len(example.spans):
                other = "'sentences[0]' has" if num_spans is None else "the model was trained on"
                raise ValueError(
                    f"'sentences[{number}]' has {plural(len(example.spans), 'marked span')}, "
                    f"but {other} {wanted}"
                )
            if example.text is not None:
                limit.check(example.text, f"'sentences[{number}]'")
            elif len(example) > limit.max_words and not limit.truncate:
                most = f"more than max_words={limit.max_words}"
                how = "allow more, or read the first ones with truncate"
                raise ValueError(f"'sentences[{number}]': {len(example)} words, {most}: {how}")
        return examples

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


def _check_labels(labels: Any, count: int) -> list[str]:
    rows = listed("labels", labels, count)
    for number, label in enumerate(rows):
        check_text(f"labels[{number}]", label, "label")
        check_name(f"labels[{number}]", label)
    return rows


def _row(example: SpanExample, label: str, limit: WordLimit) -> dict[str, Any]:
    """An example as a line of the training file, with no more words than are read."""
    row: dict[str, Any]
    if example.text is not None:
        text = limit.text(example.text, example.place)
        row, size = {"text": text}, len(text)
    else:
        size = min(limit.max_words, len(example))
        row = {"words": list(example.words[:size])}
    if any(stop > size for _, stop in example.spans):
        raise example.error(f"a span is beyond max_words={limit.max_words}")
    if example.tree is not None:
        row |= tree_values(truncate(example.tree, size))
    elif example.text is None:
        row = {"sentences": first_words(example.sentences, size)}
    return {**row, "spans": [list(one) for one in example.spans], "label": label}
