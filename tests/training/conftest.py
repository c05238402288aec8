"""Settings of runs that take a fraction of a second."""

from __future__ import annotations

import pytest

from graphdep.testing.tiny_corpus import write_tiny_sick, write_tiny_sst


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return write_tiny_sick(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def opinions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {"task": "sst", **write_tiny_sst(tmp_path_factory.mktemp("opinions"))}


@pytest.fixture
def tiny(corpus: dict[str, str]) -> dict[str, object]:
    sizes = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4}
    return {
        **corpus,
        **sizes,
        "head_channels": 4,
        "batch_size": 8,
        "max_epochs": 2,
        "lr": 0.05,
        "accelerator": "cpu",
    }
