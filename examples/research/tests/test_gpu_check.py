"""The proof on a GPU, run where there is none: tiny sizes on the CPU, under Triton's interpreter where triton
is installed, in a process of its own, since the interpreter has to be asked for before triton is imported;
and what asks a GPU itself, of one that is made up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
import torch

ROOT = Path(__file__).parents[3]
# What a machine with a GPU may lack: nothing of it may be asked for.
LACKING = (
    "stanza lightning sklearn scipy nltk typer rich sacrebleu matplotlib transformers pandas yaml".split()
)
BEFORE = f"""
import sys
sys.modules.update(dict.fromkeys({LACKING!r}))
import warnings
warnings.filterwarnings("ignore", category=DeprecationWarning)
sys.path.insert(0, {str(ROOT / "examples" / "research" / "benchmarks")!r})
import gpu_check
"""
# A GPU that is called cpu:0, whose graphs run nothing, and whose events are a microsecond apart.
GPU = """
import contextlib, os, types
os.environ["TRITON_INTERPRET"] = "1"
import torch
from torch_geometric.data.data import BaseData

class Any_(types.SimpleNamespace):
    def __getattr__(self, name):
        return lambda *args, **kwargs: 0.001

cuda = torch.cuda
cuda.get_device_properties = lambda _: types.SimpleNamespace(
    L2_cache_size=2**10, name="none", major=9, minor=0)
cuda.synchronize = cuda.reset_peak_memory_stats = lambda *_: None
cuda.max_memory_allocated = lambda *_: 0
cuda.Stream = cuda.current_stream = cuda.CUDAGraph = lambda *_: Any_()
cuda.Event = lambda **_: Any_()
cuda.stream = lambda _: contextlib.nullcontext()
def graph(made):
    if len(sys.argv) > 1:
        raise RuntimeError("cannot be captured")
    return contextlib.nullcontext()
cuda.graph = graph
BaseData.pin_memory = lambda self: self
"""


def run(tmp_path: Path, before: str, *arguments: str) -> tuple[subprocess.CompletedProcess[str], dict]:
    output = tmp_path / "report.json"
    argv = [*arguments, "--tiny", "--output", str(output)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env |= {"PYTHONPATH": f"{ROOT}{os.pathsep}{env.get('PYTHONPATH', '')}", "OMP_NUM_THREADS": "1"}
    code = f"{before}\nsys.exit(gpu_check.main({argv!r}))"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, cwd=tmp_path)
    assert output.exists(), done.stderr[-3000:]
    return done, json.loads(output.read_text(encoding="utf-8"))


def assert_passed(done: subprocess.CompletedProcess[str], report: dict) -> None:
    assert [step["error"] for step in report["steps"] if not step["ok"]] == []
    # Without triton no fused kernel is checked, which must not look like a proof.
    assert done.returncode == (report["machine"]["triton"] == "missing"), done.stderr[-3000:]
    times = {
        f"{step['step']}, {name}": found
        for step in report["steps"]
        for name, found in step["found"].get("times", {}).items()
    }
    assert {name: found["error"] for name, found in times.items() if "error" in found} == {}


@pytest.mark.skipif(find_spec("triton") is not None, reason="then it runs under the interpreter")
def test_every_step_runs_on_the_cpu(tmp_path: Path) -> None:
    assert_all_runs(tmp_path, fused=False)


@pytest.mark.triton
def test_every_step_runs_under_the_interpreter(tmp_path: Path) -> None:
    assert_all_runs(tmp_path, fused=True)


def assert_all_runs(tmp_path: Path, fused: bool) -> None:
    done, report = run(tmp_path, BEFORE, "--device", "cpu")
    assert_passed(done, report)
    names = [step["step"] for step in report["steps"]]
    assert len(names) == 20
    assert names[0] == "backends against float64"
    found = {step["step"]: step["found"] for step in report["steps"]}
    assert ("triton" in found["speed: DT, 32 words"]["times"]) == fused
    assert {"dense", "pyg", "pyg compiled", "sdpa", "flex", "varlen"} <= found["speed: DT, 32 words"][
        "times"
    ].keys()
    assert found["training: dt, SICK's lengths"]["batches of 4"]["tokens_a_second"] > 0
    assert found["memory"]["backend"] == ("triton" if fused else "dense")


@pytest.mark.parametrize("captured", [True, False])
def test_what_asks_the_gpu_itself(tmp_path: Path, captured: bool) -> None:
    before = BEFORE + ("" if captured else "sys.argv.append('uncaptured')\n") + GPU
    steps = ["--only", "speed: DRA, 32", "memory", "training: dt"]
    done, report = run(tmp_path, before, "--device", "cpu:0", *steps)
    assert_passed(done, report)
    found = report["steps"][1]["found"]
    assert report["steps"][1]["step"] == "speed: DRA, 32 words"
    assert {one["how"] for one in found["times"].values()} == {"CUDA graph" if captured else "events"}
    assert found["floor_us"] > 0
    assert report["machine"]["compute capability"] == "9.0"


@pytest.fixture
def gpu_check(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    from importlib import import_module

    monkeypatch.syspath_prepend(str(ROOT / "examples" / "research" / "benchmarks"))
    return import_module("gpu_check")


def test_a_step_that_fails_is_named_and_the_next_one_goes_on(
    gpu_check: ModuleType,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def fail(bench: object) -> dict:
        raise AssertionError("wrong numbers")

    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(gpu_check, "all_steps", lambda: {"first": fail, "second": lambda bench: {"fine": 1}})
    output = tmp_path / "report.json"
    assert gpu_check.main(["--device", "cpu", "--output", str(output)]) == 1
    first, second = json.loads(output.read_text(encoding="utf-8"))["steps"]
    assert (first["ok"], first["error"], second["ok"]) == (False, "AssertionError: wrong numbers", True)
    printed = capsys.readouterr()
    assert "FAILED first" in printed.out
    assert "1 of 2 steps passed" in printed.out
    assert "wrong numbers" in printed.err
    assert gpu_check.main(["--device", "cpu", "--output", str(output), "--minutes", "-1"]) == 1
    steps = json.loads(output.read_text(encoding="utf-8"))["steps"]
    assert {step["error"] for step in steps} == {"not run: no time was left"}
    printed = capsys.readouterr()
    assert "second was not run: no time was left" in printed.out
    assert "FAILED" not in printed.out + printed.err


def test_without_a_gpu_it_says_so(
    gpu_check: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu_check.main([]) == 0
    assert capsys.readouterr().out == (
        "No CUDA device here: nothing was checked. `--device cpu --tiny` checks this file itself.\n"
    )


def test_targets_are_found_wherever_they_are(gpu_check: ModuleType) -> None:
    target = {"met": True, "ratio": 2.0, "target": 1}
    assert [*gpu_check.judged({"a": [target, {"b": target}], "c": {"d": 3}})] == [target, target]


@pytest.mark.cuda
def test_all_steps_pass_on_a_gpu(tmp_path: Path) -> None:
    done, report = run(tmp_path, BEFORE, "--minutes", "3")
    assert [step["error"] for step in report["steps"] if not step["ok"]] == [], done.stderr[-2000:]
