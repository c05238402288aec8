from __future__ import annotations

import pytest
import torch

from graphdep import RelationVocab, Vocab
from graphdep.training import TrainConfig, train
from graphdep.training.checkpoint import RunState
from graphdep.visualization import plot_attention
from tests.kit.tiny_corpora import write_tiny_dialogues

SIZES = {"hidden_channels": 8, "ff_channels": 8, "heads": 2, "num_layers": 1, "context_layers": 1}
SIZES |= {"decoder_layers": 1, "max_epochs": 1, "min_freq": 1, "max_length": 5, "accelerator": "cpu"}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """Those of two models, as options."""
    folder = tmp_path_factory.mktemp("runs")
    corpus = write_tiny_dialogues(folder / "corpus")
    options: list[object] = []
    for model in ("transformer-dra", "dialogbert"):
        train(TrainConfig.of(model, task="dailydialog", **corpus, **SIZES), folder / model)
        options += ["--checkpoint", folder / model / "best.ckpt"]
    return options


def test_attention_maps(example, checkpoints, tmp_path, monkeypatch):
    drawn = []

    def plot(maps, labels, **titles):
        drawn.append(maps)
        assert labels[0] == "[ROOT]"
        return plot_attention(maps, labels, **titles)

    monkeypatch.setattr("graphdep.visualization.plot_attention", plot)
    example("attention_maps.py", *checkpoints, "--output", tmp_path / "maps.png")
    assert (tmp_path / "maps.png").read_bytes().startswith(b"\x89PNG")
    (maps,) = drawn
    assert len(maps) == 3
    assert torch.allclose(maps.sum(dim=-1), torch.ones(3, maps.size(1)))
    allowed = maps[0] > 0
    assert torch.equal(maps[0], allowed / allowed.sum(dim=-1, keepdim=True))
    assert allowed[0].all()  # ROOT sees all words
    assert allowed[1:, 0].sum() == 0
    assert 1 < allowed[1:].sum() < allowed[1:].numel()


def test_attention_maps_need_attention_between_words(example, tmp_path):
    settings = {**SIZES, "task": "dailydialog"}
    for model in ("hred", "recosa"):
        state = RunState(TrainConfig.of(model, **settings), Vocab(["a"]), RelationVocab(), {})
        path = tmp_path / f"{model}.ckpt"
        torch.save({"graphdep": state.state_dict(), "state_dict": state.build_task().state_dict()}, path)
        arguments = ("--checkpoint", path, "--output", tmp_path / "maps.png")
        said = example("attention_maps.py", *arguments, returncode=1).stderr
        assert f"{model}.ckpt: '{model}' has no attention between words" in said
