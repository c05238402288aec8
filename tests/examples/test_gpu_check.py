from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
import torch


@pytest.fixture(scope="module")
def gpu_check() -> ModuleType:
    path = Path(__file__).parents[2] / "examples" / "benchmarks" / "gpu_check.py"
    spec = spec_from_file_location("gpu_check", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_a_gpu_it_says_so(
    gpu_check: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu_check.main([]) == 0
    assert capsys.readouterr().out == "No CUDA device here: nothing was checked.\n"


def test_all_checks_pass(gpu_check: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """On the CPU: that the file itself is right."""
    assert gpu_check.main(["--device", "cpu", "--rounds", "0"]) == 0
    out = capsys.readouterr().out
    assert "ok     training by hand" in out
    assert "left out" not in out


@pytest.mark.cuda
def test_all_checks_pass_on_a_gpu(gpu_check: ModuleType) -> None:
    assert gpu_check.main(["--rounds", "0"]) == 0


def test_a_failure_is_named(
    gpu_check: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(device: str) -> None:
        raise AssertionError("wrong")

    for part in ("backend_checks", "transform_checks", "layer_checks"):
        monkeypatch.setattr(gpu_check, part, lambda device: iter(()))
    monkeypatch.setattr(gpu_check, "train_by_hand", fail)
    assert gpu_check.main(["--device", "cpu", "--rounds", "0"]) == 1
    assert capsys.readouterr().out.endswith("FAILED training by hand\n0 of 1 checks passed\n")
