"""``graphdep attention``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphdep.cli import options as o
from graphdep.cli.files import check_output
from graphdep.cli.output import print_json, say_loading
from graphdep.io.files import find_checkpoint
from graphdep.io.process import plain_console


def attention(
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...",
            help="One example: a text; two of a pair; the turns of a dialogue; for response selection the "
            "turns and then the response.",
        ),
    ],
    checkpoint: Annotated[
        Path, typer.Option(metavar="FILE", help="Folder of a run of any task, or its best.ckpt.")
    ],
    output: Annotated[Path, typer.Option(metavar="FILE", help="The picture: .png, .pdf or .svg.")] = Path(
        "attention.png"
    ),
    layer: Annotated[
        int | None,
        typer.Option(metavar="N", help="All heads of this layer, from 1. [default: each layer's mean]"),
    ] = None,
    special: Annotated[
        bool,
        typer.Option(help="Show [CLS], [ROOT] and their like too, which much of the attention may go to."),
    ] = True,
    parser: o.ModelParser = None,
    json: o.Json = False,
) -> None:
    """Draw what the words of a text attend to in a trained model.

    A row of a picture is a word that attends, a column a word that is attended to. The pieces of a word are
    joined: it attends to what they attend to on average, and is attended to as often as they are together.
    With --json all weights go to stdout as well: `alpha` by layer, head, row and column.

    Examples:
        graphdep attention --checkpoint runs/.../best.ckpt "The dog chased the cat." --output attention.png
    """
    check_output(output, checkpoint, None)
    if output.suffix not in (".png", ".pdf", ".svg"):
        raise ValueError(f"'output' must end in .png, .pdf or .svg (got {str(output)!r})")
    checkpoint = find_checkpoint(checkpoint)
    say_loading()
    from graphdep.io import atomic_path
    from graphdep.visualization.plots import attention_map

    shown = attention_map(checkpoint, texts, parser=parser)
    if layer is not None and not 1 <= layer <= len(shown.layers):
        raise ValueError(f"'layer' must be 1 to {len(shown.layers)}, the layers there are (got {layer})")
    shown = shown if special else shown.without_special()
    figure = shown.plot(None if layer is None else layer - 1, title=" | ".join(texts))
    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(output) as temporary:
        figure.savefig(temporary, dpi=110, format=output.suffix[1:])
    if json:
        summary = {"checkpoint": str(checkpoint), "output": str(output), "words": shown.words}
        print_json({**summary, "layers": shown.layers, "alpha": shown.alpha.tolist()})
    plain_console(stderr=True).print(
        f"{len(shown.words)} words, {len(shown.layers)} layers, {shown.heads} heads -> {output}",
        soft_wrap=True,
    )
