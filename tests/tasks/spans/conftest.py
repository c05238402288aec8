"""Tiny corpora of marked spans, and settings of runs on them that take a fraction of a second."""

from __future__ import annotations

import pytest

from tests.kit.tiny_corpora import (
    tiny_span_rows,
    write_span_rows,
    write_tiny_aspects,
    write_tiny_conll04,
    write_tiny_semeval2010,
)
from tests.kit.tiny_encoder import write_tiny_encoder

SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4}
SHORT = {"max_epochs": 2, "batch_size": 4, "lr": 0.05, "accelerator": "cpu", "min_freq": 1, "parser": "chain"}
WRITERS = {
    "semeval2010": write_tiny_semeval2010,
    "conll04": write_tiny_conll04,
    "aspects": write_tiny_aspects,
}


@pytest.fixture(scope="session")
def roots(tmp_path_factory) -> dict[str, str]:
    """The folder of each tiny corpus."""
    return {task: write(tmp_path_factory.mktemp(task))["root"] for task, write in WRITERS.items()}


@pytest.fixture
def of_task(roots, tmp_path):
    """Settings of a short run on a task; of one's own files with trees."""

    def of_task(task: str) -> dict[str, object]:
        if task != "spans":
            return {"task": task, "root": roots[task], **SIZES, **SHORT}
        rows = tiny_span_rows(trees=True)
        files = {name: write_span_rows(tmp_path / f"{name}.jsonl", rows) for name in ("train", "test")}
        return {"task": task, "root": str(tmp_path / "root"), **files, **SIZES, **SHORT}

    return of_task


@pytest.fixture(scope="session")
def encoder(tmp_path_factory) -> str:
    """The folder of a tiny pretrained encoder."""
    pytest.importorskip("transformers")
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="session")
def on_encoder(encoder) -> dict[str, object]:
    """Settings of a short run on the tiny encoder, whose sentences are cut."""
    return {"encoder": encoder, "arcs": "basic", "max_length": 26, **SHORT, "min_freq": 2}
