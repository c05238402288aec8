"""``graphdep embed``."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from graphdep.cli import options as o
from graphdep.cli.output import print_json
from graphdep.io.atomic import check_plain_file
from graphdep.io.limits import MAX_WORDS

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
    write = writer(output)
    if output is not None:
        check_output(output, checkpoint, source)
    texts = read_lines(text, source)

    from graphdep.parsing.word_limit import WordLimit
    from graphdep.sentence_encoder import SentenceEncoder

    limit = WordLimit(max_words, truncate)
    for number, line in enumerate(texts if source is not None else (), start=1):
        limit.check(line, f"{source}:{number}")
    options: dict[str, Any] = {"parser": parser, "batch_size": batch_size, "progress": None}
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
        f"{len(texts)} texts, {vectors.shape[1]} numbers each, {encoder.parser_failures} texts with a chain "
        f"tree{where}",
        highlight=False,
        soft_wrap=True,
    )


def read_lines(text: str | None, source: str | None) -> list[str]:
    """The text, or the lines of the file, empty ones included; a line break at the end starts no new line.

    Raises:
        ValueError: If not exactly one of the two is given, the file has no line or is not UTF-8.
        OSError: If the file cannot be read.
    """
    if (text is None) == (source is None):
        raise ValueError("give either a TEXT or --input FILE")
    if text is not None:
        return [text]
    assert source is not None
    content = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        before = content[: error.start].split(b"\n")
        raise ValueError(f"{source}:{len(before)}: not UTF-8 at byte {len(before[-1])}") from None
    if lines[-1] == "":
        lines.pop()
    if not lines:
        raise ValueError(f"{source}: no line, and so no text")
    return [line.removesuffix("\r") for line in lines]


def check_output(output: Path, checkpoint: Path, source: str | None) -> None:
    """Finds out before the work whether the file can be written, and that it is none of those that are read.

    Raises:
        ValueError: If it is one of them, no plain file, or below something that is no folder to write in.
    """
    for name, read in (("--checkpoint", checkpoint), ("--input", source)):
        if read is None or read == "-" or not (output.exists() and os.path.exists(read)):
            continue
        if os.path.samefile(output, read):
            raise ValueError(f"'output' is the file of {name}, which would be lost (got {str(output)!r})")
    if output.is_dir():
        raise ValueError(f"'output' must be a file (got the folder {str(output)!r})")
    check_plain_file(output)
    folder = next(parent for parent in output.parents if parent.exists())
    if not folder.is_dir():
        raise ValueError(f"'output' cannot be written: {str(folder)!r} is no folder (got {str(output)!r})")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(
            f"'output' cannot be written: no permission to write in {str(folder)!r} (got {str(output)!r})"
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
