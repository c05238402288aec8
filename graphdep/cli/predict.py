"""``graphdep predict``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from graphdep.cli import options as o
from graphdep.cli.files import check_output
from graphdep.cli.output import print_json, say_loading
from graphdep.cli.own_edges import import_edges
from graphdep.io.archive import check_checkpoint
from graphdep.io.limits import MAX_WORDS


def predict(
    checkpoint: Annotated[
        Path, typer.Option(metavar="FILE", help="best.ckpt of a run, or what an estimator saved.")
    ],
    source: Annotated[
        Path,
        typer.Option(
            "--input",
            metavar="FILE",
            help="Of texts and spans .csv or .tsv with a header, or .jsonl; of words .jsonl or .conllu.",
        ),
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
    """Predict the labels or numbers of texts or pairs of texts, or what else a task's examples have.

    Every row of a file of texts becomes a row of the output: the same columns, with "prediction" and, for
    classes, the probability of each one, "probability_NAME" (in JSON one object, "probabilities"). Columns of
    the input with these names are replaced; stderr says which. If a row is wrong, nothing is written.

    What goes in, and where the predictions go: {predicted}.

    Examples:
        graphdep predict --checkpoint runs/.../best.ckpt --input new.csv --output predicted.csv

        graphdep predict --checkpoint runs/.../best.ckpt --input new.jsonl --text-columns text

        graphdep predict --checkpoint runs/.../best.ckpt --input words.jsonl --output labelled.jsonl

        graphdep predict --checkpoint runs/.../best.ckpt --input relations.jsonl --output labelled.jsonl
    """
    if json and output is None:
        raise ValueError("--json needs --output: the predictions and the summary cannot both go to stdout")
    if output is not None:
        _check_suffix(source, output)
        check_output(output, checkpoint, str(source))
    check_checkpoint(checkpoint)
    source.stat()
    say_loading()
    from graphdep.parsing.word_limit import WordLimit
    from graphdep.tasks import family_of
    from graphdep.training import load_task
    from graphdep.training.family.file_prediction import FileRequest

    task, state = load_task(checkpoint, edges and import_edges(edges))
    limit = WordLimit(max_words, truncate)
    request = FileRequest(source, str(checkpoint), state, parser, text_columns, batch_size, limit)
    predicted = family_of(state.config.task).predict_file(task, request)
    _write(output, predicted.text)
    if json:
        print_json({"checkpoint": str(checkpoint), **predicted.summary, "output": str(output)})
    console = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
    for note in predicted.notes[:-1]:
        console.print(note)
    where = "" if output is None else f" -> {output}"
    console.print(f"{predicted.notes[-1]}{where}")


def _check_suffix(source: Path, output: Path) -> None:
    if source.suffix.lower() != output.suffix.lower():
        raise ValueError(f"'output' must end in {source.suffix}, as the input does (got {str(output)!r})")


def _write(output: Path | None, text: str) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    from graphdep.io import atomic_path

    with atomic_path(output) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
