"""The card of a trained model: what it does, what it was trained on, how well, and how it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphdep.training.family.by_task import family_of
from graphdep.training.family.family import TaskFamily
from graphdep.training.family.model_preset import resolve_model
from graphdep.training.family.task import Task
from graphdep.training.family.train_config import TrainConfig
from graphdep.training.runner.checkpoint import RunState
from graphdep.training.runner.licences import licence_of

_HEAD = """---
library_name: graphdep
tags:
- graphdep
- dependency-parsing
- pytorch-geometric
- {task}
---

# {model} on {task}

An encoder whose attention follows the syntax of its input (`{model}`: {summary}), trained by
[graphdep](https://github.com/graphdep/graphdep) on the task `{task}`. {gives}

## Use

```python
import graphdep

model = graphdep.load("FOLDER")  # this folder, or its name on the hub
```

`graphdep predict`, `evaluate` and the other commands take the folder as `--checkpoint FOLDER`. Nothing in
it is code.
"""


def model_card(config: TrainConfig, state: RunState, result: Mapping[str, Any] | None = None) -> str:
    """The card, in Markdown.

    Args:
        config: The settings, without paths of the machine.
        state: What the model was trained with.
        result: What ``graphdep train`` reports of the run; without it the card has no scores.
            (default: :obj:`None`)
    """
    summary = resolve_model(config.model, config.models).summary
    family = family_of(config.task)
    parts = [
        _HEAD.format(
            model=config.model, task=config.task, summary=summary, gives=_gives(family, config.task)
        ),
        _data(config, state),
        _scores(config, result),
        "## Again\n\n```sh\ngraphdep train --config run.yaml\n```\n\n`run.yaml` has all settings; files and "
        "folders in it are names alone.\n",
        _licence(family.tasks[config.task]),
    ]
    return "\n".join(parts)


def _gives(family: TaskFamily, task: str) -> str:
    known = family.predictor(task)
    if known is None:
        return f"It gives {family.gives}."
    return f"`graphdep.load` makes a `graphdep.{known.rpartition('.')[2]}` of it."


def _licence(task: Task) -> str:
    known = licence_of(task.root)
    corpus = f"The corpus, {task.title}: {known}." if known else "The corpus: its licence is not known here."
    return (
        f"## Licence\n\n{corpus} The model has none of its own: those of the corpus, and of the word vectors "
        "or encoder it started from, bind whoever passes it on.\n"
    )


def _data(config: TrainConfig, state: RunState) -> str:
    rows: dict[str, object] = {"parser": config.parser, "edges": config.edges}
    rows["words"] = f"{len(state.vocab):,}"
    for name, value in state.data.items():
        if isinstance(value, (str, int, float)):
            rows[f"data: {name}"] = value
        elif isinstance(value, dict):
            shown = ", ".join(
                f"{key} {own}" for key, own in value.items() if not isinstance(own, (dict, list))
            )
            if shown:
                rows[f"data: {name}"] = shown
    if state.labels is not None:
        names = [str(label) for label in state.labels]
        rows["classes"] = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    return "## Trained on\n\n" + _table(
        ("what", "which"), [(name, str(value)) for name, value in rows.items()]
    )


def _scores(config: TrainConfig, result: Mapping[str, Any] | None) -> str:
    if result is None or not result.get("metrics"):
        return "## Scores\n\nNone are known here.\n"
    floors = {**(result.get("floor") or {})}
    frozen = result.get("floor_frozen") or {}
    lines = []
    for name, value in result["metrics"].items():
        cells = [name, _number(value), _number(floors.get(name))]
        lines.append((*cells, _number(frozen.get(name))) if frozen else tuple(cells))
    header = ("score", "value", "no skill", *(("not trained",) if frozen else ()))
    about = "One run, one seed: no difference to another model is shown by it (`graphdep compare`).\n\n"
    return "## Scores\n\n" + about + _table(header, lines)


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, (int, float)) else ""


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    cells = (" | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in line) for line in lines)
    return "".join(f"| {line} |\n" for line in cells)
