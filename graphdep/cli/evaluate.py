"""``graphdep evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphdep.cli import options as o
from graphdep.cli.output import print_json, print_scores


def evaluate(
    checkpoint: Annotated[Path, typer.Option(metavar="FILE", help="best.ckpt of a run.")],
    split: Annotated[str, typer.Option(help="train, val or test.")] = "test",
    root: o.Root = None,
    raw_from: o.RawFrom = None,
    parser: o.Parser = None,
    accelerator: Annotated[
        str | None, typer.Option(help="auto, cpu or gpu. [default: as in training]")
    ] = None,
    json: o.Json = False,
) -> None:
    """Score a trained model on a split, exactly as its training did.

    Example:
        graphdep evaluate --checkpoint runs/.../best.ckpt --split test
    """
    from graphdep.training import evaluate as run

    given = {"root": root, "raw_from": raw_from, "parser": parser, "accelerator": accelerator}
    result = run(checkpoint, split, settings=o.gather(given, None))
    if json:
        print_json(result)
    else:
        print_scores(result)
