"""``graphdep ablate``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from graphdep.cli import options as o
from graphdep.cli.output import print_json, say_loading
from graphdep.cli.own_edges import import_edges
from graphdep.cli.task_help import ROWS
from graphdep.io.limits import check_limit, check_logger
from graphdep.io.process import plain_console


def ablate(
    ctx: typer.Context,
    task: o.Task = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Models, separated by commas or each behind an option of its own; a wrong name lists all. "
            f"Controls: dt@random, dt@chain, dt@reversed. [default: {ROWS}]",
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Runs a model; seeds count up from --seed. [default: 3]"),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model, or the edges, that the others are tested against. [default: transformer, else "
            "the first]",
        ),
    ] = None,
    bound: o.Bound = None,
    edges: o.RowEdges = None,
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
    limit_eval: o.LimitEval = None,
    seed: o.Seed = None,
    config_file: o.RowsConfig = None,
    logger: o.LoggerName = "none",
    log_every: o.LogEvery = None,
    devices: o.Devices = 1,
    nodes: o.Nodes = 1,
    strategy: o.Strategy = "auto",
    settings: o.Settings = None,
    output: o.Output = None,
    json: o.Json = False,
) -> None:
    """Compare models, or edges in one model: train each with several seeds and make the table.

    The table has mean ± standard deviation, the difference to a reference with an interval over seeds and
    test examples, the paper's number beside ours and the no-skill floor. It is written as Markdown and CSV,
    with a plot. Interrupted, the same command goes on where it stopped; finished runs are kept.

    Examples:
        graphdep ablate --task sick-r --models transformer,dt-lr,dt-rg,dt --seeds 3 --raw-from
        ~/Downloads/SICK

        graphdep ablate --models dt,dt@random,dt@chain --epochs 10 --lr 0.01 --output runs/controls

        graphdep ablate --models dt --edges transformer,dra,my_edges:Window

        graphdep ablate --config rows.yaml --seeds 5

        graphdep ablate --task labels --train roles.jsonl --test new.jsonl --models transformer,dt,bilstm
    """
    check_logger(logger)
    say_loading()
    from graphdep.training.rows import RowsFile, read_rows_file

    file = RowsFile() if config_file is None else read_rows_file(config_file)
    seeds = seeds or file.table.get("seeds", 3)
    check_limit("seeds", seeds)
    task = o.task_of(task or file.settings.get("task"), train_file, text_columns)
    rows = _names(edges)
    one, rows = (rows[0], []) if len(rows) == 1 else (None, rows)
    given: dict[str, Any] = {
        "edges": one,
        "root": root,
        "raw_from": raw_from,
        "parser": parser,
    }
    given |= {"max_epochs": max_epochs, "batch_size": batch_size, "lr": lr, "encoder": encoder}
    given |= {"limit_train": limit_train, "limit_eval": limit_eval, "seed": seed}
    own = o.own_files(task, train_file, val_file, test_file, text_columns, label_column)
    shared = file.settings | o.gather({**given, **own, "task": task}, settings)
    del shared["task"]
    first = shared.pop("seed", 0)
    if "model" in shared:
        raise ValueError("'model' is not a setting of all runs: use --models")
    from graphdep.tasks import family_of
    from graphdep.training import TrainConfig
    from graphdep.training.rows import row_settings

    if file.rows and (models or rows):
        raise ValueError(f"{config_file} has rows: --models, or --edges with several, would be others")
    family = family_of(task)
    names = [*family.default_models] or [family.config(task).default_model()]
    if models:
        names = _names(models)
    elif rows:
        names = [TrainConfig.of_task(task).default_model()]
    own_rows = file.rows or {name: {"model": name} for name in names}
    for settings_of_row in row_settings(task, own_rows, shared).values():
        o.config_of(None, {"task": task, **settings_of_row}).check_sources()
    for edge in rows:
        import_edges(edge)
    folder = output or Path("runs", f"ablation_{task}")

    from graphdep.training.ablation import ablate as run
    from graphdep.training.trainer import Processes

    summary = run(
        task,
        [] if file.rows else names,
        range(first, first + seeds),
        folder,
        edges=rows,
        rows=file.rows or None,
        settings=shared,
        reference=reference or file.table.get("reference"),
        bound=file.table.get("bound") if bound is None else bound,
        command=command_line(ctx),
        logger=logger,
        log_every=log_every,
        devices=devices,
        nodes=nodes,
        strategy=strategy,
    )
    if not Processes(devices, nodes, strategy).first:
        return
    paths = report(summary, folder, plain_console(stderr=json))
    if json:
        print_json(summary | {"files": paths})
    if any(row["failed"] for row in summary["rows"]):
        raise typer.Exit(1)


def _names(texts: list[str] | None) -> list[str]:
    return [name.strip() for text in texts or () for name in text.split(",") if name.strip()]


def report(summary: dict[str, Any], folder: Path, console: Console) -> dict[str, str]:
    """Writes the files, prints the table and says where they are."""
    from graphdep.training.table import notes, rich_table, write_report

    paths = write_report(summary, folder)
    console.print(rich_table(summary))
    for line in [*notes(summary), f"- files: {', '.join(paths.values())}"]:
        console.print(line, soft_wrap=True)
    return paths


def command_line(ctx: typer.Context) -> str:
    """The command as one would type it, with the options that were given."""
    parts = ["graphdep", str(ctx.info_name)]
    for parameter in ctx.command.params:
        value = ctx.params.get(parameter.name or "")
        if value in (None, False, [], ()) or value == parameter.get_default(ctx) or parameter.name == "json":
            continue
        for item in value if isinstance(value, (list, tuple)) else [value]:
            parts += [parameter.opts[0], *([] if item is True else [str(item)])]
    return shlex.join(parts)
