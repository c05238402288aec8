"""``graphdep train``, ``evaluate``, ``ablate``, ``compare``, ``needs-structure`` and ``train-parser``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from graphdep.cli import complete
from graphdep.cli import options as o
from graphdep.cli.common import check_shared, print_json, print_labels, print_scores, report_loading
from graphdep.cli.options import MODELS, ROWS, import_edges
from graphdep.io.console import fitting_table, plain_console
from graphdep.io.files import LAST, check_folder, find_checkpoint
from graphdep.io.limits import check_limit, check_logger

if TYPE_CHECKING:
    from graphdep.training import TrainConfig


def train(
    ctx: typer.Context,
    task: o.Task = None,
    model: Annotated[
        str | None,
        typer.Option(
            help=f"The model: {MODELS}. Models named bert... use a pretrained encoder (--encoder NAME). Any "
            "name may end in a control, as in dt@random. `graphdep models --task NAME` lists all.",
            autocompletion=complete.models,
        ),
    ] = None,
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
            "--resume", help="Continue an interrupted run of the same command, with the same result."
        ),
    ] = False,
    json: o.Json = False,
) -> None:
    """Train one model and score its best epoch.

    The epoch that is best on the validation split is scored on the test split. Each score is shown with its
    floor, the score of a system without skill.

    The run's folder, below runs/, gets metrics.csv with the values of every epoch, curves.png, result.json,
    predictions.csv, best.ckpt, and run.yaml, which repeats the run: `graphdep train --config run.yaml`.

    Examples:
        graphdep train --task sick-e --model dt --raw-from ~/Downloads/SICK

        graphdep train --task sick-r --model transformer --seed 1 --resume

        graphdep train --edges dra --lr 0.01 --epochs 10 --hidden-channels 60 --json

        graphdep train --config runs/.../run.yaml --seed 1

        graphdep train --task dailydialog --model transformer-dra --devices 4

        graphdep train --task csv --train reviews.csv --text-columns text --label-column stars

        graphdep train --task labels --train names.conll --test new.conll --scheme bio
    """
    report_loading()
    check_logger(logger)
    options = o.options_given(ctx)
    task = o.task_of(task, options, config_file)
    shared = {
        "task": task,
        **o.gather(task, options, settings),
        **({} if model is None else {"model": model}),
    }
    config = o.config_of(None, o.over_file(config_file, shared))
    config.check_sources()
    if output is not None:
        check_folder("output", output)

    from graphdep.training.family import load_splits
    from graphdep.training.run import run_folder
    from graphdep.training.run import train as run
    from graphdep.training.trainer import Processes

    processes = Processes(devices, nodes, strategy)
    processes.check_config(config)  # before hours of parsing
    splits = load_splits(config)
    folder = output or run_folder(config, splits, "runs")
    if resume and processes.first:
        _report_unfinished(config, folder)
    options_of_run: dict[str, Any] = {"logger": logger, "log_every": log_every, "devices": devices}
    options_of_run |= {"nodes": nodes, "strategy": strategy}
    result = run(config, folder, splits=splits, resume=resume, **options_of_run)
    if not processes.first:
        return
    if json:
        print_json(result)
    else:
        print_scores(result, where=f"'signature' in {folder / 'result.json'}, or graphdep evaluate")


def _report_unfinished(config: TrainConfig, folder: Path) -> None:
    """Prints to stderr if there is no run to resume, with unfinished runs of other settings."""
    from graphdep.training.config import RESULT

    if any((folder / name).exists() for name in (LAST, RESULT)):
        return
    runs = sorted(folder.parent.glob(f"{config.task}_{config.model}_seed{config.seed}_*/last.ckpt"))
    unfinished = [str(path.parent) for path in runs if not path.with_name(RESULT).exists()]
    others = f"; unfinished with other settings or data: {', '.join(unfinished)}" if unfinished else ""
    print(f"--resume: no unfinished run with these settings, starting a new one{others}", file=sys.stderr)


def evaluate(
    ctx: typer.Context,
    checkpoint: Annotated[Path, typer.Option(metavar="FILE", help="Folder of a run, or its best.ckpt.")],
    split: Annotated[str, typer.Option(help="train, val or test; for MNLI also test-mismatched.")] = "test",
    settings: o.Settings = None,
    json: o.Json = False,
) -> None:
    """Score a trained model on a split, as its training did or with other settings.

    For security, a checkpoint cannot choose files, folders, your own edges, or a parser other than "bundled".
    If it was trained with any of these, give them again, or others; the error message says how.

    Examples:
        graphdep evaluate --checkpoint runs/.../best.ckpt --split test

        graphdep evaluate --checkpoint runs/.../best.ckpt --set strategy=beam --set beams=4

        graphdep evaluate --checkpoint runs/.../best.ckpt --root DIR --parser stanza:de

        graphdep evaluate --checkpoint model --test FILE
    """
    checkpoint = find_checkpoint(checkpoint)
    report_loading()
    from graphdep.training.checkpoint import read_task
    from graphdep.training.evaluation import evaluate as run

    shared = o.gather(read_task(checkpoint), o.options_given(ctx), settings)
    result = run(checkpoint, split, settings=shared)
    if json:
        print_json(result)
    else:
        print_labels(result)
        print_scores(result)


def ablate(
    ctx: typer.Context,
    task: o.Task = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Models, separated by commas or in repeated options. `graphdep models` lists all. "
            f"Controls: dt@random, dt@chain, dt@reversed. [default: {ROWS}]",
            autocompletion=complete.models,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Runs per model, with seeds from --seed on. [default: 3]"),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model, or the edges, that the others are compared with. [default: transformer if it is "
            "a row, else the first]",
        ),
    ] = None,
    bound: o.Bound = None,
    config_file: o.RowsConfig = None,
    logger: o.LoggerName = "none",
    log_every: o.LogEvery = None,
    devices: o.Devices = 1,
    nodes: o.Nodes = 1,
    strategy: o.Strategy = "auto",
    settings: o.Settings = None,
    output: o.Output = None,
    overwrite: o.Overwrite = False,
    json: o.Json = False,
) -> None:
    """Train models, or one model with different edges, with several seeds, and compare them in a table.

    The table has mean ± standard deviation, the difference to a reference with an interval over seeds and
    test examples, the paper's number and the no-skill floor. It is written as Markdown, CSV and LaTeX, with a
    plot. After an interruption, the same command continues; finished runs are kept.

    Examples:
        graphdep ablate --task sick-r --models transformer,dt-lr,dt-rg,dt --seeds 3 --raw-from
        ~/Downloads/SICK

        graphdep ablate --models dt,dt@random,dt@chain --epochs 10 --lr 0.01 --output runs/controls

        graphdep ablate --models dt --edges transformer,dra,my_edges:Window

        graphdep ablate --config rows.yaml --seeds 5

        graphdep ablate --task labels --train roles.jsonl --test new.jsonl --models transformer,dt,bilstm
    """
    check_logger(logger)
    report_loading()
    from graphdep.training.rows import RowsFile, read_rows_file

    file = RowsFile() if config_file is None else read_rows_file(config_file)
    seeds = seeds or file.table.get("seeds", 3)
    check_limit("seeds", seeds)
    options = o.options_given(ctx)
    task = o.task_of(task or file.settings.get("task"), options)
    rows = _names([options["edges"]]) if "edges" in options else []
    if len(rows) > 1:
        del options["edges"]
    else:
        rows = []
    shared = file.settings | o.gather(task, options, settings)
    shared.pop("task", None)
    first = shared.pop("seed", 0)
    if "model" in shared:
        raise ValueError("`ablate` takes --models A,B,..., not --model")
    from graphdep.tasks import family_of
    from graphdep.training.config import TrainConfig
    from graphdep.training.rows import row_settings

    if file.rows and (models or rows):
        raise ValueError(f"{config_file} has rows: leave out --models, and --edges with several names")
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
    check_folder("output", folder)
    from graphdep.training.table import check_report

    named = file.rows or [f"{names[0]} edges={edge}" for edge in rows] or names
    check_report(folder, task, named, shared, overwrite=overwrite)
    from graphdep.training.ablation import ablate as run
    from graphdep.training.trainer import Processes

    main = Processes(devices, nodes, strategy).first
    if seeds == 2 and main:
        plain_console(stderr=True).print("2 seeds: only very large differences can be seen (more --seeds)")
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
        command=o.command_line(ctx),
        logger=logger,
        log_every=log_every,
        devices=devices,
        nodes=nodes,
        strategy=strategy,
    )
    if not main:
        return
    paths = report(summary, folder, plain_console(stderr=json), overwrite)
    if json:
        print_json(summary | {"files": paths})
    if any(row["failed"] for row in summary["rows"]):
        raise typer.Exit(1)


def _names(texts: list[str] | None) -> list[str]:
    return [name.strip() for text in texts or () for name in text.split(",") if name.strip()]


def report(summary: dict[str, Any], folder: Path, console: Console, overwrite: bool) -> dict[str, str]:
    """Writes the report, and prints its table and the paths of its files."""
    from graphdep.training.table import notes, rich_table, write_report

    paths = write_report(summary, folder, overwrite=overwrite)
    console.print(rich_table(summary, console.width))
    for line in [*notes(summary), f"- files: {', '.join(paths.values())}"]:
        console.print(line, soft_wrap=True)
    return paths


_SIDE = "Run folders or predictions.csv files, separated by commas, or a quoted pattern."


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=_SIDE, show_default=False)],
    b: Annotated[
        str, typer.Argument(metavar="B", help="The same for the second system.", show_default=False)
    ],
    more: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    metric: Annotated[
        str | None, typer.Option(metavar="NAME", help="One metric. [default: all of the task's]")
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(help="The task, for predictions without a result.json.", autocompletion=complete.tasks),
    ] = None,
    bound: o.Bound = None,
    samples: Annotated[int, typer.Option(min=2, metavar="N", help="Number of resamples.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed for resampling.")] = 0,
    json: o.Json = False,
) -> None:
    """Compare two systems, with an interval over both seeds and test examples.

    If a system has several runs, its score is their mean; runs with the same seeds are paired. The table has
    the smallest visible difference, and with --bound a verdict; --json also has p values.

    Examples:
        graphdep compare runs/.../sick-e_dt_seed0_1a2b runs/.../sick-e_transformer_seed0_3c4d

        graphdep compare "runs/table3/sick-e_dt_seed*" "runs/table3/sick-e_transformer_seed*" --bound 0.01
    """
    if more:
        raise ValueError(
            f"two systems are compared (got {2 + len(more)} names, the third {more[0]!r}): quote patterns, "
            "and separate the runs of a system by commas"
        )
    from graphdep.training.table import compare_runs

    summary = compare_runs(a, b, metric=metric, task=task, bound=bound, samples=samples, seed=seed)
    if json:
        print_json(summary)
    else:
        _print(summary)


def _print(summary: dict[str, Any]) -> None:
    from graphdep.training.table import difference_text, visible_text

    verdict = ["verdict"] if summary["bound"] is not None else []
    rows = []
    for name, row in summary["metrics"].items():
        difference = difference_text(row)
        others = (visible_text(row), *(row[key].partition(" (")[0] for key in verdict))
        rows.append([name, f"{row['score_a']:.4f}", f"{row['score_b']:.4f}", difference, *others])
    console = plain_console()
    table = fitting_table(
        ["metric", "A", "B", "A-B [95%]", "smallest visible", *verdict],
        rows,
        title=f"{summary['task']}, {summary['n']} examples, {summary['samples']} resamples",
        width=console.width,
        drop=("smallest visible", "B", "A"),
        words=verdict,
    )
    console.print(table)
    for line in _notes(summary):
        console.print(line, soft_wrap=True)


def _notes(summary: dict[str, Any]) -> list[str]:
    from graphdep.metrics.significance import SAME_PREDICTIONS
    from graphdep.training.table import SMALLEST_VISIBLE, VERDICTS

    lines, counts = [], [len(summary[side]["runs"]) for side in "ab"]
    for side, count in zip("ab", counts):
        models = ", ".join(summary[side]["models"]) or "unknown model"
        runs = "1 run" if count == 1 else f"mean of {count} runs"
        lines.append(f"{side.upper()}: {models}, {runs}: {', '.join(summary[side]['runs'])}")
    if differing := [f"{name} {_values(values)}" for name, values in summary["differing"].items()]:
        lines.append(f"Settings that differ, A / B: {', '.join(differing)}.")
    lines.append(f"The interval is over {_over(summary, counts)}.")
    lines.append(_sentence(SMALLEST_VISIBLE))
    if summary["bound"] is not None:
        lines.append(_sentence(VERDICTS.format(summary["bound"])))
    if any(row["identical"] for row in summary["metrics"].values()):
        lines.append(_sentence(SAME_PREDICTIONS))
    return lines


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _values(sides: list[list[Any]]) -> str:
    """The values of a setting on both sides."""
    return " / ".join(" and ".join(map(str, values)) for values in sides)


def _over(summary: dict[str, Any], counts: list[int]) -> str:
    drawn = f"the {summary['units']} {summary['drawn']}"
    if max(counts) == 1:
        return f"{drawn}, not over seeds: name several runs of each system for that"
    if min(counts) == 1:
        which = "AB"[counts[0] == 1]
        return f"the seeds of {which} and {drawn}, not over seeds of the other system, which has one run"
    return f"{'paired' if summary['paired'] else 'unpaired'} seeds and {drawn}"


def needs_structure(
    ctx: typer.Context,
    task: o.Task = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model with trees, e.g. bert-dt. [default: dt; for dialogues transformer-dra]",
            autocompletion=complete.models,
        ),
    ] = None,
    trees: Annotated[
        str | None,
        typer.Option(
            help="parser; gold for the trees of the corpus, as from a perfect parser; or own for those of "
            "your files, the parser's for sentences without. [default: own for labels and spans, else "
            "parser]"
        ),
    ] = None,
    minutes: Annotated[float, typer.Option(min=0.1, metavar="N", help="Total time.")] = 20.0,
    seeds: Annotated[int, typer.Option(min=2, metavar="N", help="Runs per model.")] = 3,
    bound: Annotated[
        float,
        typer.Option(min=1e-9, metavar="X", help="The smallest gain of interest, in units of the metric."),
    ] = 0.02,
    settings: o.Settings = None,
    output: o.Output = None,
    overwrite: o.Overwrite = False,
    json: o.Json = False,
) -> None:
    """Does a parser help on a task? Compares models that differ in the structure they are given.

    Models: shuffled words, words without positions, a plain Transformer, word order as a tree, parsed trees,
    random trees with the parser's labels. A trial run determines how many examples fit into the time; then
    all models train on them. Trees help if they beat the plain model, word order and random trees by more
    than noise. After an interruption, the same command continues.

    Examples:
        graphdep needs-structure --task labels --train roles.jsonl --test new.jsonl --minutes 20

        graphdep needs-structure --task csv --train reviews.csv --test new.csv --text-columns text
    """
    check_limit("seeds", seeds)
    report_loading()
    options = o.options_given(ctx)
    task = o.task_of(task, options)
    shared = o.gather(task, options, settings)
    shared.pop("task", None)
    check_shared(shared, "seed", "model", "edges")
    folder = output or Path("runs", f"needs-structure_{task}")
    check_folder("output", folder)
    from graphdep.training.structure import needs_structure as run
    from graphdep.training.table import difference_text

    found = run(
        task,
        folder,
        model=model,
        trees=trees,
        settings=shared,
        seeds=seeds,
        minutes=minutes,
        bound=bound,
        console=plain_console(stderr=True),
        overwrite=overwrite,
    )
    if json:
        print_json(found)
        return
    console = plain_console()
    floors = found["floors"].items()
    rows = [[f"({about})", f"{score:.4f}", ""] for about, score in floors if score is not None]
    rows += [[row["name"], f"{row['mean']:.4f}", difference_text(row)] for row in found["rows"]]
    header = ["model", found["metric"], "difference [95%]"]
    console.print(fitting_table(header, rows, title=task, width=console.width))
    for sentence in filter(None, found["sentences"]):
        console.print(sentence, soft_wrap=True)
    console.print(f"verdict: {found['verdict']}; {', '.join(found['files'].values())}", soft_wrap=True)


def train_parser(
    raw_from: Annotated[
        list[Path],
        typer.Option(
            metavar="DIR",
            help="A treebank: a folder with *-ud-train.conllu, *-ud-dev.conllu and *-ud-test.conllu. Repeat "
            "for several; the dev split of the first one is used.",
        ),
    ],
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the models, used as --parser bundled:DIR.")
    ],
    language: Annotated[str, typer.Option(metavar="CODE", help="Language code of stanza.")] = "en",
    name: Annotated[
        str | None,
        typer.Option(
            metavar="CODE_NAME", help="Prefix of the files. [default: en_ewt, for other languages CODE_ud]"
        ),
    ] = None,
    glove: Annotated[
        Path | None, typer.Option(metavar="FILE", help="50-dimensional GloVe vectors for tagger and parser.")
    ] = None,
    budget_minutes: Annotated[float, typer.Option(min=0.01, metavar="N", help="Total time.")] = 75,
    copies: Annotated[
        int, typer.Option(min=1, metavar="N", help="Copies of the training set, tagged with dropout.")
    ] = 5,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Sentences to use of each split, for a trial.")
    ] = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Train a parser on Universal Dependencies treebanks, on a CPU.

    If the first treebank has no training split, four fifths of its dev split are used for training. Further
    treebanks contribute their training splits, or everything if they have none.

    Example:
        graphdep train-parser --raw-from UD_German-GSD --language de --output german
    """
    report_loading()
    from graphdep.parsing.training import train_parser as run

    run(
        raw_from,
        output,
        language=language,
        name=name,
        glove=glove,
        minutes=budget_minutes,
        copies=copies,
        limit=limit,
        overwrite=overwrite,
    )
    print(f"--parser bundled:{output}")
