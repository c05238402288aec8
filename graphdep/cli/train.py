"""``graphdep train``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphdep.cli import options as o
from graphdep.cli.output import print_json, print_scores, say_loading
from graphdep.cli.task_help import MODELS
from graphdep.io.limits import check_logger

if TYPE_CHECKING:
    from graphdep.training import TrainConfig


def train(
    task: o.Task = None,
    model: Annotated[
        str | None,
        typer.Option(
            help=f"The model: {MODELS}. Names that begin with bert stand on a pretrained encoder "
            "(--encoder NAME); behind any may stand a control, as in dt@random. `graphdep models "
            "--task NAME` lists all."
        ),
    ] = None,
    edges: o.Edges = None,
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
    config_file: o.ConfigFile = None,
    logger: o.LoggerName = "none",
    log_every: o.LogEvery = None,
    devices: o.Devices = 1,
    nodes: o.Nodes = 1,
    strategy: o.Strategy = "auto",
    settings: o.Settings = None,
    output: o.Output = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on where the same command was interrupted; the result is the same."
        ),
    ] = False,
    json: o.Json = False,
) -> None:
    """Train one model and score its best epoch.

    The best epoch on the validation split is kept, and scored on the test split. Beside each score stands its
    floor: what a system without any skill gets.

    The run's folder, below runs/, gets metrics.csv with the values of every epoch, curves.png, result.json,
    predictions.csv, best.ckpt, and run.yaml, which repeats it: `graphdep train --config run.yaml`.

    Examples:
        graphdep train --task sick-e --model dt --raw-from ~/Downloads/SICK

        graphdep train --task sick-r --model transformer --seed 1 --resume

        graphdep train --edges dra --lr 0.01 --epochs 10 --set hidden_channels=60 --json

        graphdep train --config runs/.../run.yaml --seed 1

        graphdep train --task dailydialog --model transformer-dra --devices 4

        graphdep train --task csv --train reviews.csv --text-columns text --label-column stars

        graphdep train --task labels --train names.conll --test new.conll --set scheme=bio
    """
    say_loading()
    check_logger(logger)
    task = o.task_of(task, train_file, text_columns, config_file)
    given: dict[str, Any] = {"task": task, "edges": edges, "root": root, "raw_from": raw_from}
    given |= {"parser": parser, "seed": seed}
    given |= {"max_epochs": max_epochs, "batch_size": batch_size, "lr": lr, "encoder": encoder}
    given |= {"limit_train": limit_train, "limit_eval": limit_eval}
    own = o.own_files(task, train_file, val_file, test_file, text_columns, label_column)
    shared = o.gather(given | own, settings) | ({} if model is None else {"model": model})
    config = o.config_of(None, o.over_file(config_file, shared))
    config.check_sources()

    from graphdep.training import load_splits, run_folder
    from graphdep.training import train as run
    from graphdep.training.trainer import Processes

    processes = Processes(devices, nodes, strategy)
    processes.check_precision(config.precision)  # before hours of parsing
    splits = load_splits(config)
    folder = output or run_folder(config, splits, "runs")
    if resume and processes.first and not (folder / "last.ckpt").exists():
        _say_unfinished(config, folder)
    told: dict[str, Any] = {"logger": logger, "log_every": log_every}
    together: dict[str, Any] = {"devices": devices, "nodes": nodes, "strategy": strategy}
    result = run(config, folder, splits=splits, resume=resume, **told, **together)
    if not processes.first:
        return
    if json:
        print_json(result)
    else:
        print_scores(result, told=f"'signature' in {folder / 'result.json'}, and graphdep evaluate")


def _say_unfinished(config: TrainConfig, folder: Path) -> None:
    """Says on stderr that nothing can be resumed, and names unfinished runs of other settings."""
    from graphdep.training.config import RESULT

    runs = sorted(folder.parent.glob(f"{config.task}_{config.model}_seed{config.seed}_*/last.ckpt"))
    unfinished = [str(path.parent) for path in runs if not path.with_name(RESULT).exists()]
    others = f"; with other settings or data: {', '.join(unfinished)}" if unfinished else ""
    print(f"--resume: no unfinished run with these settings, a new one starts{others}", file=sys.stderr)
