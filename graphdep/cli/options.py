"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphdep.cli.own_edges import import_edges
from graphdep.cli.task_help import OWN_TASKS, TASKS

if TYPE_CHECKING:
    from graphdep.training import TrainConfig

_DATA, _OWN, _RUN = "Data", f"Files of your own (--task {OWN_TASKS})", "Training"

# What a training file is for where no task is named: other suffixes are those of several tasks.
_TASK_OF_FILES = {".csv": "csv", ".conllu": "labels", ".conll": "labels", ".spacy": "labels"}

Task = Annotated[
    str | None,
    typer.Option(
        help=f"The task {TASKS}. A wrong name lists all. [default: sick-e; csv where --text-columns are "
        "given or --train is a .csv file, labels where it is .conllu, .conll or .spacy]",
        show_default=False,
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
Root = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Folder of the corpus (raw/, processed/, cache/). [default: datasets/ and the corpus' name]",
        rich_help_panel=_DATA,
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
TrainFile = Annotated[
    str | None,
    typer.Option(
        "--train",
        metavar="FILE",
        help="Texts to train on: .csv or .tsv with a header, .jsonl or .parquet; of words .jsonl, .parquet, "
        ".conllu, .spacy, or a word and its label a line; of spans .jsonl, .parquet, or .csv or .tsv with "
        "`<e1>` and `<e2>` in texts.",
        rich_help_panel=_OWN,
    ),
]
ValFile = Annotated[
    str | None,
    typer.Option(
        "--val",
        metavar="FILE",
        help="The same for validation. [default: a tenth of the training file, drawn]",
        rich_help_panel=_OWN,
    ),
]
TestFile = Annotated[
    str | None,
    typer.Option(
        "--test", metavar="FILE", help="The same for testing. [default: no test]", rich_help_panel=_OWN
    ),
]
TextColumns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME[,NAME]",
        help="The column with the texts, or the two columns of pairs; may be given twice.",
        rich_help_panel=_OWN,
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The column with the labels. Which label of words or spans stands for no finding, so that f1 "
        "leaves it out, is --set outside=LABEL. [default: of words O, of spans none]",
        rich_help_panel=_OWN,
    ),
]
Parser = Annotated[
    str | None,
    typer.Option(
        help="bundled[:FOLDER], stanza[:LANG], spacy:MODEL, corenlp, conllu:FILE or ptb:FILE. "
        "[default: bundled]",
        rich_help_panel=_DATA,
    ),
]
ModelParser = Annotated[
    str | None,
    typer.Option(
        help="bundled[:FOLDER], stanza[:LANG], spacy:MODEL, corenlp, conllu:FILE or ptb:FILE; must be given "
        "if training had another one than bundled. [default: bundled]"
    ),
]
TrainedRoot = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Folder of the corpus (raw/, processed/, cache/); must be given if training had another one "
        "than the corpus' own.",
        rich_help_panel=_DATA,
    ),
]
TrainedParser = Annotated[
    str | None,
    typer.Option(
        help="bundled[:FOLDER], stanza[:LANG], spacy:MODEL, corenlp, conllu:FILE or ptb:FILE; must be given "
        "if training had another one than bundled.",
        rich_help_panel=_DATA,
    ),
]
MaxWords = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Words of a text at most; more are an error, or cut by --truncate."
    ),
]
Truncate = Annotated[bool, typer.Option("--truncate", help="Read the first words of a longer text.")]
LimitTrain = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Train on N examples and parse no others: the first, of GLUE and response selection "
        "spread over the split; validation and test stay whole "
        "(--limit-eval and --set limit_eval=N are for them, where a task has it).",
        rich_help_panel=_DATA,
    ),
]
LimitEval = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Validate and test on N examples each, spread over their splits: of words, spans, response "
        "selection and post-training.",
        rich_help_panel=_DATA,
    ),
]
EDGE_NAMES = (
    "transformer, transformer-utterance, tree, dra, sia, sia-intra, sia-inter, dam, dt, dt-related, lisa, "
    "gate, g2g, lisa-complete, constituents, same-constituent, or your own: package.module:Name, which is "
    "imported, from this folder, too."
)
Edges = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help=f"Edges instead of the model's own: {EDGE_NAMES}", rich_help_panel=_RUN
    ),
]
RowEdges = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B,...",
        help="Edges instead of the models' own; several, separated by commas, are the rows, of one model: "
        f"{EDGE_NAMES}",
        rich_help_panel=_RUN,
    ),
]
ModelEdges = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The edges that it was trained with, where they are your own: package.module:Name. A checkpoint "
        "names them, and nothing is imported for it.",
    ),
]
MaxEpochs = Annotated[
    int | None,
    typer.Option(
        "--epochs",
        "--max-epochs",
        min=1,
        metavar="N",
        help="Epochs at most; fewer after `patience` of them without a better validation score (--set "
        "patience=8, none for never). [default: the model's]",
        rich_help_panel=_RUN,
    ),
]
LearningRate = Annotated[
    float | None,
    typer.Option("--lr", metavar="X", help="Learning rate. [default: the model's]", rich_help_panel=_RUN),
]
BatchSize = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Examples a batch. [default: the model's]", rich_help_panel=_RUN),
]
Encoder = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The pretrained encoder of models whose names begin with bert: a folder, or a name on the "
        "Hugging Face hub. transformer stands for one that is trained from nothing. [default: the model's]",
        rich_help_panel=_RUN,
    ),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Random seed. [default: 0]", rich_help_panel=_RUN)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any other setting by its Python name, e.g. --set hidden_channels=60; may be repeated. "
        "`graphdep settings --model NAME` lists all.",
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
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout and nothing else.")]


def gather(options: dict[str, Any], texts: list[str] | None) -> dict[str, Any]:
    """The settings that were given, by option or by ``--set``; edges of one's own are imported.

    Raises:
        ValueError: If a setting is wrong, or given both ways with different values.
    """
    from graphdep.training import TrainConfig, parse_settings

    given = {key: value for key, value in options.items() if value is not None}
    by_set = parse_settings(texts or [], given.get("task"))
    for key in given.keys() & by_set.keys():
        if given[key] != by_set[key]:
            raise ValueError(f"{key!r} is given twice: {given[key]!r} and, with --set, {by_set[key]!r}")
    settings = given | by_set
    for key in TrainConfig.of_task(settings.get("task")).edge_settings:
        if settings.get(key) is not None:
            import_edges(settings[key])
    return settings


def task_of(
    task: str | None,
    train: str | None = None,
    text_columns: list[str] | None = None,
    config_file: Path | None = None,
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
    if task is not None or train is None:
        return task or DEFAULT_TASK
    found = "csv" if text_columns else _TASK_OF_FILES.get(Path(train).suffix.lower())
    if found is None:
        raise ValueError(f"--train {train}: say what it is for, --task csv, labels or spans")
    return found


def own_files(
    task: str,
    train: str | None,
    val: str | None,
    test: str | None,
    text_columns: list[str] | None,
    label_column: str | None,
) -> dict[str, Any]:
    """The settings that name files of one's own and their columns, of those that are given.

    Raises:
        ValueError: If the task takes none of that name; the message lists those that do.
    """
    from graphdep.tasks import TASKS
    from graphdep.training import TrainConfig

    columns = ",".join(text_columns) if text_columns else None
    own = {"train": train, "val": val, "test": test, "text_columns": columns, "label_column": label_column}
    given = {name: value for name, value in own.items() if value is not None}
    for name in given:
        if name not in TrainConfig.of_task(task).field_types():
            takers = [other for other in TASKS if name in TrainConfig.of_task(other).field_types()]
            option, tasks = name.replace("_", "-"), ", ".join(takers)
            raise ValueError(f"--{option} is for files of your own, --task {tasks} (got {task!r})")
    return given


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
    from graphdep.training import TrainConfig

    return TrainConfig.of(**{"model": model, **settings})
