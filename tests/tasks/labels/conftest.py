"""The tiny treebank, whole and with a key of MISC, tiny roles, and settings of runs that take a fraction of a
second.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from graphdep.io import read_conllu, write_conllu
from graphdep.sentence import Sentence
from graphdep.testing.tiny_encoder import write_tiny_encoder
from graphdep.testing.tiny_roles import write_tiny_propbank

RAW = Path(__file__).parents[3] / "datasets" / "mini" / "ud" / "raw"
SPLITS = {"train": "train", "val": "dev", "test": "test"}
SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4}
SHORT = {"max_epochs": 2, "batch_size": 2, "lr": 0.05, "accelerator": "cpu", "min_freq": 1}


@pytest.fixture(scope="session")
def raw() -> Path:
    return RAW


@pytest.fixture(scope="session")
def read():
    """The sentences of a split."""
    return lambda split, folder=RAW: read_conllu(folder / f"en_mini-ud-{SPLITS[split]}.conllu")


@pytest.fixture(scope="session")
def marked(tmp_path_factory, read) -> Path:
    """Raw files with ``Vowel=Yes`` in MISC at words that begin with one, and ``Length`` at short words."""
    folder = tmp_path_factory.mktemp("marked")
    for split, name in SPLITS.items():
        write_conllu(map(mark, read(split)), folder / f"en_mini-ud-{name}.conllu")
    return folder


def mark(sentence: Sentence) -> Sentence:
    old = sentence.misc or ["_"] * len(sentence)
    cells = []
    for word, cell in zip(sentence.form, old):
        own = ["Vowel=Yes"] if word[0].lower() in "aeiou" else []
        own += [f"Length={len(word)}"] if len(word) < 4 else []
        cells.append("|".join([*([cell] if cell != "_" else []), *own]) or "_")
    return dataclasses.replace(sentence, misc=cells)


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
