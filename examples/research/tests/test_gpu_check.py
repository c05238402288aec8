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
import json, subprocess, types
ask = subprocess.run
RESULT = dict(epochs=1, seconds_per_epoch=1.5, seconds_per_validation=.5, parameters=7)
RESULT["metrics"] = dict(test_accuracy=.5)

def run(command, **options):  # a run of graphdep itself takes long, and needs the packages
    if command[1:4] != ["-m", "graphdep", "train"]:
        return ask(command, **options)
    return types.SimpleNamespace(returncode=0, stdout=json.dumps(RESULT), stderr="")

subprocess.run = run
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

# The device of tests/nn/launches, whose graphs are captured and whose replays are counted.
CUDA = """
import contextlib, types
from tests.nn.launches.count import load_guard
load_guard()
import torch
from torch_geometric.data.data import BaseData
from tests.nn.launches.device import Calls, install
install()
torch.__future__.set_overwrite_module_params_on_conversion(True)
torch.Tensor.pin_memory = BaseData.pin_memory = lambda self: self

class Any_(types.SimpleNamespace):
    def __init__(self, *args, **options): pass
    def __getattr__(self, name):
        return lambda *args, **kwargs: 0.001

cuda, nothing = torch.cuda, lambda *args: None
cuda.is_available = cuda.is_bf16_supported = lambda *args: True
cuda.get_device_properties = lambda device: types.SimpleNamespace(name="counted", major=9, minor=0)
cuda.synchronize = cuda.get_rng_state = cuda.set_rng_state = nothing
cuda.get_sync_debug_mode = cuda.set_sync_debug_mode = nothing
cuda.Stream = cuda.CUDAGraph = cuda.Event = Any_
cuda.current_stream = Any_
cuda.default_generators, cuda.current_device = [Any_()], lambda: 0
cuda.stream = cuda.graph = lambda *args, **options: contextlib.nullcontext()
counted = Calls().during("step")
counted.__enter__()
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
    steps = {step["step"]: step["found"] for step in report["steps"]}
    assert len(steps) == 25
    assert [*steps][:2] == ["floors: launches, copies, products", "two runs equal to the bit"]
    # What needs transformers or lightning.
    out = {name for name, found in steps.items() if "left out" in found} - {"two runs equal to the bit"}
    if fused:
        assert "left out" not in steps["two runs equal to the bit"]
    assert out - {"torch.compile"} == {
        "training: BERT base",
        "training: SIA on BERT base",
        "loader: DailyDialog",
    }
    methods = {"dense", "pyg", "pyg compiled", "sdpa", "flex", "varlen", *(["triton"] if fused else [])}
    assert steps["speed: DT, 32 words"]["times"].keys() == methods
    for way in ("eager", "graphed"):
        assert steps["training: dt, SICK's lengths"]["batches of 4, TF32"][way]["tokens_a_second"] > 0
        assert steps["run: dt on SICK-E, graphed and eager"][way]["seconds of its epochs"] == 2.0
    dra = steps["training: transformer-dra, DailyDialog's lengths"]
    ways = {f"batches of 2, {form} {way}" for form in ("packed", "padded") for way in ("eager", "graphed")}
    assert dra.keys() == ways | {"batches of 2"}
    losses = [
        part["losses"] for part in (*steps["training: dt, SICK's lengths"].values(), dra["batches of 2"])
    ]
    assert [loss["met"] for loss in losses] == [True] * 4
    assert steps["memory"]["backend"] == ("triton" if fused else "dense")


@pytest.mark.parametrize("captured", [True, False])
def test_what_asks_the_gpu_itself(tmp_path: Path, captured: bool) -> None:
    before = BEFORE + ("" if captured else "sys.argv.append('uncaptured')\n") + GPU
    steps = ["--only", "speed: DRA, 32", "memory", *(["floors"] if captured else [])]
    done, report = run(tmp_path, before, "--device", "cpu:0", *steps)
    assert_passed(done, report)
    found = {step["step"]: step["found"] for step in report["steps"]}
    speed = found["speed: DRA, 32 words"]
    assert {one["how"] for one in speed["times"].values()} == {"CUDA graph" if captured else "events"}
    if captured:
        assert speed["floor_us"] > 0
        assert found["floors: launches, copies, products"]["graph, us a launch"] > 0
    assert report["machine"]["compute capability"] == "9.0"


def test_steps_are_captured(tmp_path: Path) -> None:
    """On CUDA: tiles, static memory, captures, and what the padded peer copies."""
    steps = ["--only", "floors", "two runs", "training: transformer-dra"]
    _, report = run(tmp_path, CUDA + BEFORE, *steps)
    assert [step["error"] for step in report["steps"] if not step["ok"]] == []
    found = {step["step"]: step["found"] for step in report["steps"]}
    assert "8 x 8 x 32, TF32, TFLOP/s" in found["floors: launches, copies, products"]
    ways = found["training: transformer-dra, DailyDialog's lengths"]
    assert "ms_a_replay" in ways["batches of 2, packed graphed"]
    assert "ms_a_replay" not in ways["batches of 2, packed eager"]
    assert report["machine"]["device"] == "counted"


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
    first, second = records(output)
    assert (first["ok"], first["error"], second["ok"]) == (False, "AssertionError: wrong numbers", True)
    printed = capsys.readouterr()
    assert "FAILED first" in printed.out
    assert "1 of 2 steps passed" in printed.out
    assert "wrong numbers" in printed.err


def test_it_goes_on_where_it_stopped(
    gpu_check: ModuleType,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    calls = []

    def cut(bench: object) -> dict:
        calls.append("cut")
        if calls.count("cut") == 1:
            raise TimeoutError("goes on")
        return {}

    def needs(bench: object) -> dict:
        calls.append("needs")
        raise ModuleNotFoundError("no module")

    def passes(bench: object) -> dict:
        calls.append("passes")
        return {
            "a": {
                "rate": 20000.0,
                "target": {"of": "a", "ratio": 1.0, "target": 2, "most": False, "met": False},
            }
        }

    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(gpu_check, "all_steps", lambda: {"x: passes": passes, "cut": cut, "needs": needs})
    output = tmp_path / "report.json"
    argv = ["--device", "cpu", "--output", str(output)]
    assert gpu_check.main([*argv, "--minutes", "-1"]) == 1
    assert {record["error"] for record in records(output)} == {"not run: no time was left"}
    printed = capsys.readouterr()
    assert "FAILED" not in printed.out + printed.err
    assert "left, for the same command: x: passes, cut, needs" in printed.out
    gpu_check.main(argv)
    printed = capsys.readouterr().out
    assert "a, rate: 20,000\n  MISSED a: 1 (at least 2; no GPU)\n" in printed
    assert "left, for the same command: cut\n" in printed
    assert "left out needs (0.0 s): no module" in printed
    gpu_check.main(argv)
    assert calls == ["passes", "cut", "needs", "cut", "needs"]
    assert [record["ok"] for record in records(output)] == [True] * 3
    gpu_check.main([*argv, "--again", "--only", "passes"])
    assert calls[5:] == ["passes"]
    assert [record["step"] for record in records(output)] == ["x: passes", "cut"]
    report = json.loads(output.read_text(encoding="utf-8"))
    output.write_text(json.dumps(report | {"machine": {"device": "another"}}), encoding="utf-8")
    gpu_check.main([*argv, "--only", "passes"])
    assert len(records(output)) == 1


def records(output: Path) -> list[dict]:
    return json.loads(output.read_text(encoding="utf-8"))["steps"]


def test_corpora_of_the_runs_travel(
    gpu_check: ModuleType,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    import gpu_runs
    from gpu_proofs import Bench

    from graphdep.parsing.parser import ChainParser
    from graphdep.training import TrainConfig, load_splits

    (tmp_path / "sick").symlink_to(ROOT / "datasets" / "mini" / "raw")
    monkeypatch.setattr(gpu_runs, "RAW", {"sick-e": "sick"})
    monkeypatch.setattr(gpu_runs, "PACKED", tmp_path / "packed")
    monkeypatch.setattr(gpu_runs, "UNPACKED", tmp_path / "here")
    chain = gpu_runs.SETTINGS["sick-e"] | {"parser": "chain", "limit_train": 20}
    monkeypatch.setitem(gpu_runs.SETTINGS, "sick-e", chain)
    assert gpu_check.main(["--prepare", str(tmp_path)]) == 0
    monkeypatch.setattr(gpu_runs, "UNPACKED", tmp_path / "there")
    monkeypatch.setattr(ChainParser, "parse_texts", lambda *_: pytest.fail("parsed again"))
    capsys.readouterr()
    settings = gpu_runs.settings(Bench("cuda"), "sick-e")
    assert settings["root"] == str(tmp_path / "there" / "sick-e")
    assert len(load_splits(TrainConfig.of(**settings))["train"]) == 20
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(gpu_runs, "MOST_BYTES", 100)
    with pytest.raises(ValueError, match="of which 100 travel"):
        gpu_runs.prepare(tmp_path)
    (tmp_path / "packed" / "sick-e.tar.xz").unlink()
    monkeypatch.setattr(gpu_runs, "UNPACKED", tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"sick-e.tar.xz is not there: make gpu-prepare"):
        gpu_runs.settings(Bench("cuda"), "sick-e")


def test_a_run_that_has_no_time_left_is_cut(gpu_check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import gpu_runs
    from gpu_proofs import Bench

    def cut(command: list[str], timeout: float, **options: bool) -> None:
        assert (command[3:7], timeout) == (["train", "--task", "sick-e", "--model"], 1.0)
        assert "--resume" in command
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(gpu_runs.subprocess, "run", cut)
    record = gpu_check.run("run", gpu_runs.same_scores, Bench("cpu", tiny=True, until=0.0))
    assert (record["ok"], record["error"]) == (False, gpu_check.LATE)


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
