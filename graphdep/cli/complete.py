"""Values of options by the tab key: tasks, models, edges, parsers. Nothing here imports PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import typer

_PARSERS = ("bundled", "bundled:", "stanza", "stanza:", "spacy:", "corenlp", "conllu:", "ptb:", "chain")


def tasks(incomplete: str) -> list[str]:
    """The tasks."""
    from graphdep.tasks.registry import FAMILIES

    return _last(incomplete, (name for family in FAMILIES for name in family.tasks))


def models(ctx: typer.Context, incomplete: str) -> list[str]:
    """The models of ``--task``, or of the default task; behind ``@`` the controls."""
    from graphdep.tasks import family_of
    from graphdep.training.config import CONTROLS
    from graphdep.training.task import DEFAULT_TASK

    try:
        task = ctx.params.get("task") or DEFAULT_TASK
        names = [*family_of(task).config(task).models]
    except ValueError:  # a task that is none has no models
        return []
    before, at, _ = incomplete.rpartition(",")[2].rpartition("@")
    return _last(incomplete, (f"{before}@{name}" for name in CONTROLS) if at else names)


def edges(incomplete: str) -> list[str]:
    """The edges."""
    from graphdep.transforms.presets import edge_names

    return _last(incomplete, edge_names())


def parsers(incomplete: str) -> list[str]:
    """The parsers."""
    return _last(incomplete, _PARSERS)


def of_setting(name: str, choices: Iterable[str]) -> Callable[..., list[str]] | None:
    """What completes the values of a setting, if it has names for values."""
    known = tuple(choices)

    def chosen(incomplete: str) -> list[str]:
        return _last(incomplete, known)

    return {"edges": edges, "parser": parsers}.get(name, chosen if known else None)


def _last(incomplete: str, names: Iterable[str]) -> list[str]:
    """The names that go on with what is typed, of a list with commas its last part."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in names if name.startswith(last)]
