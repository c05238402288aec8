"""The cheat sheet of tasks: data, metric, floor."""

from __future__ import annotations

import re
from pathlib import Path

from graphdep.tasks import families

from .markdown import code, table

ROOT = Path(__file__).parents[2]
HEADER = ("task", "corpus", "data layout", "metrics", "trees of its own", "further tests")
NO_CARD = {
    "csv": "columns of a `.csv`, `.tsv`, `.jsonl` or `.parquet`",
    "csv-regression": "the same, the label a number",
    "labels": "`.jsonl`, CoNLL-U, columns of words or roles, `.spacy`",
    "spans": "`.jsonl`, `.csv`",
}
OWN = "[files of your own](/datasets/README.md#files-of-your-own)"


def row(name: str, task: object) -> tuple[str, ...]:
    """What a task is, by the registry."""
    card = ROOT / task.root / "README.md"
    if name in NO_CARD:
        layout = f"{NO_CARD[name]}: {OWN}"
    else:
        layout = f"[{task.root}](/{card.relative_to(ROOT)})"
    metrics = code(*(metric.name for metric in task.metrics))
    return f"`{name}`", task.title, layout, metrics, "yes" if task.gold_trees else "", code(*task.other_tests)


def floors(tasks: list[object]) -> list[tuple[str, str, str]]:
    """Metric, definition and floor, from the signatures of results."""
    found = {}
    for task in tasks:
        for metric in task.metrics:
            clauses = re.split(r"\||; ", task.signatures[metric.name].removeprefix(f"{metric.name}: "))
            others = [
                clause
                for clause in clauses
                if not clause.startswith(("floor: ", "look-up: ", "bag of words: "))
            ]
            floor = next((c.removeprefix("floor: ") for c in clauses if c.startswith("floor: ")), "")
            found.setdefault((metric.name, metric.signature), (f"`{metric.name}`", "; ".join(others), floor))
    return list(found.values())


def page() -> str:
    """Tables by family, in Markdown."""
    parts = []
    for family in families():
        parts.append(f"## {family.name.capitalize()}\n")
        parts.append(table(HEADER, [row(name, task) for name, task in family.tasks.items()]))
        scores = _short(floors([*family.tasks.values()]))
        parts.append("\n" + table(("metric", "definition", "floor: no skill"), scores))
    return "\n".join(parts)


def _short(lines: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Without versions of libraries, which a result has."""
    return [tuple(re.sub(r" \((scikit-learn|SciPy) [\d.]+\)", "", cell) for cell in line) for line in lines]
