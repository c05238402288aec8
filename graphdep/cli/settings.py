"""``graphdep settings``."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Table

from graphdep.cli import options as o
from graphdep.cli.output import print_json
from graphdep.io.process import plain_console


def settings(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="Some settings alone, or parts of names.", show_default=False),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model. [default: that of the task]")
    ] = None,
    task: o.Task = None,
    json: o.Json = False,
) -> None:
    """List the settings of a model: name, default, meaning.

    Each is given to `train` and `ablate` by --set NAME=VALUE, in a file by --config, and in Python to
    TrainConfig.of and to estimators by its name.

    Examples:
        graphdep settings --model bert-dt --task cola

        graphdep settings lr batch --model dt
    """
    from graphdep.training.config import TrainConfig, setting_texts

    task = o.task_of(task)
    config = TrainConfig.of_task(task)
    rows = setting_texts(config, task, model or config.default_model())
    if names:
        rows = [row for row in rows if any(name in row.name for name in names)]
        if not rows:
            config.check_keys(names)
    if json:
        print_json({"task": task, "settings": [row._asdict() for row in rows]})
        return
    table = Table("setting", "default", "what it is", box=SIMPLE, title=f"{model or 'settings'} on {task}")
    for row in rows:
        table.add_row(row.name, _shown(row.default), row.meaning)
    plain_console().print(table)


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return re.sub(r"(\.0)?e-0?", "e-", str(value))
