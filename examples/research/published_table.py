"""A paper's table beside scores of designs of claims/, which tables.py writes into pages."""

import shlex
from pathlib import Path
from typing import Any

from design_tables import asked_of_design, planned_scores, planned_seeds
from table_text import spread, written

from graphdep.training.task import family_of


def published(said: str, results: Path, designs: Path) -> str:
    """The main metric of rows over designs, each beside what the paper reports for the design's task."""
    words = shlex.split(said)
    options = dict(word.split("=", 1) for word in words if "=" in word)
    unknown = options.keys() - {"rows", "others", "digits"}
    if unknown or "rows" not in options:
        raise ValueError(f"no option {unknown.pop()!r}" if unknown else "'rows' are needed")
    others = dict(pair.split(":", 1) for pair in options.get("others", "").split(";") if pair)
    columns = [_Column(word, results, designs, options) for word in words if "=" not in word]
    rows = options["rows"].split(",")
    for row, name in others.items():
        if row not in rows or not any(name in paper.others for column in columns for paper in column.papers):
            raise ValueError(f"no row {row!r} or no system {name!r} in the paper's table")
    lines = [["row", *(cell for column in columns for cell in (column.title, "paper"))]]
    lines.append(["---"] * len(lines[0]))
    for row in rows:
        cells = [(column.ours(row), column.of_paper(row, others)) for column in columns]
        lines.append([f"`{row}`", *(cell for pair in cells for cell in pair)])
    return written(lines)


class _Column:
    """One design, or several of one task (``a+b``): their scores, and the paper's figures for the task."""

    def __init__(self, names: str, results: Path, designs: Path, options: dict[str, str]) -> None:
        self.asked = [asked_of_design(shlex.quote(name), results, designs) for name in names.split("+")]
        design = self.asked[0].design
        if len({(asked.design.task, asked.design.metric) for asked in self.asked}) > 1:
            raise ValueError(f"designs of several tasks or metrics in one column: {names!r}")
        papers = family_of(design.task).published.get(design.task, ())
        self.papers = [paper for paper in papers if design.metric in paper.scores]
        if not self.papers:
            raise ValueError(f"no paper reports {design.metric} of task {design.task!r}")
        self.metric = design.metric
        self.title = f"{design.task} {design.metric.partition('_')[2]}"
        self.form = f".{options.get('digits', '4')}f"

    def having(self, row: str) -> tuple[Any, Any] | None:
        """The first design and table that have the row."""
        tables = ((asked, table) for asked in self.asked for table in asked.design.tables)
        return next((pair for pair in tables if row in pair[1].rows), None)

    def ours(self, row: str) -> str:
        """Of the first table that has the row."""
        having = self.having(row)
        if having is None:
            return "not planned"
        asked, table = having
        planned = planned_seeds(asked.design, table.digest, [row])[row]
        values = [*planned_scores(asked.ledger, table.digest, row, asked.design.metric, planned).values()]
        some = f" ({len(values)} of {planned})" if len(values) < planned else f" ({planned})"
        return spread(values, self.form) + some if values else "not run"

    def of_paper(self, row: str, others: dict[str, str]) -> str:
        """What a paper reports under the settings of the row's table that say which data there are."""
        having = self.having(row)
        given = having[1].settings if having else {}
        names = {"limit_train", "limit_eval"}.union(*(paper.settings for paper in self.papers))
        asked = {name: value for name, value in given.items() if name in names and value}
        papers = (paper for paper in self.papers if paper.settings == asked)
        found = (paper.figures(others.get(row, row)).get(self.metric) for paper in papers)
        return next((f"{figure:{self.form}}" for figure in found if figure is not None), "")
