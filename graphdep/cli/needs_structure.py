"""``graphdep needs-structure``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from graphdep.cli import options as o
from graphdep.cli.output import print_json, say_loading
from graphdep.io.limits import check_limit
from graphdep.io.process import plain_console


def needs_structure(
    task: o.Task = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The row with trees, e.g. bert-dt. [default: dt; of dialogues transformer-dra]",
        ),
    ] = None,
    trees: Annotated[
        str, typer.Option(help="parser, or gold for the corpus' own: what a perfect parser would bring.")
    ] = "parser",
    minutes: Annotated[float, typer.Option(min=0.1, metavar="N", help="Time for all of it.")] = 20.0,
    seeds: Annotated[int, typer.Option(min=2, metavar="N", help="Runs a row.")] = 3,
    bound: Annotated[
        float,
        typer.Option(
            min=1e-9, metavar="X", help="The smallest gain that would matter, in units of the metric."
        ),
    ] = 0.02,
    root: o.Root = None,
    raw_from: o.RawFrom = None,
    parser: o.Parser = None,
    train_file: o.TrainFile = None,
    val_file: o.ValFile = None,
    test_file: o.TestFile = None,
    text_columns: o.TextColumns = None,
    label_column: o.LabelColumn = None,
    encoder: o.Encoder = None,
    max_epochs: o.MaxEpochs = None,
    batch_size: o.BatchSize = None,
    lr: o.LearningRate = None,
    limit_train: o.LimitTrain = None,
    settings: o.Settings = None,
    output: o.Output = None,
    json: o.Json = False,
) -> None:
    """Is a parser worth having for a task? Models that differ in what they are told of structure.

    Words in random order, words without positions, a plain Transformer, a parser's trees, random trees: a
    trial says how many examples fit into the time, then all are trained on them. Trees help if they beat the
    plain model and the random trees by more than noise. Interrupted, the same command goes on.

    Examples:
        graphdep needs-structure --task labels --train roles.jsonl --test new.jsonl --minutes 20

        graphdep needs-structure --task csv --train reviews.csv --test new.csv --text-columns text
    """
    check_limit("seeds", seeds)
    say_loading()
    task = o.task_of(task, train_file, text_columns)
    given: dict[str, Any] = {"root": root, "raw_from": raw_from, "parser": parser}
    given |= {"max_epochs": max_epochs, "batch_size": batch_size, "lr": lr, "encoder": encoder}
    given |= {"limit_train": limit_train}
    own = o.own_files(task, train_file, val_file, test_file, text_columns, label_column)
    shared = o.gather({**given, **own, "task": task}, settings)
    for name in ("task", "seed", "model"):
        if shared.pop(name, None) is not None and name != "task":
            raise ValueError(f"{name!r} is not a setting of all runs here")
    from graphdep.training import needs_structure as run

    found = run(
        task,
        output or Path("runs", f"needs-structure_{task}"),
        model=model,
        trees=trees,
        settings=shared,
        seeds=seeds,
        minutes=minutes,
        bound=bound,
        console=plain_console(stderr=True),
    )
    if json:
        print_json(found)
        return
    console = plain_console()
    for row in found["rows"]:
        shown = f"{row['mean']:.4f}"
        if row["interval"] is not None:
            low, high = row["interval"]
            shown += f"  {row['difference']:+.4f} [{low:+.4f}, {high:+.4f}]"
        console.print(f"{row['name']:<24} {shown}", soft_wrap=True)
    if found["no_skill"] is not None:
        console.print(f"{'(no skill)':<24} {found['no_skill']:.4f}")
    for sentence in filter(None, found["sentences"]):
        console.print(sentence, soft_wrap=True)
    console.print(f"verdict: {found['verdict']}; {found['files']['plot']}", soft_wrap=True)
