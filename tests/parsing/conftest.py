from __future__ import annotations

import importlib.util

import pytest


@pytest.fixture
def no_pybart(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if pybart were not installed."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "pybart" else find_spec(name, *rest)
    )
