"""``graphdep parse``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphdep.cli.files import check_output, same_file
from graphdep.cli.texts import stream_texts
from graphdep.io.limits import plural
from graphdep.io.process import plain_console

if TYPE_CHECKING:
    from graphdep.sentence import Sentence

# Sentences whose graphs are made at a time.
_AT_A_TIME = 4_096
_BRACKETS = (".ptb", ".mrg")  # endings of files of brackets


def parse(
    text: Annotated[
        str, typer.Argument(metavar="TEXT_OR_FILE", help="A text, the name of a text file, or - for stdin.")
    ],
    parser: Annotated[
        str,
        typer.Option(help="bundled[:FOLDER], stanza[:LANG], spacy:MODEL, corenlp, conllu:FILE or ptb:FILE."),
    ] = "bundled",
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.conllu",
            help="Write here, whole or not at all; FILE.ptb and FILE.mrg get the brackets of --constituents "
            "alone. [default: stdout]",
        ),
    ] = None,
    enhanced: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="Write column DEPS as well: ud or ud++ (English); or by pybart, enhanced or enhanced++ "
            "(graphdep[enhanced]; enhanced++ also with the parser corenlp).",
        ),
    ] = None,
    constituents: Annotated[
        bool,
        typer.Option(
            "--constituents",
            help="Write phrases as well, as # constituency = (ROOT ...): bundled, stanza (where the language "
            "has them) or ptb:FILE.",
        ),
    ] = False,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE.sqlite", help="Keep parses here, and parse nothing that it has."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that parse, for files of many texts.")] = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Parse on the workers of a Dask cluster, e.g. tcp://HOST:8786 (graphdep[cluster]).",
        ),
    ] = None,
) -> None:
    """Parse raw text into dependency trees (CoNLL-U).

    A file holds one text a line; empty lines are passed over. It may be larger than memory: sentences are
    written as they are parsed, in order. A text may have several sentences: the parser splits them. A text
    that the parser fails on gets a chain tree, and the number of such texts is reported. With --enhanced,
    sentences for which the parser gives an enhanced graph keep it.

    Examples:
        graphdep parse "The dog chased the cat. It ran away."

        graphdep parse texts.txt --output texts.conllu

        graphdep parse texts.txt --output texts.conllu --cache parses.sqlite --workers 4

        graphdep parse texts.txt --output texts.conllu --cache parses.sqlite --scheduler tcp://node1:8786

        graphdep parse texts.txt --parser stanza:de

        graphdep parse texts.txt --enhanced ud++

        graphdep parse "The dog chased the cat." --constituents

        graphdep parse texts.txt --constituents --output texts.ptb
    """
    from graphdep.io import format_conllu, write_conllu, write_ptb
    from graphdep.parsing import enhance, resolve_parser

    if output is not None:
        _check_output(output, text, parser, cache)
        if output.suffix in _BRACKETS and not constituents:
            raise ValueError(f"'output' has brackets, which are --constituents (got {str(output)!r})")
    texts, total = stream_texts(text)
    if enhanced is not None:
        enhance([], level=enhanced)  # an unknown level is an error before the parser works
    made = resolve_parser(
        parser,
        arcs=enhanced or "basic",
        cache=cache,
        workers=workers,
        scheduler=scheduler,
        constituents=constituents,
    )
    given = _Counted(made.iter_parse(texts, total=total))
    sentences = _Counted(chain.from_iterable(given))
    done = sentences if enhanced is None else _enhanced(sentences, enhanced)
    if output is None:
        if sys.stdout is None:
            raise ValueError("stdout is closed: name a file with --output")
        sys.stdout.writelines(format_conllu(sentence) + "\n" for sentence in done)
    elif output.suffix in _BRACKETS:
        write_ptb(done, output)
    else:
        write_conllu(done, output)
    where = "" if output is None else f" -> {output}"
    plain_console(stderr=True).print(
        f"{plural(given.count, 'text')}, {plural(sentences.count, 'sentence')}, "
        f"{plural(made.failures, 'text')} with a chain tree{where}",
        soft_wrap=True,
    )


class _Counted:
    """Things of an iterator, and how many there were."""

    def __init__(self, things: Iterable[Any]) -> None:
        self.things, self.count = things, 0

    def __iter__(self) -> Iterator[Any]:
        for thing in self.things:
            self.count += 1
            yield thing


def _enhanced(sentences: Iterable[Sentence], level: str) -> Iterator[Sentence]:
    from graphdep.parsing import enhance

    waiting = iter(sentences)
    while some := list(islice(waiting, _AT_A_TIME)):
        yield from enhance(some, level=level)


def _check_output(output: Path, text: str, parser: str, cache: Path | None) -> None:
    if text == "-" and output.exists() and sys.stdin is not None and _is_stdin(output):
        raise ValueError(f"'output' is the file that stdin is read from (got {str(output)!r})")
    files = {"TEXT_OR_FILE": text, "--parser": parser.partition(":")[2], "--cache": str(cache or "")}
    for name, read in files.items():
        if read and same_file(output, read):
            raise ValueError(f"'output' is the file of {name}, which would be lost (got {str(output)!r})")
    check_output(output, Path(text), None)


def _is_stdin(path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(sys.stdin.fileno()), path.stat())
    except (OSError, ValueError):  # a stdin that is no file of the system's
        return False
