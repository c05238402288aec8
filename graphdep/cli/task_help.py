"""What the help of commands says of tasks: read from the families, so that none is forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

if TYPE_CHECKING:
    from graphdep.training.family import TaskFamily

TASKS, MODELS, ROWS, OWN_TASKS, PREDICTED = "{tasks}", "{models}", "{rows}", "{own_tasks}", "{predicted}"
"""What a help text may have in place of a list: the tasks, the models, the rows of tables, the tasks on files
of one's own, what can be predicted.
"""


class TaskCommand(TyperCommand):
    """A command whose help has lists from the registry, which is imported when somebody asks for the help,
    and which knows a setting that is typed as an option.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # By its name: Typer has had Click as a package, and as a part of its own.
            if type(error).__name__ == "NoSuchOption":
                _add_hint(error, [option for param in self.params for option in param.opts])
            if getattr(getattr(error, "param", None), "name", None) == "seeds" and "integer" in str(error):
                error.message = "a number says how many runs; their seeds count up from --seed"  # type: ignore[attr-defined]
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        said = str([self.help, *map(vars, self.params)])
        if any(place in said for place in (TASKS, MODELS, ROWS, OWN_TASKS, PREDICTED)):
            lists = task_lists()
            self.help = _filled(self.help, lists)
            for param in self.params:
                for name in ("help", "rich_help_panel"):
                    if hasattr(param, name):
                        setattr(param, name, _filled(getattr(param, name), lists))
        super().format_help(ctx, formatter)


def _add_hint(error: Any, options: list[str]) -> None:
    """Says how a setting is given that was typed as an option."""
    if "--set" not in options:
        return
    from graphdep.tasks import families
    from graphdep.training.settings import USUAL_WORDS

    typed = error.option_name.lstrip("-").replace("-", "_")
    name = USUAL_WORDS.get(typed, typed)
    option = f"--{name.removeprefix('max_') if name == 'max_epochs' else name}".replace("_", "-")
    if option in options:
        error.message += f" (did you mean {option}?)"
    elif any(name in config.field_types() for family in families() for config in family.configs.values()):
        error.message += f" (settings go through --set: --set {name}=VALUE)"
    else:
        return
    error.possibilities = None


def task_lists() -> dict[str, str]:
    """The texts that stand for the lists, by what is in their place."""
    from graphdep.tasks import families

    known = families()
    return {
        TASKS: "; ".join(f"of {family.of}: {_tasks(family)}" for family in known),
        MODELS: "; ".join(f"of {family.of} {_models(family)}" for family in known),
        ROWS: "; ".join(f"of {family.of} {','.join(family.default_models)}" for family in known),
        OWN_TASKS: ", ".join(name for family in known for name in family.tasks if takes_files(family, name)),
        PREDICTED: "; ".join(family.predicted for family in known if family.predicted),
    }


def takes_files(family: TaskFamily, task: str) -> bool:
    """Whether a task is one on files of one's own."""
    return "train" in family.config(task).field_types()


def _tasks(family: TaskFamily) -> str:
    """The tasks of a family, with titles that say more than their names."""
    return ", ".join(
        name if _same(name, task.title) else f"{name} ({task.title})" for name, task in family.tasks.items()
    )


def _same(name: str, title: str) -> bool:
    return re.sub(r"\W", "", name) == re.sub(r"\W", "", title.lower())


def _models(family: TaskFamily) -> str:
    """The models of a family that one looks for first, and its own one."""
    config = family.config(next(iter(family.tasks)))
    return f"{_joined(family.default_models, config.models)} [default: {config.default_model()}]"


def _joined(names: Iterable[str], known: Mapping[str, Any]) -> str:
    shown = list(names)
    others = len([name for name in known if name not in shown])
    return ", ".join(shown) + (f" and {others} more" if others > 0 else "")


def _filled(text: str | None, lists: Mapping[str, str]) -> str | None:
    for place, words in lists.items() if text else ():
        text = (text or "").replace(place, words)
    return text
