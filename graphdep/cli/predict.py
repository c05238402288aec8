"""``graphdep predict``."""

from __future__ import annotations

import csv
import io
import json as jsonlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from graphdep.cli import options as o
from graphdep.cli.files import check_output
from graphdep.cli.output import print_json, say_loading
from graphdep.cli.own_edges import import_edges
from graphdep.io.limits import MAX_WORDS
from graphdep.parsing.word_limit import WordLimit

if TYPE_CHECKING:
    from graphdep.tasks.sentences.predictor import Predictor

_PREDICTION, _PROBABILITY, _PROBABILITIES = "prediction", "probability_", "probabilities"


def predict(
    checkpoint: Annotated[
        Path, typer.Option(metavar="FILE", help="best.ckpt of a run on sentences, or of a classifier.")
    ],
    source: Annotated[
        Path, typer.Option("--input", metavar="FILE", help=".csv or .tsv with a header, or .jsonl.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file of the same kind, written whole or not at all. [default: stdout]",
        ),
    ] = None,
    text_columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME]",
            help="The column with the texts, or the two columns of pairs. [default: those of the training]",
        ),
    ] = None,
    parser: o.ModelParser = None,
    max_words: o.MaxWords = MAX_WORDS,
    truncate: o.Truncate = False,
    edges: o.ModelEdges = None,
    batch_size: Annotated[int, typer.Option(min=1, metavar="N", help="Texts or pairs a batch.")] = 64,
    json: o.Json = False,
) -> None:
    """Predict the labels or numbers of texts or pairs of texts, with a trained model.

    Every row of the input becomes a row of the output: the same columns, with "prediction" and, for classes,
    the probability of each one, "probability_NAME" (in JSON one object, "probabilities"). Columns of the
    input with these names are replaced; stderr says which. If a row is wrong, nothing is written.

    Examples:
        graphdep predict --checkpoint runs/.../best.ckpt --input new.csv --output predicted.csv

        graphdep predict --checkpoint runs/.../best.ckpt --input new.jsonl --text-columns text
    """
    if json and output is None:
        raise ValueError("--json needs --output: the predictions and the summary cannot both go to stdout")
    if output is not None:
        _check_suffix(source, output)
        check_output(output, checkpoint, str(source))
    say_loading()
    from graphdep.datasets.base.text_rows import read_text_rows
    from graphdep.tasks.sentences.predictor import Predictor
    from graphdep.training import load_task
    from graphdep.training.runner.predictor import parser_to_use

    task, state = load_task(checkpoint, edges and import_edges(edges))
    named = parser_to_use(checkpoint, state.config.parser, parser)
    limit = WordLimit(max_words, truncate)
    predictor = Predictor(task, state, named, str(checkpoint), batch_size=batch_size, limit=limit)
    columns = _columns(text_columns, predictor)
    rows = read_text_rows(source, columns)
    examples = [tuple(row.text(column) for column in columns) for row in rows]
    predicted = _predicted(
        predictor, examples, lambda n, column: f"{source}:{rows[n].line}: {columns[column]!r}"
    )
    lines = source.suffix.lower() == ".jsonl"
    new = predicted if lines else [_flat(own) for own in predicted]
    old = [row.values for row in rows]
    replaced = [name for name in new[0] if any(name in row for row in old)]
    _write(output, _json_lines(old, new) if lines else _table(old, new, source))
    summary = {
        "checkpoint": str(checkpoint),
        "rows": len(rows),
        "parser_failures": predictor.parser_failures,
        "cut_words": predictor.cut_words,
        "cut_rows": predictor.cut_examples,
        "replaced": replaced,
        "output": str(output),
    }
    if json:
        print_json(summary)
    console = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
    if replaced:
        console.print(f"the input had columns of these names, which are replaced: {', '.join(replaced)}")
    where = "" if output is None else f" -> {output}"
    console.print(
        f"{len(rows)} rows, {predictor.parser_failures} texts with a chain tree, {predictor.cut_words} words "
        f"cut in {predictor.cut_examples} rows{where}"
    )


def _check_suffix(source: Path, output: Path) -> None:
    if source.suffix.lower() != output.suffix.lower():
        raise ValueError(f"'output' must end in {source.suffix}, as the input does (got {str(output)!r})")


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


def _write(output: Path | None, text: str) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    from graphdep.io import atomic_path

    with atomic_path(output) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def _flat(predicted: dict[str, Any]) -> dict[str, str]:
    """Each probability in a column of its own, with six digits."""
    probabilities = predicted.get(_PROBABILITIES, {})
    named = {f"{_PROBABILITY}{name}": f"{value:.6g}" for name, value in probabilities.items()}
    return {_PREDICTION: str(predicted[_PREDICTION]), **named}


def _json_lines(rows: list[dict[str, Any]], predicted: list[dict[str, Any]]) -> str:
    kept = [{key: value for key, value in row.items() if key not in predicted[0]} for row in rows]
    lines = [jsonlib.dumps(row | own, ensure_ascii=False) for row, own in zip(kept, predicted)]
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
