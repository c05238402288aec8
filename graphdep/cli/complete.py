"""Tab completion of option values: tasks, models, edges, parsers. Nothing here imports PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import typer

_PARSERS = ("bundled", "bundled:", "stanza", "stanza:", "spacy:", "corenlp", "conllu:", "ptb:", "chain")


def tasks(incomplete: str) -> list[str]:
    """Completes the name of a task."""
    from graphdep.tasks.registry import FAMILIES

    return _last(incomplete, (name for family in FAMILIES for name in family.tasks))


def models(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completes a model of ``--task`` or the default task, and after ``@`` a control."""
    from graphdep.tasks import family_of
    from graphdep.training.config import CONTROLS
    from graphdep.training.task import DEFAULT_TASK

    try:
        task = ctx.params.get("task") or DEFAULT_TASK
        names = [*family_of(task).config(task).models]
    except ValueError:  # no such task
        return []
    before, at, _ = incomplete.rpartition(",")[2].rpartition("@")
    return _last(incomplete, (f"{before}@{name}" for name in CONTROLS) if at else names)


def edges(incomplete: str) -> list[str]:
    """Completes the name of edges."""
    from graphdep.transforms.presets import edge_names

    return _last(incomplete, edge_names())


def parsers(incomplete: str) -> list[str]:
    """Completes the name of a parser."""
    return _last(incomplete, _PARSERS)


def of_setting(name: str, choices: Iterable[str]) -> Callable[..., list[str]] | None:
    """The completion of a setting's values; :obj:`None` if they have no names."""
    known = tuple(choices)

    def chosen(incomplete: str) -> list[str]:
        return _last(incomplete, known)

    return {"edges": edges, "parser": parsers}.get(name, chosen if known else None)


def _last(incomplete: str, names: Iterable[str]) -> list[str]:
    """The names that begin with the typed text, or with the last part of a list with commas."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in names if name.startswith(last)]
