"""Options shared by commands, and their help."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping
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
"""Placeholders in help texts for lists: tasks, models, rows of tables, what can be predicted, edges."""


class TaskCommand(TyperCommand):
    """A command that fills the lists in its help from the registry, which is imported only then, suggests an
    option for a mistyped setting, and expands ``~`` in paths, as shells do not in quotes and after ``=``.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            rest = super().parse_args(ctx, args)
        except Exception as error:
            # By its name: some versions of Typer import Click, others contain it.
            if type(error).__name__ == "NoSuchOption":
                _add_hint(error, [option for param in self.get_params(ctx) for option in param.opts])
            if getattr(getattr(error, "param", None), "name", None) == "seeds" and "integer" in str(error):
                error.message = "--seeds is a number of runs; their seeds count up from --seed"  # type: ignore[attr-defined]
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


_PATHS = ("FILE", "DIR", "FOLDER", "SHEET", "TEXT")  # metavars of paths begin so


def _at_home(value: Any, may_be_text: bool) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_at_home(one, may_be_text) for one in value)
    if not str(value).startswith("~") or (may_be_text and (" " in value or "/" not in value)):
        return value
    return type(value)(home_path(value))


def _add_hint(error: Any, options: list[str]) -> None:
    """Suggests the option for a name that is usual elsewhere."""
    from graphdep.training.settings import SETTING_ALIASES

    name = SETTING_ALIASES.get(error.option_name.lstrip("-").replace("-", "_"), "")
    option = f"--{name.removeprefix('max_') if name == 'max_epochs' else name}".replace("_", "-")
    if option in options:
        error.message += f" (did you mean {option}?)"
        error.possibilities = None


class RunCommand(TaskCommand):
    """A command with an option for every setting of a run; ``--help`` shows those with a panel."""

    marks: tuple[str, ...] = ()
    """Show only settings with one of these marks; empty for all."""

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
    """A :class:`RunCommand` that shows only settings on which the weights do not depend."""

    marks = ("place", "free", "late")


_GIVEN = "graphdep.settings"


@cache
def _settings_options(marks: tuple[str, ...]) -> list[Any]:
    """An option for each setting of any task; Typer makes them from a signature."""
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
            metavar=_metavar(own, kinds),
            rich_help_panel=own.get("panel"),
            hidden=hidden,
            autocompletion=complete.of_setting(name, own.get("choices") or ()),
        )
        # The two columns of pairs may be given by two options.
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


def command_line(ctx: typer.Context, without: Collection[str] = ()) -> str:
    """The command as typed, with the given options other than ``--json`` and those of ``without``."""
    parts = ["graphdep", str(ctx.info_name)]
    values = {**ctx.params, **options_given(ctx)}
    for parameter in ctx.command.get_params(ctx):
        value = values.get(parameter.name or "")
        if value in (None, False, [], ()) or value == parameter.get_default(ctx):
            continue
        if parameter.name not in ("json", *without):
            for item in value if isinstance(value, (list, tuple)) else [value]:
                parts += [parameter.opts[0], *([] if item is True else [str(item)])]
    return shlex.join(parts)


def _metavar(own: dict[str, Any], kinds: tuple[Any, ...]) -> str:
    if str not in kinds or not (own.get("choices") or own.get("place")):
        return _METAVARS[kinds[0]]
    return "NAME" if own.get("choices") else "PATH"


def options_given(ctx: typer.Context) -> dict[str, str]:
    """Settings given as options, as texts."""
    found = {name: value for name, value in ctx.meta.get(_GIVEN, {}).items() if value not in (None, [], ())}
    return {name: value if isinstance(value, str) else ",".join(value) for name, value in found.items()}


def task_lists() -> dict[str, str]:
    """Texts of the lists by placeholder."""
    from graphdep.tasks import families
    from graphdep.transforms.presets import edge_names

    known = families()
    return {
        TASKS: "; ".join(f"of {family.unit_name}: {_tasks(family)}" for family in known),
        MODELS: "; ".join(f"of {family.unit_name} {_models(family)}" for family in known),
        ROWS: "; ".join(f"of {family.unit_name} {','.join(family.default_models)}" for family in known),
        PREDICTED: "; ".join(family.predicted for family in known if family.predicted),
        EDGES: f"{', '.join(edge_names())}, or your own as package.module:Name, imported "
        "(also from the current folder).",
    }


def _tasks(family: TaskFamily) -> str:
    """The tasks of a family, with their titles where these differ from the names."""
    return ", ".join(
        name if _same(name, task.title) else f"{name} ({task.title})" for name, task in family.tasks.items()
    )


def _same(name: str, title: str) -> bool:
    return re.sub(r"\W", "", name) == re.sub(r"\W", "", title.lower())


def _models(family: TaskFamily) -> str:
    """The main models of a family, and the default one."""
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
    """Imports and registers edges with a name ``package.module:Name``; does nothing for other names.

    Modules in the current folder can be imported, as with ``python -m``.

    Returns:
        The name.

    Raises:
        ValueError: If there is no such module or object, or it does not make a transform.
    """
    if ":" not in name:
        return name
    from graphdep.transforms.presets import OBJECT, is_known, register_edges

    if is_known(name):
        return name
    if not OBJECT.fullmatch(name):
        raise ValueError(f"your own 'edges' are named package.module:Name (got {name!r})")
    module, _, path = name.partition(":")
    try:
        register_edges(name, _object(module, path))
    except (TypeError, ValueError) as error:
        raise ValueError(f"'edges' {name!r}: {error}") from None
    return name


def _broken(module: str, error: BaseException) -> ValueError:
    kind = "" if isinstance(error, (ImportError, SyntaxError)) else f"{type(error).__name__}: "
    return ValueError(f"module {module!r} cannot be imported: {kind}{error}")


def _object(module: str, path: str) -> object:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _broken(module, error) from error  # an import of the module's own
        hint = " (module names have no .py)" if module.endswith(".py") else ""
        raise ValueError(f"no module {module!r} in {here} or installed{hint}") from None
    except (Exception, SystemExit) as error:
        raise _broken(module, error) from error
    try:
        return reduce(getattr, path.split("."), found)
    except AttributeError:
        raise ValueError(f"module {module!r} has no {path!r}{did_you_mean(path, dir(found))}") from None


_DATA, _RUN = "Data", "Training"

# The task for a training file if none is named; other suffixes belong to several tasks.
_TASK_OF_FILES = {".csv": "csv", ".conllu": "labels", ".conll": "labels", ".spacy": "labels"}

Task = Annotated[
    str | None,
    typer.Option(
        help=f"The task {TASKS}. [default: sick-e; csv if --text-columns is given or --train is a .csv file, "
        "labels if --train is .conllu, .conll or .spacy]",
        show_default=False,
        autocompletion=complete.tasks,
    ),
]
Bound = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="The smallest effect of interest, in units of the metric, chosen before the runs: adds a "
        "verdict to the table. [default: none]",
    ),
]
RawFrom = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Folder with the raw files of the corpus, which are copied into the root.",
        rich_help_panel=_DATA,
    ),
]
_PARSERS = "bundled[:FOLDER], stanza[:LANG], spacy:MODEL, corenlp, conllu:FILE or ptb:FILE"
TextParser = Annotated[str, typer.Option(help=f"{_PARSERS}.", autocompletion=complete.parsers)]
ModelParser = Annotated[
    str | None,
    typer.Option(
        help=f"{_PARSERS}; required if the model was trained with another parser than bundled. [default: "
        "bundled]",
        autocompletion=complete.parsers,
    ),
]
BadTrees = Annotated[
    str,
    typer.Option(
        metavar="POLICY",
        help="For invalid trees in a file, e.g. with several roots: error, attach (further roots and cycles "
        "to the first root), parse, or skip.",
    ),
]
TreeScheme = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Labels of a file of trees: auto converts those of spaCy's English models (CLEAR); as-is "
        "converts nothing; clear and ud1 convert from these schemes.",
    ),
]
MaxWords = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Maximum number of words in a text; a longer text is an error, or cut with --truncate.",
    ),
]
Truncate = Annotated[bool, typer.Option("--truncate", help="Cut texts longer than --max-words.")]
ModelEdges = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="For a model trained with your own edges: their name, package.module:Name. Nothing is imported "
        "just because a checkpoint names it.",
        autocompletion=complete.edges,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting by its Python name: --set hidden_channels=60 is --hidden-channels 60. Repeat for "
        "several. `graphdep settings --model NAME` lists all.",
        rich_help_panel=_RUN,
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE.yaml",
        help="A file of settings, e.g. the run.yaml of a run, to repeat it. Options and --set take "
        "precedence.",
        rich_help_panel=_RUN,
    ),
]
RowsConfig = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE.yaml",
        help="A file of settings for all rows, with rows: (a list of models, or of settings with model: and "
        "optionally name:), and optionally seeds:, reference: and bound:. Options take precedence.",
        rich_help_panel=_RUN,
    ),
]
LoggerName = Annotated[
    str,
    typer.Option(
        "--logger",
        metavar="NAME",
        help="Also log the values of each epoch to tensorboard or wandb, if installed; or none.",
        rich_help_panel=_RUN,
    ),
]
LogEvery = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Also write the loss after every N updates to steps.csv. [default: only metrics.csv, per epoch]",
        rich_help_panel=_RUN,
    ),
]
Devices = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Processes per machine to train one model, each on its own device: they share each batch.",
        rich_help_panel=_RUN,
    ),
]
Nodes = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="M",
        help="Machines to train one model; torchrun or srun starts the processes.",
        rich_help_panel=_RUN,
    ),
]
Strategy = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="How processes share the work: auto or ddp (the same).", rich_help_panel=_RUN
    ),
]
Output = Annotated[Path | None, typer.Option(metavar="DIR", help="Results folder. [default: below runs/]")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace existing files, even of other commands or settings.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout and nothing else.")]


def gather(task: str, options: Mapping[str, str], texts: list[str] | None) -> dict[str, Any]:
    """The settings given by options and ``--set``; imports the user's own edges.

    Raises:
        ValueError: If a setting is invalid, or given in both ways with different values.
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
            raise ValueError(f"{key!r} is given twice: {given[key]!r}, and {by_set[key]!r} with --set")
    settings = given | by_set
    for key in config.edge_settings:
        if settings.get(key) is not None:
            import_edges(settings[key])
    return settings


def task_of(
    task: str | None, options: Mapping[str, str] = MappingProxyType({}), config_file: Path | None = None
) -> str:
    """The task named by an option or in a file of settings, else the task for the training file, else the
    default.

    Raises:
        ValueError: If several tasks read such a training file, or the file of settings is invalid.
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
        raise ValueError(f"--train {train}: name its task: --task csv, labels or spans")
    return found


def over_file(path: Path | None, given: dict[str, Any]) -> dict[str, Any]:
    """The settings of a file, overridden by the given ones.

    Raises:
        ValueError: If the file is invalid, or for another task or model.
    """
    if path is None:
        return given
    from graphdep.training.config import read_run

    found = read_run(path)
    for name in ("task", "model"):
        if name in found and given.get(name) not in (None, found[name]):
            raise ValueError(
                f"{path} has the settings of {name} {found[name]!r}, not of {given[name]!r}: leave out "
                f"--{name}, or remove {name!r} and its settings from the file"
            )
    return {**found, **given}


def config_of(model: str | None, settings: dict[str, Any]) -> TrainConfig:
    """The configuration of a model preset, overridden by settings; the task must exist."""
    from graphdep.training.config import TrainConfig

    return TrainConfig.of(**{"model": model, **settings})
