"""The example of pretrained encoders runs from end to end, with every method, on tiny corpora."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from tests.kit.tiny_corpora import write_tiny_glue, write_tiny_sst
from tests.kit.tiny_encoder import write_tiny_encoder

SCRIPT = Path(__file__).parents[2] / "examples" / "dam_glue.py"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_tiny_encoder(tmp_path_factory.mktemp("bert"))


@pytest.mark.parametrize("method", ["bert", "dt", "g2g", "dam"])
def test_every_method_on_sentences(method, encoder, tmp_path, example):
    corpus = write_tiny_sst(tmp_path)
    picture = tmp_path / "new" / "attention.png"
    plot = ["--plot", str(picture)] if method == "dam" else []
    done = example(
        SCRIPT.name,
        *("--method", method, "--encoder", encoder, "--epochs", "2", *plot),
        *("--root", corpus["root"], "--parser", corpus["parser"]),
    )
    epochs = [line for line in done.stdout.splitlines() if line.startswith("Epoch: ")]
    assert len(epochs) == 2
    assert all(re.search(r"Val: -?\d\.\d{4} \(accuracy\)$", line) for line in epochs)
    assert f"{method}, seed 0, test at best validation: accuracy " in done.stdout.splitlines()[-1]
    assert picture.exists() == (method == "dam")


def test_cola_is_chosen_by_its_own_metric(encoder, tmp_path, example):
    corpus = write_tiny_glue(tmp_path)
    done = example(
        SCRIPT.name,
        *("--name", "cola", "--encoder", encoder, "--epochs", "1", "--limit", "12"),
        *("--root", corpus["root"], "--parser", corpus["parser"]),
    )
    assert done.stdout.splitlines()[0].endswith("(Matthews)")


def test_enhanced_arcs_are_for_dam(encoder, example):
    done = example(SCRIPT.name, "--method", "dt", "--arcs", "enhanced", "--encoder", encoder, returncode=2)
    assert "--arcs enhanced is for --method dam" in done.stderr


def test_it_stays_short():
    assert len(SCRIPT.read_text().splitlines()) <= 130
