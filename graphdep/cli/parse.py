"""``graphdep parse``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from graphdep.cli.files import check_output
from graphdep.io.plural import plural


def parse(
    text: Annotated[
        str, typer.Argument(metavar="TEXT_OR_FILE", help="A text, the name of a text file, or - for stdin.")
    ],
    parser: Annotated[
        str, typer.Option(help="bundled[:FOLDER], stanza[:LANG], spacy:MODEL, corenlp or conllu:FILE.")
    ] = "bundled",
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE.conllu", help="Write here, whole or not at all. [default: stdout]"),
    ] = None,
    enhanced: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="Write column DEPS as well: ud or ud++ (English); or by pybart, enhanced or enhanced++ "
            "(graphdep[enhanced]; enhanced++ also with the parser corenlp).",
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE.sqlite", help="Keep parses here, and parse nothing that it has."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that parse, for files of many texts.")] = 1,
) -> None:
    """Parse raw text into dependency trees (CoNLL-U).

    A file holds one text a line; empty lines are passed over. A text may have several sentences: the parser
    splits them. A text that the parser fails on gets a chain tree, and the number of such texts is reported.
    With --enhanced, sentences for which the parser gives an enhanced graph keep it.

    Examples:
        graphdep parse "The dog chased the cat. It ran away."

        graphdep parse texts.txt --output texts.conllu

        graphdep parse texts.txt --output texts.conllu --cache parses.sqlite --workers 4

        graphdep parse texts.txt --parser stanza:de

        graphdep parse texts.txt --enhanced ud++
    """
    from graphdep.io import format_conllu, write_conllu
    from graphdep.parsing import enhance, resolve_parser

    if output is not None:
        _check_output(output, text, parser)
    texts = read_texts(text)
    if enhanced is not None:
        enhance([], level=enhanced)  # an unknown level is an error before the parser works
    made = resolve_parser(parser, arcs=enhanced or "basic", cache=cache, workers=workers)
    sentences = [sentence for parsed in made.parse(texts) for sentence in parsed]
    if enhanced is not None:
        sentences = enhance(sentences, level=enhanced)
    if output is None:
        sys.stdout.write("".join(format_conllu(sentence) + "\n" for sentence in sentences))
    else:
        write_conllu(sentences, output)
    where = "" if output is None else f" -> {output}"
    Console(stderr=True).print(
        f"{plural(len(texts), 'text')}, {plural(len(sentences), 'sentence')}, "
        f"{plural(made.failures, 'text')} with a chain tree{where}",
        highlight=False,
        soft_wrap=True,
    )


def _check_output(output: Path, text: str, parser: str) -> None:
    for name, read in (("TEXT_OR_FILE", text), ("--parser", parser.partition(":")[2])):
        if output.exists() and os.path.exists(read) and os.path.samefile(output, read):
            raise ValueError(f"'output' is the file of {name}, which would be lost (got {str(output)!r})")
    check_output(output, Path(text), None)


def read_texts(text: str) -> list[str]:
    """The texts of a file, one a line, or the text itself.

    Raises:
        ValueError: If there is no text, or the file is not UTF-8.
        FileNotFoundError: If what looks like the name of a file is none.
    """
    if text == "-":
        content = sys.stdin.read()
    elif not text.strip():
        content = ""
    elif _is(Path.is_dir, text):
        raise ValueError(f"{text!r} is a folder: name a file in it")
    elif _is(Path.is_file, text):
        content = _read(Path(text))
    elif " " not in text and Path(text).suffix in (".txt", ".text", ".md", ".tsv", ".csv", ".conllu"):
        raise FileNotFoundError(f"no file {text!r} (a text would have spaces)")
    else:
        content = " ".join(text.split())
    texts = [line.strip() for line in content.split("\n") if line.strip()]
    if not texts:
        raise ValueError(f"there is no text to parse in {text!r}")
    return texts


def _is(kind: Callable[[Path], bool], text: str) -> bool:
    try:
        return kind(Path(text))
    except (OSError, ValueError):  # a long text is no possible file name
        return False


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 at byte {error.start}") from None
