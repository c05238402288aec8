"""The tiny treebank, also with keys in MISC."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.tiny_corpora import read_tiny_treebank, write_tiny_tags

RAW = Path(__file__).parents[3] / "datasets" / "mini" / "ud" / "raw"


@pytest.fixture(scope="session")
def raw() -> Path:
    return RAW


@pytest.fixture(scope="session")
def read():
    """The sentences of a split."""
    return lambda split: read_tiny_treebank(RAW, split)


@pytest.fixture(scope="session")
def marked(tmp_path_factory) -> Path:
    """Raw files with MISC ``Vowel=Yes`` at words that begin with a vowel, and ``Length`` at short words."""
    return write_tiny_tags(RAW, tmp_path_factory.mktemp("marked"))
