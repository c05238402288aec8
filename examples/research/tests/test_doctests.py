"""The examples of the docstrings run as they stand."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = [f"evidence.{name}" for name in ("campaign", "claim", "design", "ledger", "open_claim")]


@pytest.mark.parametrize("module", [*MODULES, "probe_theory"])
def test_examples_of_docstrings(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = doctest.testmod(import_module(module))
    assert (done.attempted > 0, done.failed) == (True, 0)
