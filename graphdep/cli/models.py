"""``graphdep models``."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Table

from graphdep.cli import options as o
from graphdep.cli.output import print_json
from graphdep.io.process import plain_console


def models(
    task: Annotated[
        str | None, typer.Option(metavar="NAME", help="Those of one task. [default: of every family]")
    ] = None,
    json: o.Json = False,
) -> None:
    """List the models that `train` and `ablate` know, and the controls that each may have.

    Examples:
        graphdep models --task sick-e

        graphdep ablate --task sick-e --models "dt,dt@random,dt@unlabelled"
    """
    from graphdep.tasks import families, family_of
    from graphdep.training.config import CONTROLS

    listed: dict[str, dict[str, Any]] = {}
    for family in families() if task is None else (family_of(task),):
        of_task = next(iter(family.tasks)) if task is None else task
        rows = family.config(of_task).models
        listed[family.name] = {
            "tasks": [*family.tasks],
            "models": {name: preset.summary for name, preset in rows.items()},
        }
    controls = {f"@{name}": about for name, (about, _) in CONTROLS.items()}
    if json:
        print_json({"families": listed, "controls": controls})
        return
    console = plain_console()
    for name, family_rows in listed.items():
        table = Table("model", "what it is", box=SIMPLE, title=f"{name}: {', '.join(family_rows['tasks'])}")
        for model, summary in family_rows["models"].items():
            table.add_row(model, summary)
        console.print(table)
    table = Table("control", "behind a model's name, e.g. dt@random", box=SIMPLE)
    for control, about in controls.items():
        table.add_row(control, about)
    console.print(table)
