"""``graphdep embed``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphdep.cli import options as o
from graphdep.cli.files import check_output, is_table, read_lines, texts_or_file
from graphdep.cli.output import print_json
from graphdep.cli.own_edges import import_edges
from graphdep.io.files import find_checkpoint
from graphdep.io.limits import MAX_WORDS, plural
from graphdep.io.process import plain_console

if TYPE_CHECKING:
    import numpy as np


def embed(
    checkpoint: Annotated[Path, typer.Option(metavar="FILE", help="Folder of a run, or its best.ckpt.")],
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT...", help="Texts, or the name of a file, or - for stdin.", show_default=False
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="FILE",
            help="One text a line, or - for stdin; or .csv or .tsv with a header, or .jsonl, with "
            "--text-columns.",
        ),
    ] = None,
    text_columns: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The column with the texts, of a file that has columns."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A .npy, .csv or .tsv file, written whole or not at all. [default: CSV on stdout]",
        ),
    ] = None,
    parser: o.ModelParser = None,
    max_words: o.MaxWords = MAX_WORDS,
    truncate: o.Truncate = False,
    edges: o.ModelEdges = None,
    batch_size: Annotated[int, typer.Option(min=1, metavar="N", help="Texts a batch at most.")] = 64,
    json: o.Json = False,
) -> None:
    """Turn texts into vectors with a trained model.

    Text, line or row i of the input becomes row i of the output: an empty line counts, and is a row of
    zeros. CSV and TSV hold the numbers alone, without a header. A text that the parser fails on gets a chain
    tree, and the number of such texts is reported.

    Examples:
        graphdep embed --checkpoint runs/.../best.ckpt --input texts.txt --output vectors.npy

        graphdep embed --checkpoint runs/.../best.ckpt "The dog chased the cat." "It ran."

        graphdep embed --checkpoint runs/... --input reviews.csv --text-columns text --output vectors.npy
    """
    checkpoint = find_checkpoint(checkpoint)
    write = writer(output)
    texts, source = texts_or_file(texts, source)
    if output is not None:
        check_output(output, checkpoint, source)
    places: list[str] = []
    if source is not None:
        texts, places = _read(source, text_columns)

    from graphdep.parsing.parser import WordLimit
    from graphdep.tasks.sentences.predict import SentenceEncoder

    limit = WordLimit(max_words, truncate)
    for line, place in zip(texts, places):
        limit.check(line, place)
    options: dict[str, Any] = {"parser": parser, "batch_size": batch_size, "progress": None}
    options["edges"] = edges and import_edges(edges)
    encoder = SentenceEncoder(checkpoint, max_words=max_words, truncate=truncate, **options)
    vectors = encoder.transform(texts)
    result: dict[str, Any] = {
        "checkpoint": str(checkpoint),
        "shape": [*vectors.shape],
        "parser_failures": encoder.parser_failures,
        "output": None if output is None else str(output),
    }
    if output is not None:
        from graphdep.io import atomic_path

        # A file, not its name: to a name like X.NPY NumPy would append .npy.
        with atomic_path(output) as temporary, open(temporary, "wb") as file:
            write(file, vectors)
    elif not json:
        write(sys.stdout, vectors)
    if json:
        print_json(result if output is not None else {**result, "vectors": vectors.tolist()})
    where = "" if output is None else f" -> {output}"
    plain_console(stderr=True).print(
        f"{plural(len(texts), 'text')}, {vectors.shape[1]} numbers each, "
        f"{plural(encoder.parser_failures, 'text')} with a chain "
        f"tree{where}",
        soft_wrap=True,
    )


def _read(source: str, text_columns: str | None) -> tuple[list[str], list[str]]:
    """The texts of a file, and the place of each.

    Raises:
        ValueError: If a file with columns is given without the name of one, or the other way round, or
            something is wrong in it; names file and line.
    """
    if not is_table(source):
        if text_columns is not None:
            raise ValueError(f"--text-columns is for files that have columns (got {source!r})")
        lines = read_lines(source)
        return lines, [f"{source}:{number}" for number in range(1, len(lines) + 1)]
    from graphdep.datasets.base.rows import column_names, read_text_rows

    if text_columns is None:
        names = ", ".join(column_names(Path(source)))
        raise ValueError(
            f"{source} has columns: say which one holds the texts (--text-columns; it has {names})"
        )
    rows = read_text_rows(Path(source), [text_columns])
    # An empty text is a row of zeros, as an empty line is.
    texts = [
        value if isinstance(value := row.values[text_columns], str) else row.text(text_columns)
        for row in rows
    ]
    return texts, [f"{source}:{row.line}: {text_columns!r}" for row in rows]


def writer(output: Path | None) -> Callable[[Any, np.ndarray], None]:
    """Writes vectors in the format that the name of the file asks for.

    Raises:
        ValueError: If the suffix is none of a known format.
    """
    import numpy as np

    suffix = ".csv" if output is None else output.suffix.lower()
    if suffix == ".npy":
        return lambda file, vectors: np.save(file, vectors, allow_pickle=False)
    if suffix not in (".csv", ".tsv"):
        raise ValueError(f"'output' must end in .npy, .csv or .tsv (got {str(output)!r})")
    delimiter = "," if suffix == ".csv" else "\t"
    # Nine digits give every float32 back.
    return lambda file, vectors: np.savetxt(file, vectors, fmt="%.9g", delimiter=delimiter)
