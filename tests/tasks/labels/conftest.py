"""The tiny treebank, whole and with a key of MISC, tiny roles, and settings of runs that take a fraction of a
second.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.tiny_corpora import read_tiny_treebank, write_tiny_propbank, write_tiny_tags
from tests.kit.tiny_encoder import write_tiny_encoder

RAW = Path(__file__).parents[3] / "datasets" / "mini" / "ud" / "raw"
SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4}
SHORT = {"max_epochs": 2, "batch_size": 2, "lr": 0.05, "accelerator": "cpu", "min_freq": 1}


@pytest.fixture(scope="session")
def raw() -> Path:
    return RAW


@pytest.fixture(scope="session")
def read():
    """The sentences of a split."""
    return lambda split: read_tiny_treebank(RAW, split)


@pytest.fixture(scope="session")
def marked(tmp_path_factory) -> Path:
    """Raw files with ``Vowel=Yes`` in MISC at words that begin with one, and ``Length`` at short words."""
    return write_tiny_tags(RAW, tmp_path_factory.mktemp("marked"))


@pytest.fixture(scope="session")
def root(tmp_path_factory) -> Path:
    """Where the treebank's copy and what is made of it are."""
    return tmp_path_factory.mktemp("ud")


@pytest.fixture(scope="session")
def tiny(root) -> dict[str, object]:
    return {"task": "ud-tags", "root": str(root), "raw_from": str(RAW), **SIZES, **SHORT}


@pytest.fixture(scope="session")
def roles(tmp_path_factory) -> str:
    """A tiny PropBank."""
    return write_tiny_propbank(tmp_path_factory.mktemp("roles"))["root"]


@pytest.fixture(scope="session")
def of_roles(roles) -> dict[str, object]:
    return {"task": "propbank-ewt", "root": roles, **SIZES, **SHORT}


@pytest.fixture(scope="session")
def encoder(tmp_path_factory) -> str:
    """The folder of a tiny pretrained encoder."""
    pytest.importorskip("transformers")
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="session")
def tokens(encoder):
    """What cuts words into pieces."""
    from graphdep.nn.pretrained import load_encoder

    return load_encoder(encoder).tokens


@pytest.fixture(scope="session")
def on_encoder(encoder) -> dict[str, object]:
    """Settings of a short run on the tiny encoder, whose sentences are cut."""
    return {"encoder": encoder, "arcs": "basic", "max_length": 24, **SHORT, "min_freq": 2}
