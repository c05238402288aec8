"""Reports of a GPU become CSVs, of which tables.py makes tables."""

from __future__ import annotations

import csv
import json
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

MACHINE = {"device": "NVIDIA X", "torch": "2.11", "triton": "3.6"}
TIMES = {
    "triton": {"device_us": 35.2, "how": "CUDA graph"},
    "flex": {"device_us": 149.4, "how": "CUDA graph"},
    "varlen": {"error": "RuntimeError: not here"},
}
TARGETS = [
    {"of": "flex", "ratio": 4.24, "target": 2, "most": False, "met": True},
    {"of": "our floor", "ratio": 2.1, "target": 2.0, "most": True, "met": False},
]
RATES = {
    "packed": {"tokens_a_second": 27597.9, "losses": [2.0, 1.0]},
    "targets": [{"of": "packed", "ratio": 28000.0, "target": 150000, "most": False, "met": False}],
}
STEPS = [
    {"step": "memory", "ok": True, "found": {}},
    {"step": "speed: DRA", "ok": True, "found": {"times": TIMES, "targets": TARGETS}},
    {"step": "two runs", "ok": False, "error": "AssertionError: differ"},
    {"step": "training: dra", "ok": True, "found": RATES},
]


@pytest.fixture
def gpu_tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    return import_module("gpu_tables")


def write(path: Path, steps: list[dict[str, Any]], **machine: str) -> str:
    report = {"machine": MACHINE | machine, "tiny": False, "steps": steps}
    path.write_text(json.dumps(report), encoding="utf-8")
    return str(path)


def read(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def test_times_and_targets(gpu_tables: ModuleType, tmp_path: Path) -> None:
    gpu_tables.main([write(tmp_path / "a.json", STEPS), "--results", str(tmp_path)])
    rows = read(tmp_path / "gpu-times.csv")
    assert [row["method"] for row in rows] == ["triton", "flex", "varlen"]
    first = {"attention": "DRA", "device µs": "35", "measured by": "CUDA graph"}
    assert rows[0].items() >= first.items()
    assert (rows[1]["device µs"], rows[2]["error"]) == ("149", "RuntimeError")
    assert {row["machine"] for row in rows} == {"NVIDIA X, torch 2.11, triton 3.6"}
    said = [
        (row["part"], row["value"], row["target"], row["verdict"])
        for row in read(tmp_path / "gpu-targets.csv")
    ]
    assert said == [
        ("proof", "", "holds", "met"),
        ("proof", "", "holds", "missed"),
        ("training: dra", "27,598", "", ""),
        ("DRA", "4.24", "at least 2", "met"),
        ("DRA", "2.1", "at most 2", "missed"),
        ("training: dra", "28,000", "at least 150,000", "missed"),
    ]


def test_the_last_report_of_a_step_counts(gpu_tables: ModuleType, tmp_path: Path) -> None:
    later = [STEPS[2] | {"ok": True}, {"step": "memory", "ok": False, "error": "not run: no time was left"}]
    later.append({"step": "memory", "ok": True, "found": {"left out": "no triton"}})
    paths = [write(tmp_path / "a.json", [STEPS[0], STEPS[2]]), write(tmp_path / "b.json", later)]
    gpu_tables.main([*paths, "--results", str(tmp_path)])
    assert [row["verdict"] for row in read(tmp_path / "gpu-targets.csv")] == ["met", "met"]
    assert not (tmp_path / "gpu-times.csv").exists()


@pytest.mark.parametrize(
    ("machine", "message"),
    [({"device": "NVIDIA Y"}, "of several machines: NVIDIA X, torch 2.11, triton 3.6; NVIDIA Y"), ({}, "")],
)
def test_reports_are_of_one_gpu(
    gpu_tables: ModuleType,
    tmp_path: Path,
    machine: dict[str, str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    paths = [write(tmp_path / "a.json", STEPS), write(tmp_path / "b.json", STEPS, **machine)]
    if not machine:
        (tmp_path / "b.json").write_text('{"machine": {"torch": "2.11"}, "tiny": true, "steps": []}')
        message = "b.json: not of a GPU"
    with pytest.raises(SystemExit):
        gpu_tables.main([*paths, "--results", str(tmp_path)])
    assert message in capsys.readouterr().err
    assert not (tmp_path / "gpu-targets.csv").exists()
