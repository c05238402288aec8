"""Which law is tested over which families and models, or draws which: the table of ``docs/architecture.md``.

``python -m tests.kit.laws --write`` updates it, and a test checks it.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from graphdep.tasks import FAMILIES, TASKS, family_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- laws -->\n", "<!-- end of laws -->"


class Proof(NamedTuple):
    """A test of a law, and the task or model of rows that name none; ``{}`` stands for the name in a row."""

    test: str
    task: str = ""
    model: str = ""


ANSWERS = "tests/tasks/test_answers.py::"
ESTIMATORS = "tests/tasks/test_estimators.py::"
PREDICT = "tests/tasks/test_predict.py::"
PREPARE = "tests/tasks/test_prepare.py::"
DRAWN = "tests/tasks/test_laws.py::"
RUNS = "tests/tasks/test_runs.py::"
LAWS: dict[str, tuple[Proof, ...]] = {
    "a batch is its examples": (Proof(f"{PREPARE}test_a_batch_is_its_examples"),),
    "a prepared batch is the batch, with gradients": (
        Proof(f"{PREPARE}test_loss_and_gradients_are_the_same"),
    ),
    "a filled batch is the batch, with gradients": (
        Proof("tests/training/test_filling.py::test_a_filled_batch_teaches_what_the_batch_does"),
    ),
    "what is read again, or by two workers, is what was read": (
        Proof(f"{DRAWN}test_batches_are_the_same_from_workers_and_from_what_was_read_before"),
    ),
    "parses in the cache are those of the parser": (
        Proof(f"{DRAWN}test_batches_are_the_same_with_parses_from_the_cache"),
    ),
    "a resumed run is the uninterrupted one": (Proof(f"{DRAWN}test_a_resumed_run_is_the_uninterrupted_one"),),
    "a checkpoint has the scores of its run": (
        Proof(f"{RUNS}test_a_run_is_scored_again_from_its_checkpoint"),
    ),
    "a saved model is the model": (
        Proof(f"{DRAWN}test_a_saved_model_is_the_model"),
        Proof(f"{ESTIMATORS}test_saved_loaded_copied", model="dt"),
    ),
    "a run predicts what is predicted of it later": (
        Proof(f"{DRAWN}test_a_run_predicts_what_is_predicted_of_it_later"),
        Proof(f"{PREDICT}test_labels_are_those_that_are_scored", "labels", "dt"),
        Proof(f"{PREDICT}test_spans_are_those_that_are_scored", "spans", "dt"),
    ),
    "an answer does not depend on the others": (
        Proof(f"{ESTIMATORS}test_each_is_answered_as_alone", model="dt"),
        Proof(f"{ANSWERS}test_a_response_does_not_depend_on_the_others", "dailydialog"),
        Proof(f"{ANSWERS}test_scores_are_those_of_each_candidate_alone", "ubuntu"),
    ),
}


def rows(proof: Proof) -> set[tuple[str, str]]:
    """Families and models that a test is run over, or draws from."""
    file, name = proof.test.split("::")
    module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    test = getattr(module, name)
    if drawn := getattr(test, "drawn_from", ()):
        return {(family_of(one).name, model) for one in drawn for model in family_of(one).config(one).models}
    marks = [mark for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    found = set()
    for values in itertools.product(*(mark.args[1] for mark in marks)):
        words = [*_words(values, getattr(module, "RUNS", {}))]
        task = next((word for word in words if word in TASKS), proof.task)
        models = family_of(task).config(task).models
        model = next((word for word in words if word.partition("@")[0] in models), proof.model)
        assert task, f"{proof.test}: {values} has no task"
        assert model, f"{proof.test}: {values} has no model"
        found.add((family_of(task).name, model.format(*words)))
    return found


def _words(value: Any, runs: Any) -> Iterator[str]:
    """The words of a row: of its parts, of a named run, and the task of settings."""
    if isinstance(value, str):
        yield value
        if isinstance(runs, dict) and value in runs:
            yield from _words(runs[value], {})
    elif hasattr(value, "task"):
        yield value.task
    elif isinstance(value, dict):
        yield from filter(None, [value.get("task")])
    elif isinstance(value, tuple):
        for part in value:
            yield from _words(part, runs)


def table() -> str:
    """Laws by families, with the models, or with their number if there are more than three."""
    names = [family.name for family in FAMILIES]
    lines = [["law", *names, "tests"], ["---"] * (len(names) + 2)]
    for law, proofs in LAWS.items():
        found = set().union(*map(rows, proofs))
        cells = [sorted(model for family, model in found if family == name) for name in names]
        files = dict.fromkeys(proof.test.split("::")[0] for proof in proofs)
        links = [f"[`{file.removeprefix('tests/')}`](../{file})" for file in files]
        drawn = " (drawn)" * any(proof.test.startswith(DRAWN) for proof in proofs)
        lines.append([law, *map(_cell, cells), ", ".join(links) + drawn])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _cell(models: list[str]) -> str:
    return f"{len(models)} models" if len(models) > 3 else ", ".join(f"`{model}`" for model in models) or "–"


def shown(page: str) -> str:
    """The table on a page."""
    return page.split(BEGIN)[1].split(END)[0]


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    if "--write" in sys.argv:
        old = f"{BEGIN}{shown(page)}{END}"
        PAGE.write_text(page.replace(old, f"{BEGIN}\n{table()}\n{END}"), encoding="utf-8")
    print(table(), end="")
