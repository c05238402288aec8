"""Files of marked spans with the labels that a trained model gives them."""

from __future__ import annotations

from typing import Any, cast

from graphdep.datasets.base.raw import row_error
from graphdep.datasets.base.rows import TextRow, read_text_rows, rows_of_lines
from graphdep.datasets.spans.rows import SpanExample, column_of, span_row
from graphdep.io.limits import plural
from graphdep.parsing.parser import WordLimit
from graphdep.tasks.spans.config import SpanConfig
from graphdep.tasks.spans.learning_task import SpanTask
from graphdep.tasks.spans.span_predictor import SpanAnswer, SpanPredictor
from graphdep.training.checkpoint import RunState
from graphdep.training.family import FilePrediction, FileRequest
from graphdep.training.floors import PredictedRow, write_rows


def predict_rows(task: SpanTask, request: FileRequest) -> FilePrediction:
    """A file in one of the layouts of :class:`~graphdep.datasets.OwnSpans`, with or without labels, and what
    a model predicts for each row. ``head`` and ``deprel`` are the tree of a sentence; one without them is
    parsed. A row of which a span is not read, beyond the limit of words or where a pretrained encoder has no
    room for it, has no prediction.

    Raises:
        ValueError: If a row is wrong, or has another number of spans than the model was trained on, with
            file, line and value; or the model has diverged.
        OSError: If the file cannot be read.
    """
    state, source = cast(RunState, request.state), request.source
    config = cast(SpanConfig, state.config)
    options: dict[str, Any] = {"batch_size": request.batch_size, "limit": request.limit}
    predictor = SpanPredictor(task, state, request.parser, request.checkpoint, **options)
    column = request.text_columns or getattr(config, "text_columns", None) or "text"
    if request.lines is None:
        rows = read_text_rows(source, [column_of(source, column)])
    else:
        rows = rows_of_lines(source, request.lines, [column])
    examples = [_example(row, column, request.limit, predictor.num_spans) for row in rows]
    predicted = [_predicted(answer, predictor.labels) for answer in predictor.answers(examples)]
    text, replaced = write_rows(request.kind, [row.values for row in rows], predicted, predictor.labels)
    parsed, failures, lost = predictor.parsed, predictor.parser_failures, predictor.lost_spans
    counts = {"rows": len(rows), "parsed": parsed, "parser_failures": failures, "lost_spans": lost}
    notes = [f"the input had columns of these names, which are replaced: {', '.join(replaced)}"]
    unread = [f"{plural(lost, 'row')} without a prediction: a span is not read"]
    return FilePrediction(
        text,
        {**counts, "replaced": replaced},
        [
            *(notes if replaced else []),
            *(unread if lost else []),
            f"{plural(len(rows), 'row')}, {parsed} of them parsed, {failures} with a chain tree",
        ],
    )


def _example(row: TextRow, column: str, limit: WordLimit, num_spans: int) -> SpanExample:
    example = span_row(row, column, max_words=None if limit.truncate else limit.max_words)
    if num_spans != len(example.spans):
        message = f"the model was trained on {num_spans} spans an example"
        raise row_error(row.path, row.line, message, str(len(example.spans)))
    return example


def _predicted(answer: SpanAnswer, names: list[str]) -> PredictedRow:
    if answer.label is None:
        return PredictedRow(None, None)
    return PredictedRow(answer.label, dict(zip(names, answer.probabilities.tolist())))
