"""The README's Python blocks run as they stand, each in a namespace of its own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import graphdep
from graphdep.testing.tiny_corpus import write_tiny_dialogues, write_tiny_sick
from graphdep.testing.tiny_encoder import write_tiny_encoder
from graphdep.training import TrainConfig, train

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
ENCODER = "sentence-transformers/all-MiniLM-L6-v2"  # a folder of that name is taken before the hub
BLOCKS = [
    (README.count("\n", 0, match.start(1)), match[1])
    for match in re.finditer(r"^```python\n(.*?)^```", README, flags=re.M | re.S)
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``best.ckpt`` of the README: a model that has learnt nothing."""
    folder = tmp_path_factory.mktemp("run")
    sizes = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4}
    settings = {
        **write_tiny_sick(folder / "corpus"),
        "parser": "bundled",
        "max_epochs": 1,
        "accelerator": "cpu",
    }
    train(TrainConfig.of("dt", **sizes, **settings), folder)
    return folder / "best.ckpt"


@pytest.fixture(scope="module")
def dialogue_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``best.ckpt`` of the README's dialogues, as untrained."""
    folder = tmp_path_factory.mktemp("dialogue")
    corpus = {**write_tiny_dialogues(folder / "corpus"), "parser": "bundled", "min_freq": 1}
    sizes = {"hidden_channels": 8, "ff_channels": 8, "heads": 2, "max_epochs": 1, "limit_generate": 0}
    train(TrainConfig.of(task="dailydialog", **corpus, **sizes, accelerator="cpu"), folder)
    return folder / "best.ckpt"


@pytest.mark.parametrize(("line", "code"), BLOCKS, ids=[f"line {line + 1}" for line, _ in BLOCKS])
def test_code_block(line, code, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    if f'"{ENCODER}"' in code:
        pytest.importorskip("transformers")
        # Layer 5 is one of a real encoder's.
        code = code.replace("{5:", "{1:")
        (tmp_path / ENCODER).parent.mkdir()
        write_tiny_encoder(tmp_path / ENCODER, positions=128)
    if '"best.ckpt"' in code:
        name = "dialogue_checkpoint" if "Responder" in code else "checkpoint"
        shutil.copy(request.getfixturevalue(name), "best.ckpt")
    exec(compile("\n" * line + code, "README.md", "exec"), {"__name__": "readme"})


def test_there_are_blocks_and_a_place_for_results():
    assert len(BLOCKS) >= 2
    assert README.count("```python") == len(BLOCKS)
    assert README.index("<!-- results:begin -->") < README.index("<!-- results:end -->")


def test_the_citation_names_the_version_of_the_library() -> None:
    """Else a paper cites a version that its authors did not have."""
    assert f"version = {{{graphdep.__version__}}}" in README


def test_no_placeholder_looks_like_a_value() -> None:
    """Somebody pastes them: ENCODER would be looked for on a hub."""
    code = "".join(
        match[1] for match in re.finditer(r"^```(?:sh|python)\n(.*?)^```", README, flags=re.M | re.S)
    )
    assert not re.findall(r"[= \"](?:ENCODER|DIR|FILE|NAME|VECTORS)\b(?!=)", code)
