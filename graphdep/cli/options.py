"""Options that commands share, and their help."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache, reduce
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.core import TyperCommand

from graphdep.cli import complete
from graphdep.io.files import home_path
from graphdep.io.limits import did_you_mean

if TYPE_CHECKING:
    from graphdep.training import TrainConfig
    from graphdep.training.family import TaskFamily


TASKS, MODELS, ROWS, PREDICTED, EDGES = "{tasks}", "{models}", "{rows}", "{predicted}", "{edges}"
"""What a help text may have in place of a list: the tasks, the models, the rows of tables, what can be
predicted, the edges.
"""


class TaskCommand(TyperCommand):
    """A command whose help has lists from the registry, which is imported when somebody asks for the help;
    which knows a setting that is typed as an option; and whose paths may begin with ``~``, which a shell
    leaves as it is in quotes and behind ``=``.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            rest = super().parse_args(ctx, args)
        except Exception as error:
            # By its name: Typer has had Click as a package, and as a part of its own.
            if type(error).__name__ == "NoSuchOption":
                _add_hint(error, [option for param in self.get_params(ctx) for option in param.opts])
            if getattr(getattr(error, "param", None), "name", None) == "seeds" and "integer" in str(error):
                error.message = "a number says how many runs; their seeds count up from --seed"  # type: ignore[attr-defined]
            raise
        for param in self.params:
            takes = param.metavar or ""
            if param.name in ctx.params and takes.startswith(_PATHS):
                ctx.params[param.name] = _at_home(ctx.params[param.name], takes.startswith("TEXT"))
        return rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        said = str([self.help, *map(vars, self.params)])
        if any(place in said for place in (TASKS, MODELS, ROWS, PREDICTED, EDGES)):
            lists = task_lists()
            self.help = _filled(self.help, lists)
            for param in self.params:
                for name in ("help", "rich_help_panel"):
                    if hasattr(param, name):
                        setattr(param, name, _filled(getattr(param, name), lists))
        super().format_help(ctx, formatter)


_PATHS = ("FILE", "DIR", "FOLDER", "SHEET", "TEXT")  # what the metavars of paths begin with


def _at_home(value: Any, may_be_text: bool) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_at_home(one, may_be_text) for one in value)
    if not str(value).startswith("~") or (may_be_text and (" " in value or "/" not in value)):
        return value
    return type(value)(home_path(value))


def _add_hint(error: Any, options: list[str]) -> None:
    """Says which option stands for a word that is usual elsewhere."""
    from graphdep.training.settings import SETTING_ALIASES

    name = SETTING_ALIASES.get(error.option_name.lstrip("-").replace("-", "_"), "")
    option = f"--{name.removeprefix('max_') if name == 'max_epochs' else name}".replace("_", "-")
    if option in options:
        error.message += f" (did you mean {option}?)"
        error.possibilities = None


class RunCommand(TaskCommand):
    """A command that has an option for every setting of a run: those with a panel are shown by ``--help``,
    the others by ``graphdep settings``.
    """

    marks: tuple[str, ...] = ()
    """Only settings with one of these marks are shown; none for all."""

    def get_params(self, ctx: Any) -> list[Any]:
        own = super().get_params(ctx)
        taken = {flag for param in own for flag in param.opts}
        return own + [param for param in _settings_options(self.marks) if not taken & {*param.opts}]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        own = {param.name for param in self.params}
        ctx.meta[_GIVEN] = {name: ctx.params.pop(name) for name in [*ctx.params] if name not in own}
        return rest


class EvaluateCommand(RunCommand):
    """As :class:`RunCommand`, of settings that the weights do not depend on."""

    marks = ("place", "free", "late")


_GIVEN = "graphdep.settings"


@cache
def _settings_options(marks: tuple[str, ...]) -> list[Any]:
    """An option for each setting of any task, made by Typer out of a signature."""
    from graphdep.tasks import families
    from graphdep.training.config import TrainConfig

    known: dict[str, tuple[dict[str, Any], Any]] = {}
    for config in (TrainConfig, *(config for family in families() for config in family.configs.values())):
        for name, own in config.marks.items():
            known.setdefault(name, (own, config.model_fields[name].annotation))

    def command() -> None: ...

    parameters = []
    for name, (own, annotation) in known.items():
        flags = [f"--{name.replace('_', '-')}", *([own["flag"]] if "flag" in own else [])]
        kinds = get_args(annotation) or (annotation,)
        hidden = "panel" not in own or bool(marks and not any(map(own.get, marks)))
        option = typer.Option(
            *reversed(flags),
            help=own["help"].replace("<", r"\<"),  # Markdown would drop a tag
            metavar="PATH" if own.get("place") and str in kinds else _METAVARS[kinds[0]],
            rich_help_panel=own.get("panel"),
            hidden=hidden,
            autocompletion=complete.of_setting(name, own.get("choices") or ()),
        )
        # The columns of pairs may be given one after the other.
        kind: Any = list[str] | None if name == "text_columns" else str | None
        parameters.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, option]
            )
        )
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return list(typer.main.get_command(app).params)


_METAVARS = {int: "N", float: "X", bool: "true|false", str: "TEXT"}


def options_given(ctx: typer.Context) -> dict[str, str]:
    """The settings that were given as options, as texts."""
    found = {name: value for name, value in ctx.meta[_GIVEN].items() if value not in (None, [], ())}
    return {name: value if isinstance(value, str) else ",".join(value) for name, value in found.items()}


def task_lists() -> dict[str, str]:
    """The texts that stand for the lists, by what is in their place."""
    from graphdep.tasks import families
    from graphdep.transforms.presets import edge_names

    known = families()
    return {
        TASKS: "; ".join(f"of {family.unit_name}: {_tasks(family)}" for family in known),
        MODELS: "; ".join(f"of {family.unit_name} {_models(family)}" for family in known),
        ROWS: "; ".join(f"of {family.unit_name} {','.join(family.default_models)}" for family in known),
        PREDICTED: "; ".join(family.predicted for family in known if family.predicted),
        EDGES: f"{', '.join(edge_names())}, or your own: package.module:Name, which is imported, from this "
        "folder, too.",
    }


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


def import_edges(name: str) -> str:
    """Makes edges known by the name ``package.module:Name``; any other name is left as it is.

    The current folder can be imported from, as with ``python -m``.

    Returns:
        The name.

    Raises:
        ValueError: If there is no such module or object, or it makes no transform.
    """
    if ":" not in name:
        return name
    from graphdep.transforms.presets import OBJECT, is_known, register_edges

    if is_known(name):
        return name
    if not OBJECT.fullmatch(name):
        raise ValueError(f"'edges' of your own are named package.module:Name (got {name!r})")
    module, _, path = name.partition(":")
    try:
        register_edges(name, _object(module, path))
    except (TypeError, ValueError) as error:
        raise ValueError(f"'edges' {name!r}: {error}") from None
    return name


def _broken(module: str, error: Exception) -> ValueError:
    return ValueError(f"module {module!r} cannot be imported: {type(error).__name__}: {error}")


def _object(module: str, path: str) -> object:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _broken(module, error) from error  # something that the module needs
        hint = " (a module is named without .py)" if module.endswith(".py") else ""
        raise ValueError(f"no module {module!r} in {here} or among the installed ones{hint}") from None
    except Exception as error:
        raise _broken(module, error) from error
    try:
        return reduce(getattr, path.split("."), found)
    except AttributeError:
        raise ValueError(f"module {module!r} has no {path!r}{did_you_mean(path, dir(found))}") from None


_DATA, _RUN = "Data", "Training"

# What a training file is for where no task is named: other suffixes are those of several tasks.
_TASK_OF_FILES = {".csv": "csv", ".conllu": "labels", ".conll": "labels", ".spacy": "labels"}

Task = Annotated[
    str | None,
    typer.Option(
        help=f"The task {TASKS}. A wrong name lists all. [default: sick-e; csv where --text-columns are "
        "given or --train is a .csv file, labels where it is .conllu, .conll or .spacy]",
        show_default=False,
        autocompletion=complete.tasks,
    ),
]
Bound = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="The smallest effect of interest, in units of the metric, named before the runs: the table then "
        "has a verdict. [default: none]",
    ),
]
RawFrom = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Folder with the corpus' raw files; they are copied into the root.",
        rich_help_panel=_DATA,
    ),
]
_PARSERS = "bundled[:FOLDER], stanza[:LANG], spacy:MODEL, corenlp, conllu:FILE or ptb:FILE"
TextParser = Annotated[str, typer.Option(help=f"{_PARSERS}.", autocompletion=complete.parsers)]
ModelParser = Annotated[
    str | None,
    typer.Option(
        help=f"{_PARSERS}; must be given if training had another one than bundled. [default: bundled]",
        autocompletion=complete.parsers,
    ),
]
BadTrees = Annotated[
    str,
    typer.Option(
        metavar="POLICY",
        help="Of a file of trees, what becomes of those that are none, such as several roots: error; attach "
        "(further roots and cycles to the first root); parse; or skip.",
    ),
]
TreeScheme = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Of a file of trees, the labels: auto converts those of spaCy's English models (CLEAR), as-is "
        "nothing; clear and ud1 convert from these.",
    ),
]
MaxWords = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Words of a text at most; more are an error, or cut by --truncate."
    ),
]
Truncate = Annotated[bool, typer.Option("--truncate", help="Read the first words of a longer text.")]
ModelEdges = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The edges that it was trained with, where they are your own: package.module:Name. A checkpoint "
        "names them, and nothing is imported for it.",
        autocompletion=complete.edges,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting by its Python name: --set hidden_channels=60 is --hidden-channels 60. May "
        "be repeated. `graphdep settings --model NAME` lists all.",
        rich_help_panel=_RUN,
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE.yaml",
        help="Settings by their names, such as the run.yaml of a run, which it repeats; options and --set "
        "are in place of its values.",
        rich_help_panel=_RUN,
    ),
]
RowsConfig = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE.yaml",
        help="Settings of all rows by their names, and under rows: a list of models, or of settings with a "
        "model: and perhaps a name:; also seeds:, reference:, bound:. Options are in place of its values.",
        rich_help_panel=_RUN,
    ),
]
LoggerName = Annotated[
    str,
    typer.Option(
        "--logger",
        metavar="NAME",
        help="tensorboard or wandb, where their package is installed, get the values of epochs as well; "
        "none.",
        rich_help_panel=_RUN,
    ),
]
LogEvery = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Write steps.csv, too: the loss after every N updates. [default: epochs alone, metrics.csv]",
        rich_help_panel=_RUN,
    ),
]
Devices = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Processes a machine that train one model, each on a device of its own: they share each batch.",
        rich_help_panel=_RUN,
    ),
]
Nodes = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="M",
        help="Machines that train one model; torchrun or srun starts the processes.",
        rich_help_panel=_RUN,
    ),
]
Strategy = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="How processes share the work: auto or ddp, the same.", rich_help_panel=_RUN
    ),
]
Output = Annotated[Path | None, typer.Option(metavar="DIR", help="Where results go. [default: below runs/]")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that are there and were not written for the same.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout and nothing else.")]


def gather(task: str, options: Mapping[str, str], texts: list[str] | None) -> dict[str, Any]:
    """The settings of a task that were given, by options or by ``--set``; edges of one's own are imported.

    Raises:
        ValueError: If a setting is wrong, or given both ways with different values.
    """
    from graphdep.tasks.registry import TASKS
    from graphdep.training.config import TrainConfig
    from graphdep.training.settings import parse_settings

    config = TrainConfig.of_task(task)
    for name in options:
        if name not in config.marks:
            takers = [other for other in TASKS if name in TrainConfig.of_task(other).marks]
            raise ValueError(f"{name!r} is a setting of --task {', '.join(takers)} (got {task!r})")
    given = {name: config.read(name, value) for name, value in options.items()}
    by_set = parse_settings(texts or [], task)
    for key in given.keys() & by_set.keys():
        if given[key] != by_set[key]:
            raise ValueError(f"{key!r} is given twice: {given[key]!r} and, with --set, {by_set[key]!r}")
    settings = given | by_set
    for key in config.edge_settings:
        if settings.get(key) is not None:
            import_edges(settings[key])
    return settings


def task_of(
    task: str | None, options: Mapping[str, str] = MappingProxyType({}), config_file: Path | None = None
) -> str:
    """The task that is named, by an option or in a file of settings, or else that a training file of one's
    own stands for, or else the default.

    Raises:
        ValueError: If the training file may be for several, or something is wrong in that of settings.
    """
    from graphdep.training.task import DEFAULT_TASK

    if task is None and config_file is not None:
        from graphdep.training.config import read_mapping

        named = read_mapping(config_file).get("task")
        task = named if isinstance(named, str) else None
    train = options.get("train")
    if task is not None or train is None:
        return task or DEFAULT_TASK
    found = "csv" if "text_columns" in options else _TASK_OF_FILES.get(Path(train).suffix.lower())
    if found is None:
        raise ValueError(f"--train {train}: say what it is for, --task csv, labels or spans")
    return found


def over_file(path: Path | None, given: dict[str, Any]) -> dict[str, Any]:
    """The settings of a file with those that are given in their place.

    Raises:
        ValueError: If something in the file is wrong, or it is of another model, whose settings are others.
    """
    if path is None:
        return given
    from graphdep.training.config import read_run

    found = read_run(path)
    for name in ("task", "model"):
        if name in found and given.get(name) not in (None, found[name]):
            raise ValueError(
                f"{path} has the settings of {name} {found[name]!r}; those of {given[name]!r} are others: "
                f"leave --{name} out, or take {name!r} and what belongs to it out of the file"
            )
    return {**found, **given}


def config_of(model: str | None, settings: dict[str, Any]) -> TrainConfig:
    """The configuration of a model preset with these settings over it; the task must exist."""
    from graphdep.training.config import TrainConfig

    return TrainConfig.of(**{"model": model, **settings})
