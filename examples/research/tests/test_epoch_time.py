from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from math import isfinite
from pathlib import Path
from types import ModuleType

import pytest
import torch

from graphdep.datasets import SICK
from tests.kit.tiny_corpora import write_tiny_sick

FOLDER = Path(__file__).parents[1] / "benchmarks"
MODELS = [("Tree-LSTM, recursive", 1), ("Tree-LSTM, recursive", 25), ("Tree-LSTM, by level", 25)]
MODELS += [("Tree-LSTM, by level", 32), ("Transformer", 32), ("dt", 32)]


@pytest.fixture(scope="module")
def epoch_time() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield import_module("epoch_time")
        for name in ("epoch_time", "attention"):
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return write_tiny_sick(tmp_path_factory.mktemp("corpus"))


def test_all_rows_are_measured(corpus: dict[str, str], tmp_path: Path) -> None:
    output = tmp_path / "epoch_time.json"
    command = [sys.executable, str(FOLDER / "epoch_time.py"), "--root", corpus["root"], "--share", "0.5"]
    command += ["--parser", corpus["parser"], "--hidden-channels", "12", "--tree-lstm-channels", "10"]
    command += ["--rounds", "2", "--threads", "1", "--limit", "20", "--output", str(output)]
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parents[2])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(output.read_text())
    assert result["machine"] in done.stdout
    assert "an epoch: 20 training pairs, 12 test pairs" in result["machine"]
    assert [(row["model"], row["batch_size"]) for row in result["rows"]] == MODELS
    for row in result["rows"]:
        assert row["share"] == (0.5 if "recursive" in row["model"] else 1)
        for phase in ("training", "testing"):
            assert len(row["all_seconds"][phase]) == 2
            assert isfinite(row["seconds"][phase])
            assert row["seconds"][phase] > 0
    lines = [line for line in done.stdout.splitlines() if line.startswith(("| Tree", "| Trans", "| dt"))]
    assert len(lines) == 6
    assert [line.count("(scaled from 50%)") for line in lines] == [2, 2, 0, 0, 0, 0]
    assert " 282 |" in lines[1]
    assert " 57 |" in lines[-1]


def test_an_epoch_goes_through_the_data_once(epoch_time: ModuleType, corpus: dict[str, str]) -> None:
    """Training changes the weights, testing does not; a share takes so many pairs and scales the time."""
    options = {"task": "entailment", "parser": corpus["parser"], "log": False}
    train = SICK(corpus["root"], "train", **options)
    splits = {"training": train, "testing": SICK(corpus["root"], "test", vocab=train.vocab, **options)}
    for name, batch_size in MODELS:
        row = epoch_time.Row(name, batch_size, splits, 0.25, (12, 12), "cpu")
        assert row.scale == {"training": 4, "testing": 4}
        seen: list[int] = []
        row.model.register_forward_pre_hook(lambda _, args, seen=seen: seen.extend(args[0].pair.tolist()))
        before = [parameter.clone() for parameter in row.model.parameters()]
        row.run("testing")
        assert len(set(seen)) == len(seen) == 3
        assert all(map(torch.equal, before, row.model.parameters()))
        seen.clear()
        row.run("training")
        assert len(set(seen)) == len(seen) == 6
        assert not all(map(torch.equal, before, row.model.parameters()))


def test_targets(epoch_time: ModuleType) -> None:
    seconds = [(8.0, 14.0), (9.0, 15.0), (0.1, 0.1), (0.1, 0.1), (0.7, 0.8), (1.0, 1.0)]
    rows = [
        {"model": name, "batch_size": size, "seconds": {"training": first, "testing": second}}
        for (name, size), (first, second) in zip(MODELS, seconds)
    ]
    lines = epoch_time.targets(rows)
    assert [line.split()[0] for line in lines] == ["ok", "ok", "MISS", "ok", "MISS", "ok"]


@pytest.mark.parametrize("wrong", [["--share", "0"], ["--share", "1.5"], ["--rounds", "0"]])
def test_wrong_options(wrong: list[str], epoch_time: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        epoch_time.main(wrong)
    assert f"{wrong[0]}" in capsys.readouterr().err.splitlines()[-1]
