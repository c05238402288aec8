"""``graphdep draw``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from graphdep.cli.files import check_output
from graphdep.cli.options import EDGE_NAMES
from graphdep.cli.output import say_loading
from graphdep.cli.own_edges import import_edges
from graphdep.cli.parse import read_texts

if TYPE_CHECKING:
    from graphdep.sentence import Sentence


def draw(
    text: Annotated[
        str, typer.Argument(metavar="TEXT_OR_FILE", help="A text, the name of a text file, or - for stdin.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="The picture: .svg, .png or .pdf; of several sentences tree-1.svg, ..."
        ),
    ] = Path("tree.svg"),
    edges: Annotated[
        str | None, typer.Option(metavar="A,B,...", help=f"Edges to draw below the words: {EDGE_NAMES}")
    ] = None,
    parser: Annotated[
        str, typer.Option(help="bundled[:FOLDER], stanza[:LANG], spacy:MODEL, corenlp or conllu:FILE.")
    ] = "bundled",
) -> None:
    """Draw the dependency trees of a text, and the edges that a model has on them.

    Examples:
        graphdep draw "The dog chased the cat."

        graphdep draw "The dog chased the cat." --edges dra --output edges.png
    """
    if output.suffix not in (".svg", ".png", ".pdf"):
        raise ValueError(f"'output' must end in .svg, .png or .pdf (got {str(output)!r})")
    check_output(output, Path(text), None)
    names = [import_edges(name.strip()) for name in (edges or "").split(",") if name.strip()]
    texts = read_texts(text)
    say_loading()
    from graphdep.io import atomic_path
    from graphdep.parsing import resolve_parser
    from graphdep.visualization import plot_tree

    sentences = [sentence for parsed in resolve_parser(parser).parse(texts) for sentence in parsed]
    for number, sentence in enumerate(sentences, start=1):
        figure = plot_tree(sentence, _edges(sentence, names))
        name = output if len(sentences) == 1 else output.with_stem(f"{output.stem}-{number}")
        name.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(name) as temporary:
            figure.savefig(temporary, dpi=130, format=output.suffix[1:])
        Console(stderr=True).print(f"{len(sentence)} words -> {name}", highlight=False, soft_wrap=True)


def _edges(sentence: Sentence, names: list[str]) -> dict[str, Any]:
    from graphdep.data import to_data
    from graphdep.transforms import resolve

    return {name: resolve(name)(to_data([sentence])).edge_index for name in names}
