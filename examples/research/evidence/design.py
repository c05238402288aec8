"""A table that is written down before it is run: rows, seeds, settings, and the claims that it decides."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any

from evidence.claim import Claim
from graphdep.io.limits import check_count
from graphdep.training.config import TrainConfig
from graphdep.training.settings import parse_settings
from graphdep.training.task import resolve_task

_OF_TABLE = ("name", "rows", "seeds", "order", "settings", "files")


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows and seeds under the same settings.

    Args:
        name: Its name within the design; ``""`` for the only one.
        rows: Names of models, each perhaps with controls, such as ``"dt@random"``.
        seeds: Runs a row; seeds count from 0.
        order: Tables of a smaller number are run first.
        settings: Settings of all runs.
        files: Settings that name files or folders, relative to the folder of raw data.
        digest: What tells runs of these settings from others.
    """

    name: str
    rows: tuple[str, ...]
    seeds: int
    order: float
    settings: Mapping[str, Any]
    files: Mapping[str, str]
    digest: str


@dataclass(frozen=True, kw_only=True)
class Design:
    """Tables of one task, read from a TOML file by :func:`read_designs`.

    Args:
        name: Its name, that of the file.
        title: What is asked, in a line.
        task: Name of the task.
        metric: The score that claims are about, such as ``"test_f1"``.
        tune: Values of settings that are tried for each row, each with each; the best on the validation split
            are taken.
        tune_seed: The seed of the tries: with 0 the best of them is the row's run of that seed, with another
            one they are runs of their own. (default: :obj:`0`)
        tuned_on: Name of the table whose tries choose for all tables; it must have their rows.
            (default: :obj:`None`, each table tries for itself)
        tables: The tables.
        claims: The claims.

    Example:
        >>> from evidence import Design
        >>> design = Design.of("tense", {"title": "agreement", "task": "agreement", "metric": "test_accuracy",
        ...     "rows": ["transformer", "dt"], "seeds": 5})
        >>> design.tables[0].rows, len(design.tables[0].digest)
        (('transformer', 'dt'), 8)
    """

    name: str
    title: str
    task: str
    metric: str
    tune: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    tune_seed: int = 0
    tuned_on: str | None = None
    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()

    @classmethod
    def of(cls, name: str, values: Mapping[str, Any]) -> Design:
        """Makes it of the values of a file.

        Raises:
            ValueError: If a key is missing or unknown, or a row, a setting or a claim is none.
        """
        known = {"title", "task", "metric", "rows", "seeds", "order", "settings", "files"}
        known |= {"tune", "tune_seed", "tuned_on"}
        _check_keys("a design", values, known | {"tables", "claims"}, ("title", "task", "metric"))
        tune = {name: _tried(name, given) for name, given in values.get("tune", {}).items()}
        if not values.get("tables", [{}]):
            raise ValueError("'tables' must have one (got none)")
        tuned_on = values.get("tuned_on")
        tables = tuple(_table(values, one, tune) for one in values.get("tables", [{"name": ""}]))
        if tuned_on is not None:
            tables = _tuned_on(tables, tuned_on, tune)
        claims = tuple(_claim(values, tables[0], one) for one in values.get("claims", []))
        design = cls(
            name=name,
            title=values["title"],
            task=values["task"],
            metric=values["metric"],
            tune=tune,
            tune_seed=check_count("tune_seed", values.get("tune_seed", 0)),
            tuned_on=tuned_on,
            tables=tables,
            claims=claims,
        )
        design._check()
        return design

    @property
    def tries(self) -> dict[str, dict[str, Any]]:
        """What is tried for each row, by the text that tells it from others, ``"lr=0.001"``; empty for
        nothing.
        """
        if not self.tune:
            return {}
        tried = (dict(zip(self.tune, values)) for values in product(*self.tune.values()))
        return {",".join(f"{name}={value}" for name, value in one.items()): one for one in tried}

    def tuning(self, table: Table) -> Table:
        """The table whose tries choose the settings of a table: itself unless :obj:`tuned_on` says."""
        return next((one for one in self.tables if one.name == self.tuned_on), table)

    def config(self, table: Table, row: str, seed: int, **more: Any) -> TrainConfig:
        """The settings of a run."""
        return TrainConfig.of(row, **{"task": self.task, **table.settings, "seed": seed, **more})

    def _check(self) -> None:
        names = [table.name for table in self.tables]
        if len({*names}) < len(names):
            raise ValueError(f"tables of one name (got {', '.join(names)})")
        for table in self.tables:
            for row in table.rows:
                for more in [*self.tries.values()] or [{}]:
                    self.config(table, row, 0, **more, **table.files)
        scores = [f"test_{metric.name}" for metric in resolve_task(self.task).metrics]
        for what, metric in (("", self.metric), *((f"claim {c.name}: ", c.metric) for c in self.claims)):
            if metric not in scores:
                raise ValueError(f"{what}no metric {metric!r} of {self.task}; there are {', '.join(scores)}")
        for claim in self.claims:
            rows = next((table.rows for table in self.tables if table.name == claim.table), None)
            if rows is None:
                raise ValueError(
                    f"claim {claim.name}: no table {claim.table!r}; there are {', '.join(names)}"
                )
            for row in (claim.a, claim.b):
                if row not in rows:
                    raise ValueError(f"claim {claim.name}: no row {row!r}; there are {', '.join(rows)}")


def _tried(name: str, given: Any) -> tuple[Any, ...]:
    if not isinstance(given, list) or not given or any(value in given[:n] for n, value in enumerate(given)):
        raise ValueError(f"'tune' must have a list of values of {name!r}, each once (got {given!r})")
    return tuple(given)


def _claim(values: Mapping[str, Any], first: Table, own: Mapping[str, Any]) -> Claim:
    known = {each.name for each in fields(Claim)}
    needed = [each.name for each in fields(Claim) if each.default is MISSING]
    _check_keys("a claim", own, known, needed)
    return Claim(**{"table": first.name, "metric": values["metric"], **own})


def _table(values: Mapping[str, Any], own: Mapping[str, Any], tune: Mapping[str, Any]) -> Table:
    _check_keys("a table", own, _OF_TABLE, ("name",))
    if "task" in {**values.get("settings", {}), **own.get("settings", {})}:
        raise ValueError("'settings' cannot have a 'task': it is that of the design")
    given = {"order": 100, "seeds": 5, **values, **own}
    settings = {**values.get("settings", {}), **own.get("settings", {})}
    files = {**values.get("files", {}), **own.get("files", {})}
    texts = [f"{name}={value}" for name, value in settings.items() if isinstance(value, str)]
    settings |= parse_settings(texts, values["task"])  # TOML has no value for none
    if isinstance(given.get("rows"), str):
        raise ValueError(f"'rows' must be a list of names (got {given['rows']!r})")
    rows, seeds = tuple(given.get("rows", ())), given["seeds"]
    if not rows or len({*rows}) < len(rows):
        raise ValueError(f"'rows' must name at least one, each once (got {list(rows)})")
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise ValueError(f"'seeds' must be a whole number of at least 1 (got {seeds!r})")
    order = given["order"]
    if isinstance(order, bool) or not isinstance(order, (int, float)) or not math.isfinite(order):
        raise ValueError(f"'order' must be a number (got {order!r})")
    seed = values.get("tune_seed", 0)
    told = [values["task"], settings, files, tune, *([seed] if seed else [])]
    said = json.dumps(told, sort_keys=True)
    return Table(
        name=own["name"],
        rows=rows,
        seeds=seeds,
        order=order,
        settings=settings,
        files=files,
        digest=hashlib.sha256(said.encode()).hexdigest()[:8],
    )


def _tuned_on(tables: Sequence[Table], name: str, tune: Mapping[str, Any]) -> tuple[Table, ...]:
    """The tables; runs of those that are tuned on another are told from runs that tried for themselves."""
    chosen = next((table for table in tables if table.name == name), None)
    if chosen is None or not tune:
        names = ", ".join(repr(table.name) for table in tables)
        raise ValueError(f"'tuned_on' must name a table, with 'tune' (got {name!r}; there are {names})")
    for table in tables:
        if missing := [row for row in table.rows if row not in chosen.rows]:
            raise ValueError(f"table {table.name!r}: row {missing[0]!r} is not tuned on {name!r}")
    return tuple(table if table is chosen else _renamed(table, chosen.digest) for table in tables)


def _renamed(table: Table, by: str) -> Table:
    return replace(table, digest=hashlib.sha256(f"{table.digest} {by}".encode()).hexdigest()[:8])


def _check_keys(what: str, values: Mapping[str, Any], known: Iterable[str], needed: Sequence[str]) -> None:
    unknown = [key for key in values if key not in known]
    if unknown:
        raise ValueError(f"{what} has no {unknown[0]!r}; it has {', '.join(sorted(known))}")
    missing = [key for key in needed if key not in values]
    if missing:
        raise ValueError(f"{what} needs {missing[0]!r}")


def read_designs(folder: str | os.PathLike[str]) -> list[Design]:
    """Reads the ``*.toml`` of a folder, one design each.

    Raises:
        ValueError: If a file is no design; names the file.
        FileNotFoundError: If there is none.
    """
    paths = sorted(Path(folder).glob("*.toml"))
    if not paths:
        raise FileNotFoundError(f"{os.fspath(folder)}: no designs (*.toml)")
    designs = []
    for path in paths:
        try:
            designs.append(Design.of(path.stem, tomllib.loads(path.read_text(encoding="utf-8"))))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}: {error}") from None
    names = [claim.name for design in designs for claim in design.claims]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{os.fspath(folder)}: two claims are called {twice!r}")
    return designs
