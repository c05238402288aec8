"""Files of texts with the labels or numbers that a trained model gives them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from graphdep.datasets.base.text_rows import read_text_rows
from graphdep.tasks.sentences.predictor import Predictor
from graphdep.training.family.file_prediction import FilePrediction, FileRequest
from graphdep.training.runner.checkpoint import RunState
from graphdep.training.runner.predictor import parser_to_use

_PREDICTION, _PROBABILITY, _PROBABILITIES = "prediction", "probability_", "probabilities"


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
    lines = source.suffix.lower() == ".jsonl"
    new = predicted if lines else [_flat(own) for own in predicted]
    old = [row.values for row in rows]
    replaced = [name for name in new[0] if any(name in row for row in old)]
    notes = [f"the input had columns of these names, which are replaced: {', '.join(replaced)}"]
    return FilePrediction(
        _json_lines(old, new) if lines else _table(old, new, source),
        {
            "rows": len(rows),
            "parser_failures": predictor.parser_failures,
            "cut_words": predictor.cut_words,
            "cut_rows": predictor.cut_examples,
            "replaced": replaced,
        },
        [
            *(notes if replaced else []),
            f"{len(rows)} rows, {predictor.parser_failures} texts with a chain tree, {predictor.cut_words} "
            f"words cut in {predictor.cut_examples} rows",
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
) -> list[dict[str, Any]]:
    """What is new in each row."""
    outputs, labels = predictor.outputs(examples, place), predictor.labels
    if labels is None:
        return [{_PREDICTION: number} for number in predictor.task.goal.predict(outputs.double()).tolist()]
    probabilities = outputs.double().softmax(dim=1)
    named = [dict(zip(map(str, labels), row)) for row in probabilities.tolist()]
    best = probabilities.argmax(dim=1).tolist()
    return [{_PREDICTION: labels[number], _PROBABILITIES: row} for number, row in zip(best, named)]


def _flat(predicted: dict[str, Any]) -> dict[str, str]:
    """Each probability in a column of its own, with six digits."""
    probabilities = predicted.get(_PROBABILITIES, {})
    named = {f"{_PROBABILITY}{name}": f"{value:.6g}" for name, value in probabilities.items()}
    return {_PREDICTION: str(predicted[_PREDICTION]), **named}


def _json_lines(rows: list[dict[str, Any]], predicted: list[dict[str, Any]]) -> str:
    kept = [{key: value for key, value in row.items() if key not in predicted[0]} for row in rows]
    lines = [json.dumps(row | own, ensure_ascii=False) for row, own in zip(kept, predicted)]
    return "".join(line + "\n" for line in lines)


def _table(rows: list[dict[str, Any]], predicted: list[dict[str, Any]], source: Path) -> str:
    columns = [name for name in rows[0] if name not in predicted[0]]
    cells = [[*columns, *predicted[0]]]
    cells += [[*(row[name] for name in columns), *own.values()] for row, own in zip(rows, predicted)]
    if source.suffix.lower() == ".csv":
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(cells)
        return file.getvalue()
    for cell in (cell for row in cells for cell in row):
        if "\t" in cell or "\n" in cell:
            raise ValueError(f"a .tsv file cannot hold a tab or a line break (got {cell[:80]!r})")
    return "".join("\t".join(row) + "\n" for row in cells)
