"""The application: the commands and what goes for all of them."""

from __future__ import annotations

import io
import logging
import sys
from typing import Annotated

import typer
from rich.logging import RichHandler

from graphdep.cli.ablate import ablate
from graphdep.cli.attention import attention
from graphdep.cli.compare import compare
from graphdep.cli.demo import demo
from graphdep.cli.draw import draw
from graphdep.cli.embed import embed
from graphdep.cli.errors import ErrorGroup
from graphdep.cli.evaluate import evaluate
from graphdep.cli.explore import explore
from graphdep.cli.export import export
from graphdep.cli.generate import generate
from graphdep.cli.human_eval import human_eval
from graphdep.cli.models import models
from graphdep.cli.needs_structure import needs_structure
from graphdep.cli.parse import parse
from graphdep.cli.predict import predict
from graphdep.cli.rank import rank
from graphdep.cli.settings import settings
from graphdep.cli.submit import submit
from graphdep.cli.task_help import TaskCommand
from graphdep.cli.train import train
from graphdep.io.process import plain_console
from graphdep.version import __version__

app = typer.Typer(
    cls=ErrorGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Syntax-informed Transformers: parse sentences, train models whose attention follows the tree, "
    "and see what the syntax was good for.",
)


def _version(value: bool) -> None:
    if value:
        print(f"graphdep {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Sets up what all commands share."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")  # files of texts are UTF-8 wherever they are written
    # Progress and warnings go to stderr: stdout belongs to results.
    handler = RichHandler(console=plain_console(stderr=True), show_time=False, show_path=False)
    logging.basicConfig(level=logging.WARNING, format="%(message)s", handlers=[handler])


for command in (
    demo,
    parse,
    draw,
    train,
    evaluate,
    generate,
    rank,
    embed,
    predict,
    export,
    submit,
    models,
    settings,
    ablate,
    compare,
):
    app.command(cls=TaskCommand)(command)
app.command("needs-structure", cls=TaskCommand)(needs_structure)
app.command()(attention)
app.command()(explore)
app.add_typer(human_eval, name="human-eval")
