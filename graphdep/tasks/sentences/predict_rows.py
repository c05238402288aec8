"""Files of texts with the labels or numbers that a trained model gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from graphdep.datasets.base.rows import check_suffix, column_names, read_text_rows, rows_of_lines
from graphdep.io.limits import plural
from graphdep.tasks.sentences.predictor import Predictor
from graphdep.training.checkpoint import RunState
from graphdep.training.estimator import parser_to_use
from graphdep.training.family import FilePrediction, FileRequest
from graphdep.training.floors import PredictedRow, write_rows

USUAL_COLUMNS: tuple[list[str], ...] = (
    ["text"],
    ["sentence"],
    ["text_1", "text_2"],
    ["sentence1", "sentence2"],
    ["sentence_A", "sentence_B"],
    ["#1 String", "#2 String"],
    ["premise", "hypothesis"],
    ["question1", "question2"],
    ["question", "sentence"],
    ["first", "second"],
)
"""What the columns of texts are mostly called, in GLUE and elsewhere."""


def predict_rows(task: Any, request: FileRequest) -> FilePrediction:
    """Every row of a ``.csv``, ``.tsv`` or ``.jsonl`` file with what a model predicts for its texts.

    Raises:
        ValueError: If the columns do not fit the model, or a row is wrong; names file and line.
        OSError: If the file cannot be read.
    """
    state, source = cast(RunState, request.state), request.source
    named = parser_to_use(request.checkpoint, state.config.parser, request.parser)
    options: dict[str, Any] = {"batch_size": request.batch_size, "limit": request.limit}
    predictor = Predictor(task, state, named, request.checkpoint, **options)
    columns = _columns(request, predictor)
    if request.lines is None:
        rows = read_text_rows(source, columns)
    else:
        rows = rows_of_lines(source, request.lines, columns)
    examples = [tuple(row.text(column) for column in columns) for row in rows]
    predicted = _predicted(
        predictor, examples, lambda n, column: f"{source}:{rows[n].line}: {columns[column]!r}"
    )
    names = None if predictor.labels is None else [str(label) for label in predictor.labels]
    text, replaced = write_rows(request.kind, [row.values for row in rows], predicted, names)
    notes = [f"the input had columns of these names, which are replaced: {', '.join(replaced)}"]
    return FilePrediction(
        text,
        {
            "rows": len(rows),
            "parser_failures": predictor.parser_failures,
            "cut_words": predictor.cut_words,
            "cut_rows": predictor.cut_examples,
            "replaced": replaced,
        },
        [
            *(notes if replaced else []),
            f"{plural(len(rows), 'row')}, {plural(predictor.parser_failures, 'text')} with a chain tree, "
            f"{plural(predictor.cut_words, 'word')} cut in {plural(predictor.cut_examples, 'row')}",
        ],
    )


def _columns(request: FileRequest, predictor: Predictor) -> list[str]:
    """The columns with the texts: those that are given, or those of the training, or if these are not there
    the usual ones.
    """
    width = predictor.config.num_texts
    if request.lines is not None:
        return ["text"] if width == 1 else ["text_1", "text_2"]
    names: str | None = request.text_columns or getattr(predictor.config, "text_columns", None)
    if not request.text_columns:
        check_suffix("path", request.source)
        there = column_names(request.source)
        trained = [] if names is None else [_split(names)]
        found = [row for row in [*trained, *USUAL_COLUMNS] if len(row) == width and {*row} <= {*there}]
        if found:
            return found[0]
    if names is None:
        raise ValueError(
            f"{predictor.name}: trained on the task {predictor.config.task!r}, which does not say what your "
            f"columns are called: give --text-columns (those of {request.source} are {', '.join(there)})"
        )
    columns = _split(names)
    if len(columns) != width:
        raise ValueError(
            f"'text_columns' must name as many columns as the model reads texts, {width} (got {names!r})"
        )
    return columns


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]


def _predicted(
    predictor: Predictor, examples: list[tuple[str, ...]], place: Callable[[int, int], str]
) -> list[PredictedRow]:
    """What is new in each row."""
    outputs, labels = predictor.outputs(examples, place), predictor.labels
    if labels is None:
        numbers = predictor.task.goal.predict(outputs.double()).tolist()
        return [PredictedRow(number, None) for number in numbers]
    probabilities = outputs.double().softmax(dim=1)
    named = [dict(zip(map(str, labels), row)) for row in probabilities.tolist()]
    best = probabilities.argmax(dim=1).tolist()
    return [PredictedRow(labels[number], row) for number, row in zip(best, named)]
