"""Files of JSON lines with the labels that a trained model gives their words."""

from __future__ import annotations

import json
from typing import cast

from graphdep.datasets.base.raw import row_error
from graphdep.datasets.base.rows import TextRow, check_keys, read_text_rows, row_tree, row_words
from graphdep.datasets.labels.words import KEYS, row_mark
from graphdep.io.limits import plural
from graphdep.parsing.parser import WordLimit
from graphdep.sentence import Sentence
from graphdep.sentence.sentence import truncate
from graphdep.tasks.labels.config import LabelConfig
from graphdep.tasks.labels.learning_task import LabelTask
from graphdep.tasks.labels.word_predictor import WordPredictor, needs_marks, takes_marks
from graphdep.training.checkpoint import RunState
from graphdep.training.estimator import parser_to_use
from graphdep.training.family import FilePrediction, FileRequest

_LABELS = "labels"


def predict_json_lines(task: LabelTask, request: FileRequest) -> FilePrediction:
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
    config = cast(LabelConfig, state.config)
    if request.text_columns:
        raise ValueError(f"'text_columns' is for files of texts (got {request.text_columns!r})")
    rows = read_text_rows(request.source, ["words"])
    for row in rows:
        check_keys(row, [key for key in KEYS if key != _LABELS], [_LABELS])
    sentences = [_sentence(row, request.limit) for row in rows]
    needs, takes = needs_marks(state), takes_marks(state)
    marks = [_mark(row, len(sentence), needs, takes) for row, sentence in zip(rows, sentences)]
    whole = all(isinstance(sentence, Sentence) for sentence in sentences)
    parser = "bundled" if whole else parser_to_use(request.checkpoint, config.parser, request.parser)
    predictor = WordPredictor(task, state, parser, request.checkpoint, batch_size=request.batch_size)
    answers = predictor.answers(predictor.trees(sentences), marks)
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
    counts = {"parsed": predictor.parsed, "parser_failures": predictor.parser_failures, "cut_words": cut}
    return FilePrediction(
        "".join(lines),
        {"sentences": len(rows), "words": words, **counts, "replaced": replaced},
        [
            *([f"{plural(replaced, 'row')} had labels, which are replaced"] if replaced else []),
            *([f"{plural(cut, 'word')} not read, and without a label"] if cut else []),
            f"labels of {plural(words, 'word')} in {plural(len(rows), 'sentence')}, {predictor.parsed} of "
            "them parsed, "
            f"{predictor.parser_failures} with a chain tree",
        ],
    )


def _sentence(row: TextRow, limit: WordLimit) -> list[str] | Sentence:
    """The words that are read, or the tree of them."""
    words = row_words(row)
    tree = row_tree(row, words)
    most = limit.max_words
    if len(words) > most and not limit.truncate:
        message = f"'words' has more than max_words={most} words: allow more, or read the first with truncate"
        raise row_error(row.path, row.line, message, str(len(words)))
    return words[:most] if tree is None else truncate(tree, most)


def _mark(row: TextRow, left: int, needs: bool, takes: bool) -> int | None:
    mark = row_mark(row, row.values["words"])
    if mark is None and needs:
        message = "no 'mark', the number of a word, from 0: the model labels words as a marked one sees them"
        raise row_error(row.path, row.line, message)
    if mark is not None and not takes:
        raise row_error(row.path, row.line, "'mark' is for models that have learned from marks", str(mark))
    if mark is not None and mark >= left:
        raise row_error(row.path, row.line, "'mark' is a word that is not read", str(mark))
    return mark
