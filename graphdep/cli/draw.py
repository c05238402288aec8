"""``graphdep draw``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphdep.cli.files import check_output
from graphdep.cli.options import EDGE_NAMES
from graphdep.cli.output import say_loading
from graphdep.cli.own_edges import import_edges
from graphdep.cli.texts import read_texts
from graphdep.io.process import plain_console


def draw(
    text: Annotated[
        str, typer.Argument(metavar="TEXT_OR_FILE", help="A text, the name of a text file, or - for stdin.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="A page for the browser: .html; or a picture: .svg, .png or .pdf, of several sentences "
            "tree-1.svg, ...",
        ),
    ] = Path("tree.svg"),
    edges: Annotated[
        str | None, typer.Option(metavar="A,B,...", help=f"Edges to draw below the words: {EDGE_NAMES}")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="EDGES",
            help="Show what differs between --edges and these, or `random`: the same on a random tree.",
        ),
    ] = None,
    constituents: Annotated[
        bool,
        typer.Option(
            "--constituents",
            help="Parse phrases, too, and draw them as brackets; edges that read "
            "phrases do so without being told.",
        ),
    ] = False,
    parser: Annotated[
        str,
        typer.Option(help="bundled[:FOLDER], stanza[:LANG], spacy:MODEL, corenlp, conllu:FILE or ptb:FILE."),
    ] = "bundled",
) -> None:
    """Draw the dependency trees of a text, and the edges that a model has on them.

    A page (.html) has all sentences, says of each edge why it is there, and needs no network.

    Examples:
        graphdep draw "The dog chased the cat."

        graphdep draw "The dog chased the cat." --edges dra,sia,dt --output page.html

        graphdep draw "The dog chased the cat." --edges dra --against random --output page.html

        graphdep draw "The old dog chased a cat." --edges constituents --output page.html
    """
    if output.suffix not in (".html", ".svg", ".png", ".pdf"):
        raise ValueError(f"'output' must end in .html, .svg, .png or .pdf (got {str(output)!r})")
    check_output(output, Path(text), None)
    names = [import_edges(name.strip()) for name in (edges or "").split(",") if name.strip()]
    other = against if against in (None, "random") else import_edges(against)
    if against is not None and not names:
        raise ValueError("'against' compares the edges of --edges, which is not given")
    texts = read_texts(text)
    say_loading()
    from graphdep.parsing import resolve_parser
    from graphdep.transforms.presets import PHRASE_PRESETS
    from graphdep.visualization import draw as drawn

    bracketed = constituents or any(name in PHRASE_PRESETS for name in (*names, other))
    own = resolve_parser(parser, constituents=bracketed)
    sentences = [sentence for parsed in own.parse(texts) for sentence in parsed]
    parts = [sentences] if output.suffix == ".html" else [[sentence] for sentence in sentences]
    for number, part in enumerate(parts, start=1):
        name = output if len(parts) == 1 else output.with_stem(f"{output.stem}-{number}")
        drawn(part, names, against=other, root=True).save(name)
        words = sum(len(sentence) for sentence in part)
        plain_console(stderr=True).print(f"{words} words -> {name}", soft_wrap=True)
