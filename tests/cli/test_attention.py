from __future__ import annotations

import json

import pytest

from graphdep import attention_map


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    from graphdep.training import TrainConfig, train
    from tests.kit.tiny_corpora import write_tiny_sst

    corpus = write_tiny_sst(tmp_path_factory.mktemp("sst"))
    sizes = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 2, "heads": 2, "relation_dim": 4}
    config = TrainConfig.of("dt", task="sst", max_epochs=1, accelerator="cpu", **corpus, **sizes)
    return train(config, tmp_path_factory.mktemp("run"))["checkpoint"]


def test_a_picture_and_the_weights(run, checkpoint, tmp_path):
    text = ["attention", "--checkpoint", checkpoint, "--parser", "chain", "ann likes bob"]
    done = run(*text, "--json", "--output", "new/maps.png")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "new" / "maps.png").read_bytes().startswith(b"\x89PNG")
    found, shown = json.loads(done.stdout), attention_map(checkpoint, "ann likes bob", parser="chain")
    assert found["words"] == ["[ROOT]", "ann", "likes", "bob"]
    assert found["layers"] == ["layer 1", "layer 2"]
    assert found["alpha"] == shown.alpha.tolist()
    assert "4 words, 2 layers, 2 heads -> new/maps.png" in done.stderr


def test_one_layer_without_special_nodes(run, checkpoint, tmp_path):
    text = ["attention", "--checkpoint", checkpoint, "--parser", "chain", "ann likes bob"]
    done = run(*text, "--layer", 2, "--no-special", "--output", "map.svg")
    assert done.exit_code == 0, done.stderr
    assert "3 words" in done.stderr
    assert b"<svg" in (tmp_path / "map.svg").read_bytes()
    for wrong, message in (
        (("--layer", 3), "'layer' must be 1 to 2"),
        (("--output", "map.txt"), "'output' must end in .png"),
        (("--output", checkpoint), "'output' is the file of --checkpoint"),
    ):
        done = run(*text, *wrong)
        assert done.exit_code != 0
        assert message in done.stderr
        assert done.stdout == ""
