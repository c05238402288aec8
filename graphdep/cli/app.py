"""The program ``graphdep``."""

from __future__ import annotations

import io
import logging
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.logging import RichHandler
from rich.table import Table

from graphdep.cli import options as o
from graphdep.cli.common import ErrorGroup, print_json
from graphdep.cli.demo import demo
from graphdep.cli.look import attention, draw, explore, models, parse, settings
from graphdep.cli.options import EvaluateCommand, RunCommand, TaskCommand
from graphdep.cli.train import ablate, compare, evaluate, needs_structure, train, train_parser
from graphdep.cli.use import embed, export, generate, predict, rank, submit
from graphdep.io.console import plain_console
from graphdep.io.files import home_path
from graphdep.io.limits import plural
from graphdep.version import __version__

GRADES = "2 is fluent and relevant, 1 fluent but irrelevant, 0 not fluent"

human_eval = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Have people grade responses: write blinded sheets, and score the filled ones.",
)


@human_eval.command(cls=TaskCommand)
def sheet(
    system: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=FILE",
            help="A system and its responses, JSON lines as written by `graphdep generate`; repeat for each "
            "system.",
        ),
    ],
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the sheets.")],
    n: Annotated[int, typer.Option("--n", min=1, metavar="N", help="Number of random contexts.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed for contexts and orders.")] = 0,
    raters: Annotated[int, typer.Option(min=1, metavar="N", help="Number of sheets.")] = 3,
    overwrite: o.Overwrite = False,
    json: o.Json = False,
) -> None:
    """Write blinded, shuffled sheets of the systems' responses to some random contexts.

    Give the raters the files in `raters/`: a CSV sheet each, or the page rate.html, which needs no network.
    Keep key.json, which maps responses to systems, to yourself.

    Example:
        graphdep human-eval sheet --system transformer=a.jsonl --system dra=b.jsonl --output runs/human
    """
    from graphdep.human_eval.sheets import write_sheets

    systems = _systems(system)
    paths = write_sheets(systems, output, n=n, seed=seed, raters=raters, overwrite=overwrite)
    if json:
        sizes = {"contexts": n, "items": n * len(systems), "raters": raters, "seed": seed}
        print_json({"systems": systems, **sizes, "files": [str(path) for path in paths]})
        return
    print(f"{n} contexts, {len(systems)} systems: {n * len(systems)} items for each of {raters} raters")
    for path in paths:
        print(path)
    print(f"Grades: {GRADES}")


@human_eval.command(cls=TaskCommand)
def score(
    sheets: Annotated[list[Path], typer.Argument(metavar="SHEET...", help="Filled sheets, one per rater.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="key.json of the sheets.")],
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Allow missing grades, and report their number.")
    ] = False,
    json: o.Json = False,
) -> None:
    """Check filled sheets, and print the scores of the systems and Fleiss' kappa.

    Example:
        graphdep human-eval score --key runs/human/key.json rater1.csv rater2.csv rater3.csv
    """
    from graphdep.human_eval.sheets import score_sheets

    scores = score_sheets(key, sheets, allow_missing=allow_missing)
    if json:
        systems = {row.pop("system"): row for row in asdict(scores)["systems"]}
        print_json({**asdict(scores), "systems": systems})
        return
    table = Table("system", "2 (%)", "1 (%)", "0 (%)", "mean", "n", box=SIMPLE)
    for row in scores.systems:
        shares = (f"{100 * share:.1f}" for share in (row.share_2, row.share_1, row.share_0))
        table.add_row(row.system, *shares, f"{row.mean:.2f}", str(row.n))
    console = plain_console()
    console.print(table)
    over = f"over the {scores.kappa_items} items that all {len(scores.raters)} raters graded"
    kappa = f"No Fleiss' kappa ({over}): it needs two raters and two different grades."
    if scores.kappa is not None:
        kappa = f"Fleiss' kappa {scores.kappa:.3f}, {over}."
    lacking = ((path, count) for path, count in scores.missing.items() if count)
    missing = [f"{path}: {plural(count, 'item')} without a grade" for path, count in lacking]
    for line in (f"{GRADES}; n counts grades of all raters.", kappa, *missing):
        console.print(line, soft_wrap=True)


def _systems(texts: list[str]) -> dict[str, str]:
    systems: dict[str, str] = {}
    for text in texts:
        name, _, path = text.partition("=")
        if not (name.strip() and path):
            raise ValueError(f"'--system' must be NAME=FILE (got {text!r})")
        if name.strip() in systems:
            raise ValueError(f"'--system' has {name.strip()!r} twice")
        systems[name.strip()] = str(home_path(path))
    return systems


app = typer.Typer(
    cls=ErrorGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Syntax-informed Transformers: parse sentences, train models whose attention follows the tree, "
    "and measure what syntax contributes.",
)


def _version(value: bool) -> None:
    if value:
        print(f"graphdep {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Sets up output and logging for all commands."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")  # files of texts are UTF-8 in any locale
    # stdout is for results, stderr for progress and warnings.
    handler = RichHandler(console=plain_console(stderr=True), show_time=False, show_path=False)
    logging.basicConfig(level=logging.WARNING, format="%(message)s", handlers=[handler])
    # Of torch_geometric's own modules, from torch 2.14 on.
    warnings.filterwarnings("ignore", message="`torch.jit", category=FutureWarning)


for command in (
    demo,
    parse,
    draw,
    attention,
    explore,
    generate,
    rank,
    embed,
    predict,
    export,
    submit,
    models,
    settings,
    compare,
):
    app.command(cls=TaskCommand)(command)
app.command(cls=RunCommand)(train)
app.command(cls=RunCommand)(ablate)
app.command("needs-structure", cls=RunCommand)(needs_structure)
app.command("train-parser", cls=TaskCommand)(train_parser)
app.command(cls=EvaluateCommand)(evaluate)
app.add_typer(human_eval, name="human-eval")
