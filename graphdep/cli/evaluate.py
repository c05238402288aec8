"""``graphdep evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphdep.cli import options as o
from graphdep.cli.output import print_json, print_scores
from graphdep.io.files import find_checkpoint


def evaluate(
    checkpoint: Annotated[Path, typer.Option(metavar="FILE", help="Folder of a run, or its best.ckpt.")],
    split: Annotated[str, typer.Option(help="train, val or test; of MNLI also test-mismatched.")] = "test",
    root: o.TrainedRoot = None,
    raw_from: o.RawFrom = None,
    parser: o.TrainedParser = None,
    train_file: o.TrainFile = None,
    val_file: o.ValFile = None,
    test_file: o.TestFile = None,
    text_columns: o.TextColumns = None,
    label_column: o.LabelColumn = None,
    edges: o.Edges = None,
    accelerator: Annotated[
        str | None, typer.Option(help="auto, cpu or gpu. [default: as in training]")
    ] = None,
    settings: o.Settings = None,
    json: o.Json = False,
) -> None:
    """Score a trained model on a split, exactly as its training did, unless a setting is given.

    A checkpoint chooses no file, folder, edges of your own or parser but "bundled": where it was trained with
    others than the defaults, repeat or replace them. The error says how.

    Examples:
        graphdep evaluate --checkpoint runs/.../best.ckpt --split test

        graphdep evaluate --checkpoint runs/.../best.ckpt --set strategy=beam --set beams=4

        graphdep evaluate --checkpoint runs/.../best.ckpt --root DIR --parser stanza:de

        graphdep evaluate --checkpoint runs/.../best.ckpt --train FILE --test OTHER
    """
    checkpoint = find_checkpoint(checkpoint)
    from graphdep.training import evaluate as run
    from graphdep.training.checkpoint import read_task

    given = {"root": root, "raw_from": raw_from, "parser": parser, "accelerator": accelerator}
    given |= {"edges": edges}
    task = read_task(checkpoint)
    own = o.own_files(task, train_file, val_file, test_file, text_columns, label_column)
    shared = o.gather({**given, **own, "task": task}, settings)
    del shared["task"]
    result = run(checkpoint, split, settings=shared)
    if json:
        print_json(result)
    else:
        print_scores(result)
