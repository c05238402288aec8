"""The table of papers is what the docstrings say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from graphdep.training import TrainConfig
from graphdep.transforms import PRESETS

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "docs" / "generate" / "paper_table.py"))
TABLE = SCRIPT["table"]()
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in TABLE.splitlines()[2:]]


def test_a_row() -> None:
    paper, *rest = next(row for row in ROWS if "`dra`" in row)
    assert paper.endswith("(https://aclanthology.org/2022.suki-1.2/)")
    command = "`graphdep train --task dailydialog --model transformer-dra`"
    assert rest == ["2-5", "`dra`", "`DRAConv`", "`ContextTransformer`", command]


def test_every_preset_of_a_paper_is_in_one_row() -> None:
    listed = [name for row in ROWS for name in re.findall(r"`([^`]+)`", row[2])]
    assert sorted(listed) == sorted(PRESETS.keys() - {"transformer-utterance", "own-arcs"})


@pytest.mark.parametrize(("task", "model"), SCRIPT["COMMANDS"].values())
def test_commands_are_there_and_name_a_model(task, model) -> None:
    command = f"--task {task} --model {model}`" if model else f"--task {task}`"
    assert sum(command in row[-1] for row in ROWS) == 1
    assert TrainConfig.of(model, task=task).task == task


@pytest.mark.parametrize(("numbers", "text"), [([], ""), ([3], "3"), ([5, 2, 3, 3], "2-3, 5")])
def test_ranges(numbers, text) -> None:
    assert SCRIPT["ranges"](numbers) == text
