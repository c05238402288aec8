"""The sweep runs, goes on, and its best run can be repeated."""

from __future__ import annotations

import re

import pytest

from graphdep.training import TrainConfig, train
from graphdep.training.config import read_run
from tests.kit.tiny_corpora import write_tiny_sst

pytest.importorskip("optuna", reason="the sweep needs Optuna, which is not installed")


def test_a_sweep_ends_with_a_run_that_can_be_repeated(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    corpus = write_tiny_sst(tmp_path / "corpus")
    sizes = {"hidden_channels": 8, "ff_channels": 8, "heads": 2, "relation_dim": 4, "max_epochs": 2}
    own = {"task": "sst", **corpus, **sizes, "accelerator": "cpu", "batch_size": 8}
    arguments = [f"{name}={value}" for name, value in own.items()]
    said = example("sweep.py", "--trials", 3, *arguments).stdout
    found = re.search(r"val_accuracy (\S+) with \{.*'num_layers': \d\}: (\S+)", said)
    result = train(TrainConfig.of(**read_run(tmp_path / found[2])), tmp_path / "again")
    assert f"{result['metrics']['val_accuracy']:.4f}" == found[1]
    example("sweep.py", "--trials", 1, *arguments)
    assert len(list((tmp_path / "runs" / "sweep").glob("*/run.yaml"))) == 4
