"""``graphdep rank``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from graphdep.cli import options as o
from graphdep.cli.files import check_output
from graphdep.cli.json_lines import read_rows, write_rows
from graphdep.cli.output import print_json, say_loading
from graphdep.cli.own_edges import import_edges
from graphdep.io.files import find_checkpoint
from graphdep.io.limits import MAX_WORDS, plural
from graphdep.io.process import plain_console

_ANSWER = ("ranking", "scores")


def rank(
    checkpoint: Annotated[
        Path, typer.Option(metavar="FILE", help="Folder of a run on response selection, or its best.ckpt.")
    ],
    source: Annotated[
        str,
        typer.Option(
            "--input",
            metavar="FILE",
            help='JSON lines with {"context": ["...", ...], "candidates": ["...", ...]}, or - for stdin.',
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="JSON lines, written whole or not at all. [default: stdout]"),
    ] = None,
    parser: o.ModelParser = None,
    max_words: o.MaxWords = MAX_WORDS,
    truncate: o.Truncate = False,
    edges: o.ModelEdges = None,
    batch_size: Annotated[
        int, typer.Option(min=1, metavar="N", help="Pairs of a context and a candidate a batch.")
    ] = 64,
    json: o.Json = False,
) -> None:
    """Rank the candidates for the next response in a dialogue, with a trained model.

    Every line of the input becomes a line of the output: the same object with "ranking", the numbers of the
    candidates from 0, the best first, and "scores", a probability for each candidate in their own order, in
    place of those that it may have. If a line is wrong, nothing is written.

    Every text is parsed once, whatever the number of its pools. What is longer than the model takes is cut,
    the context from its left; how many words were cut is reported.

    Examples:
        graphdep rank --checkpoint runs/.../best.ckpt --input pools.jsonl --output ranked.jsonl
    """
    if json and output is None:
        raise ValueError("--json needs --output: the rankings and the summary cannot both go to stdout")
    if output is not None:
        check_output(output, checkpoint, source)
    checkpoint = find_checkpoint(checkpoint)
    from graphdep.parsing.parser import WordLimit

    limit = WordLimit(max_words, truncate)
    rows = read_rows(source, ("context", "candidates"), limit)
    say_loading()
    from graphdep.tasks.selection.predict import ResponseSelector

    options: dict[str, Any] = {
        "parser": parser,
        "batch_size": batch_size,
        "edges": edges and import_edges(edges),
    }
    selector = ResponseSelector(checkpoint, max_words=max_words, truncate=truncate, **options)
    rankings = selector.rank_pools(rows)
    write_rows(output, [_without(row) | ranking._asdict() for row, ranking in zip(rows, rankings)])
    summary: dict[str, Any] = {
        "checkpoint": selector.checkpoint,
        "pools": len(rows),
        "candidates": sum(len(row["candidates"]) for row in rows),
        "parser_failures": selector.parser_failures,
        "cut_words": selector.cut_words,
        "output": str(output),
    }
    if json:
        print_json(summary)
    cut, where = selector.cut_words, "" if output is None else f" -> {output}"
    failures = selector.parser_failures
    plain_console(stderr=True).print(
        f"{plural(summary['pools'], 'pool')}, {plural(summary['candidates'], 'candidate')}, "
        f"{plural(failures, 'text')} with a chain tree; "
        f"words cut: {cut['context']} of contexts, {cut['candidates']} of candidates{where}",
        soft_wrap=True,
    )


def _without(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in _ANSWER}
