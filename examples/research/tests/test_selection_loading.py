from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield import_module("selection_loading")
        for name in ("selection_loading", "attention"):
            sys.modules.pop(name, None)


def test_it_runs(benchmark: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "loading.json"
    benchmark.main(["--smoke", "--model", "--root", str(tmp_path), "--output", str(output)])
    outcome = json.loads(output.read_text())
    assert (outcome["pairs"], outcome["pools"]) == (400, 40)
    assert outcome["utterances"] > 40
    assert 3 < outcome["bytes_per_word"] <= 8
    assert {"loading", "edges", "training"} <= outcome.keys()
    assert "| 400 | 40 |" in capsys.readouterr().out


def test_pools_have_one_right_candidate(benchmark: ModuleType) -> None:
    args = benchmark.parse(["--pairs", "50", "--loaded", "1", "--trained", "1", "--batch-size", "1"])
    rows = [line.rstrip("\n").split("\t") for line in benchmark.lines(args)]
    assert [row[0] for row in rows] == ["1", *"000000000"] * 5
    for start in range(0, 50, 10):
        assert len({tuple(row[1:-1]) for row in rows[start : start + 10]}) == 1
    assert all(word for row in rows for column in row[1:] for word in column.split(" "))


def test_wrong_sizes(benchmark: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--pairs", "101"], ["--pairs", "10"], ["--layers", "0"]):
        with pytest.raises(SystemExit):
            benchmark.parse(arguments)
    assert "multiple of --candidates" in capsys.readouterr().err
