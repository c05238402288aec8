"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from graphdep.training import TrainConfig

_DATA, _RUN = "Data", "Training"

Task = Annotated[
    str,
    typer.Option(
        help="Task: sick-e (entailment), sick-r (relatedness), sst or sst2 (sentiment: sentences, or GLUE's "
        "layout), mrpc (paraphrase); dailydialog, empathetic (responses to dialogues); ubuntu, ubuntu-irc, "
        "douban, ecommerce, dailydialog-selection (response selection); post-train (of a pretrained encoder, "
        "on dialogues)."
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
Parser = Annotated[
    str | None,
    typer.Option(
        help="bundled, stanza[:LANG], spacy:MODEL, corenlp or conllu:FILE. [default: bundled]",
        rich_help_panel=_DATA,
    ),
]
ModelParser = Annotated[
    str | None,
    typer.Option(
        help="bundled, stanza[:LANG], spacy:MODEL, corenlp or conllu:FILE; must be given if training had "
        "another one than bundled. [default: bundled]"
    ),
]
LimitTrain = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Train on N examples and parse no others: the first, of response selection spread over the "
        "split.",
        rich_help_panel=_DATA,
    ),
]
Edges = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Edges instead of the model's own: dra, sia, sia-intra, sia-inter, dt, g2g, gate, lisa, "
        "transformer or transformer-utterance.",
        rich_help_panel=_RUN,
    ),
]
MaxEpochs = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Epochs at most. [default: 30]", rich_help_panel=_RUN)
]
Seed = Annotated[int | None, typer.Option(min=0, help="Random seed. [default: 0]", rich_help_panel=_RUN)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Any hyper-parameter by its Python name, e.g. --set hidden_channels=64; may be repeated. "
        "A wrong key lists them all.",
        rich_help_panel=_RUN,
    ),
]
Output = Annotated[Path | None, typer.Option(metavar="DIR", help="Where results go. [default: below runs/]")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout and nothing else.")]


def gather(options: dict[str, Any], texts: list[str] | None) -> dict[str, Any]:
    """The settings that were given, by option or by ``--set``.

    Raises:
        ValueError: If a setting is wrong, or given both ways with different values.
    """
    from graphdep.training import parse_settings

    given = {key: value for key, value in options.items() if value is not None}
    by_set = parse_settings(texts or [], given.get("task"))
    for key in given.keys() & by_set.keys():
        if given[key] != by_set[key]:
            raise ValueError(f"{key!r} is given twice: {given[key]!r} and, with --set, {by_set[key]!r}")
    return given | by_set


def config_of(model: str | None, settings: dict[str, Any]) -> TrainConfig:
    """The configuration of a model preset with these settings over it; the task must exist."""
    from graphdep.training import TrainConfig

    return TrainConfig.of(**{"model": model, **settings})
