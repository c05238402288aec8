"""``graphdep embed``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from graphdep.cli import options as o
from graphdep.cli.files import check_output, read_lines
from graphdep.cli.output import print_json
from graphdep.cli.own_edges import import_edges
from graphdep.io.archive import check_checkpoint
from graphdep.io.limits import MAX_WORDS
from graphdep.io.plural import plural

if TYPE_CHECKING:
    import numpy as np


def embed(
    checkpoint: Annotated[Path, typer.Option(metavar="FILE", help="best.ckpt of a run.")],
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="One text.", show_default=False)] = None,
    source: Annotated[
        str | None, typer.Option("--input", metavar="FILE", help="One text a line, or - for stdin.")
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

    Line i of the input becomes row i of the output: an empty line counts, and is a row of zeros. CSV and TSV
    hold the numbers alone, without a header. A text that the parser fails on gets a chain tree, and the
    number of such texts is reported.

    Examples:
        graphdep embed --checkpoint runs/.../best.ckpt --input texts.txt --output vectors.npy

        graphdep embed --checkpoint runs/.../best.ckpt "The dog chased the cat."
    """
    check_checkpoint(checkpoint)
    write = writer(output)
    if output is not None:
        check_output(output, checkpoint, source)
    texts = read_lines(text, source)

    from graphdep.parsing.word_limit import WordLimit
    from graphdep.tasks.sentences.encoder import SentenceEncoder

    limit = WordLimit(max_words, truncate)
    for number, line in enumerate(texts if source is not None else (), start=1):
        limit.check(line, f"{source}:{number}")
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
    Console(stderr=True).print(
        f"{plural(len(texts), 'text')}, {vectors.shape[1]} numbers each, "
        f"{plural(encoder.parser_failures, 'text')} with a chain "
        f"tree{where}",
        highlight=False,
        soft_wrap=True,
    )


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
