"""A tiny corpus, and commands run in this process or in a fresh one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import graphdep
from graphdep.cli import app
from tests.kit.runs import SIZES
from tests.kit.tiny_corpora import write_tiny_sick

TINY = {**SIZES, "head_channels": 4, "batch_size": 8, "lr": 0.05, "accelerator": "cpu"}


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Options that load the corpus."""
    settings = write_tiny_sick(tmp_path_factory.mktemp("corpus"))
    return ["--root", settings["root"], "--parser", settings["parser"]]


@pytest.fixture
def tiny(corpus: list[str]) -> list[str]:
    """Options of a run that takes a fraction of a second."""
    sets = [part for key, value in TINY.items() for part in ("--set", f"{key}={value}")]
    return [*corpus, "--max-epochs", "1", *sets]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """Runs a command here, in an empty folder; ``run(...).stdout``, ``.stderr``, ``.exit_code``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def fresh(tmp_path: Path) -> Callable:
    """Runs a command in a fresh process and returns its JSON object."""
    package = str(Path(graphdep.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": package, "OMP_NUM_THREADS": "1"}

    def call(*arguments: object) -> dict:
        command = [sys.executable, "-m", "graphdep", *map(str, arguments)]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call
