"""``graphdep predict``."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

import typer

from graphdep.cli import options as o
from graphdep.cli.files import check_output, read_lines, texts_or_file
from graphdep.cli.output import print_json, say_loading
from graphdep.cli.own_edges import import_edges
from graphdep.io.files import find_checkpoint
from graphdep.io.limits import MAX_WORDS
from graphdep.io.process import plain_console

_TABLES = (".csv", ".tsv", ".jsonl")
_OBJECTS = (".jsonl", ".parquet", ".conllu", ".conll", ".spacy")
_WITH_ROWS = (*_TABLES, ".conllu", ".conll", ".spacy", ".parquet")


def predict(
    checkpoint: Annotated[
        Path, typer.Option(metavar="FILE", help="Folder of a run, its best.ckpt, or what an estimator saved.")
    ],
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT...",
            help="Texts, of pairs always two; or the name of a file, or - for stdin.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="FILE",
            help="Of texts and spans .csv or .tsv with a header, or .jsonl, or else a text a line, of pairs "
            "with a tab between the two, or - for such lines of stdin; of words .jsonl or .conllu.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file of the same kind, of texts without columns .csv, .tsv or .jsonl; written whole or "
            "not at all. [default: stdout]",
        ),
    ] = None,
    text_columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[,NAME]",
            help="The column with the texts, or the two columns of pairs. [default: those of the training, "
            "or what they are called in GLUE]",
        ),
    ] = None,
    parser: o.ModelParser = None,
    max_words: o.MaxWords = MAX_WORDS,
    truncate: o.Truncate = False,
    edges: o.ModelEdges = None,
    batch_size: Annotated[int, typer.Option(min=1, metavar="N", help="Texts or pairs a batch.")] = 64,
    guard_formulas: Annotated[
        bool,
        typer.Option(
            "--guard-formulas",
            help="Of .csv and .tsv: an apostrophe before what a spreadsheet would take for a formula. Not "
            "for files that are read again.",
        ),
    ] = False,
    json: o.Json = False,
) -> None:
    """Predict the labels or numbers of texts or pairs of texts, or what else a task's examples have.

    Every row of a file of texts becomes a row of the output: the same columns, with "prediction" and, for
    classes, the probability of each one, "probability_NAME" (in JSON one object, "probabilities"). Columns of
    the input with these names are replaced; stderr says which. If a row is wrong, nothing is written. Cells
    are written as they are, also those that a spreadsheet takes for formulas, unless --guard-formulas is
    given.

    What goes in, and where the predictions go: {predicted}.

    Examples:
        graphdep predict --checkpoint runs/.../best.ckpt "A fine film."

        graphdep predict --checkpoint runs/.../best.ckpt --input new.csv --output predicted.csv

        graphdep predict --checkpoint runs/.../best.ckpt --input new.jsonl --text-columns text

        graphdep predict --checkpoint runs/.../best.ckpt --input words.jsonl --output labelled.jsonl

        graphdep predict --checkpoint runs/.../best.ckpt --input relations.jsonl --output labelled.jsonl
    """
    if json and output is None:
        raise ValueError("--json needs --output: the predictions and the summary cannot both go to stdout")
    texts, source = texts_or_file(texts, source)
    checkpoint = find_checkpoint(checkpoint)
    _check_files(source, output, checkpoint, text_columns)
    whole = source is not None and Path(source).suffix.lower() in _WITH_ROWS
    lines = None if whole else texts if source is None else read_lines(source)
    if guard_formulas and Path(output or (source if whole else None) or ".csv").suffix.lower() in _OBJECTS:
        raise ValueError("--guard-formulas is for .csv and .tsv")
    say_loading()
    from graphdep.cli.guarded_table import guard_table
    from graphdep.parsing.parser import WordLimit
    from graphdep.tasks import family_of
    from graphdep.training import load_task
    from graphdep.training.family import FileRequest

    task, state = load_task(checkpoint, edges and import_edges(edges))
    limit = WordLimit(max_words, truncate)
    if source is None:
        lines = _pairs(texts, getattr(state.config, "num_texts", 1))
    named = Path("TEXT" if source is None else source)
    request = FileRequest(named, str(checkpoint), state, parser, text_columns, batch_size, limit, lines)
    if lines is not None and output is not None:
        request = dataclasses.replace(request, output=output.suffix.lower())
    predicted = family_of(state.config.task).predict_file(task, request)
    _write(output, guard_table(predicted.text, request.kind) if guard_formulas else predicted.text)
    if json:
        print_json({"checkpoint": str(checkpoint), **predicted.summary, "output": str(output)})
    console = plain_console(stderr=True)
    for note in predicted.notes[:-1]:
        console.print(note, soft_wrap=True)
    where = "" if output is None else f" -> {output}"
    console.print(f"{predicted.notes[-1]}{where}", soft_wrap=True)


def _check_files(source: str | None, output: Path | None, checkpoint: Path, text_columns: str | None) -> None:
    """Finds out before the work what of the files is wrong, as far as their names and first rows tell it."""
    kind = None if source is None else Path(source).suffix.lower()
    table = kind in _WITH_ROWS
    if output is not None:
        same = ".jsonl" if kind == ".parquet" else kind
        if table and output.suffix.lower() != same:
            why = "" if kind == ".parquet" else ", as the input does"
            raise ValueError(f"'output' must end in {same}{why} (got {str(output)!r})")
        if not table and output.suffix.lower() not in _TABLES:
            raise ValueError(f"'output' must end in {', '.join(_TABLES)} (got {str(output)!r})")
        check_output(output, checkpoint, source)
    if text_columns is not None and not table:
        given = "texts" if source is None else repr(source)
        raise ValueError(f"--text-columns is for files that have columns (got {given})")
    if source is None or source == "-":
        return
    Path(source).stat()
    if text_columns is not None and kind in (".csv", ".tsv"):
        from graphdep.datasets.base.rows import check_columns

        check_columns(Path(source), [name.strip() for name in text_columns.split(",")])


def _pairs(texts: list[str], width: int) -> list[str]:
    """The texts of each example as a line, those of a pair with a tab between them."""
    if len(texts) % width:
        raise ValueError(f"the model reads pairs of texts: give an even number of them (got {len(texts)})")
    plain = [" ".join(text.split()) for text in texts]
    return ["\t".join(plain[start : start + width]) for start in range(0, len(plain), width)]


def _write(output: Path | None, text: str) -> None:
    if output is None:
        sys.stdout.write(text)
        return
    from graphdep.io import atomic_path

    with atomic_path(output) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
