"""``graphdep explore``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from graphdep.cli import options as o
from graphdep.cli.files import check_output
from graphdep.cli.options import EDGE_NAMES
from graphdep.cli.output import say_loading
from graphdep.cli.own_edges import import_edges
from graphdep.cli.texts import read_texts
from graphdep.io.files import find_checkpoint
from graphdep.io.process import plain_console


def explore(
    checkpoint: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="Folder of a run, or its best.ckpt; twice to compare two models."),
    ],
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="One example: a text; once more for the second of a pair; the turns of a dialogue; for "
            "response selection the turns and then the response; spans as <e1>a</e1> and <e2>b</e2>.",
        ),
    ] = None,
    input: Annotated[
        str | None, typer.Option(metavar="FILE", help="The example, a text a line; - for stdin.")
    ] = None,
    output: Annotated[
        Path, typer.Option(metavar="FILE", help="The page (.html), or its edges: .svg, .png or .pdf.")
    ] = Path("page.html"),
    against: Annotated[
        str | None, typer.Option(metavar="random", help="Compare with the same model on a random tree.")
    ] = None,
    edges: Annotated[
        str | None, typer.Option(metavar="A,B,...", help=f"Further edges to show and look for: {EDGE_NAMES}")
    ] = None,
    candidate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="Of response selection: another response, to rank beside the last."
        ),
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="On which edges the answer depends: gradient, gnnexplainer (PyG's, some seconds more).",
        ),
    ] = None,
    parser: o.ModelParser = None,
) -> None:
    """See what a trained model does with a text: a page for the browser that needs no network.

    The page has the tree with the edges of the model, and why each is there; the attention of all layers and
    heads, and what flows through them; what the model says; and of two models what differs.

    Examples:
        graphdep explore --checkpoint runs/.../best.ckpt --text "The dog chased the cat."

        graphdep explore --checkpoint runs/A --checkpoint runs/B --text "Fine." --output difference.html

        graphdep explore --checkpoint runs/A --text "The dog chased the cat." --against random

        graphdep explore --checkpoint runs/A --text "The dog chased the cat." --explain gradient
    """
    if output.suffix not in (".html", ".svg", ".png", ".pdf"):
        raise ValueError(f"'output' must end in .html, .svg, .png or .pdf (got {str(output)!r})")
    if (text is None) == (input is None):
        raise ValueError("give the example by --text or by --input, one of the two")
    if len(checkpoint) > 2 or (len(checkpoint) == 2 and against is not None):
        raise ValueError("two can be compared: give --checkpoint twice, or once with --against")
    if against not in (None, "random"):
        raise ValueError(f"'against' must be 'random' (got {against!r}); a second model by --checkpoint")
    places = [find_checkpoint(place) for place in checkpoint]
    check_output(output, places[0], None)
    texts = text if text is not None else read_texts(str(input))
    names = [import_edges(name.strip()) for name in (edges or "").split(",") if name.strip()]
    say_loading()
    from graphdep.visualization.plots import explore as explored

    other = places[1] if len(places) == 2 else against
    asked = [name.strip() for name in (explain or "").split(",") if name.strip()]
    options: dict[str, Any] = {"edges": names, "candidates": candidate or [], "explain": asked}
    page = explored(places[0], texts, against=other, parser=parser, **options)
    page.save(output)
    plain_console(stderr=True).print(f"{page.summary} -> {output}", soft_wrap=True)
