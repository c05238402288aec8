from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from math import isfinite
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch_geometric.data import Batch

from graphdep.transforms import resolve

FOLDER = Path(__file__).parents[1] / "benchmarks"
NUMBERS = [f"{name}_seconds" for name in ("edges", "inference", "training")]
NUMBERS += ["inference_mib", "training_mib"]


@pytest.fixture(scope="module")
def scaling() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield import_module("scaling")
        for name in ("scaling", "scaling_plot", "attention"):
            sys.modules.pop(name, None)


def test_all_rows_are_measured(
    scaling: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parents[2]))
    sizes = ["--rounds", "1", "--threads", "1", "--lengths", "20", "--batches"]
    command = [*sizes, "--models", "dt", "literal", "--memory-limit-gb", "0.04", "--output", str(tmp_path)]
    assert scaling.main(command) == 0
    text = (tmp_path / "scaling.md").read_text()
    assert capsys.readouterr().out == text
    rows = json.loads((tmp_path / "scaling.json").read_text())["rows"]
    assert [(row["model"], row["sentences"]) for row in rows] == [("dt", 32), ("literal", 16)]
    assert all(isfinite(row[key]) and row[key] >= 0 for row in rows for key in NUMBERS)
    # At the least three layers keep the states of 21 nodes a sentence: queries, keys, values, ...
    assert all(row["training_mib"] > row["sentences"] * 21 * 300 * 4 * 3 * 3 / 2**20 for row in rows)
    assert "measured on 16: 32 need about 0.0757 GiB of 0.04" in text.splitlines()[-1]
    with (tmp_path / "scaling.csv").open() as file:
        assert [float(row["training_mib"]) for row in csv.DictReader(file)] == [
            row["training_mib"] for row in rows
        ]
    assert (tmp_path / "scaling.png").read_bytes().startswith(b"\x89PNG")


def test_what_was_not_measured_is_named(
    scaling: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, -9, "", "first\nKilled")

    monkeypatch.setattr(scaling.subprocess, "run", fail)
    command = ["--lengths", "50", "--batches", "--models", "dt", "literal", "--memory-limit-gb", "0.001"]
    assert scaling.main([*command, "--output", str(tmp_path)]) == 1
    dt, literal = (tmp_path / "scaling.md").read_text().splitlines()[-2:]
    assert dt.endswith("| failed with code -9: Killed |")
    assert literal.endswith("| left out: 32 need about 0.446 GiB of 0.001 |")


def test_the_literal_formula_is_dt(scaling: ModuleType) -> None:
    """With the same weights it gives the same states, so what is compared is the same computation."""
    torch.manual_seed(0)
    dt, literal = scaling.build("dt"), scaling.build("literal")
    literal.load_state_dict(dt.state_dict(), strict=False)
    with torch.no_grad():
        for ours, peer in zip(dt.layers, literal.layers):
            conv, score, peer = ours.conv, ours.conv.score, peer.conv
            lins = (conv.lin_query, conv.lin_key, conv.lin_value)
            peer.lin.weight.copy_(torch.cat([lin.weight for lin in lins]))
            peer.lin.bias.copy_(torch.cat([lin.bias for lin in lins]))
            peer.score.weight.copy_(score.lin_score.T)
            peer.gate_node.weight.copy_(score.gate_node.mT.flatten(0, 1))
            peer.gate_relation.weight.copy_(score.gate_relation.mT.flatten(0, 1))
            peer.gate_out.copy_(score.gate_out.normal_())
    batch: Batch = scaling.make_batch([9] * 3, "cpu")
    batch.input_ids = torch.arange(batch.num_nodes)
    batch = resolve("dt", max_distance=2)(batch)
    torch.testing.assert_close(literal(batch), dt(batch), rtol=1e-4, atol=1e-4)


def test_a_size_below_one_is_refused(scaling: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        scaling.main(["--lengths", "0"])
    assert "must be at least 1" in capsys.readouterr().err
