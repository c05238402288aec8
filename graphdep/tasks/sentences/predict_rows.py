"""Files of texts with the labels or numbers that a trained model gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from graphdep.datasets.base.text_rows import read_text_rows
from graphdep.io.plural import plural
from graphdep.tasks.sentences.predictor import Predictor
from graphdep.training.family.file_prediction import FilePrediction, FileRequest
from graphdep.training.family.predicted_rows import PredictedRow, write_rows
from graphdep.training.runner.checkpoint import RunState
from graphdep.training.runner.predictor import parser_to_use


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
    columns = _columns(request.text_columns, predictor)
    rows = read_text_rows(source, columns)
    examples = [tuple(row.text(column) for column in columns) for row in rows]
    predicted = _predicted(
        predictor, examples, lambda n, column: f"{source}:{rows[n].line}: {columns[column]!r}"
    )
    names = None if predictor.labels is None else [str(label) for label in predictor.labels]
    text, replaced = write_rows(source, [row.values for row in rows], predicted, names)
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


def _columns(text_columns: str | None, predictor: Predictor) -> list[str]:
    """The columns with the texts: those that are given, or those of the training."""
    names = text_columns or getattr(predictor.config, "text_columns", None)
    if names is None:
        raise ValueError(
            f"{predictor.name}: trained on the task {predictor.config.task!r}, which does not say what your "
            "columns are called: give --text-columns"
        )
    columns = [name.strip() for name in names.split(",")]
    if len(columns) != predictor.config.num_texts:
        raise ValueError(
            f"'text_columns' must name as many columns as the model reads texts, "
            f"{predictor.config.num_texts} (got {names!r})"
        )
    return columns


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
