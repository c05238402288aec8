from __future__ import annotations

import json

import pytest

from graphdep.training import TrainConfig, train


@pytest.fixture(scope="module")
def trained(opinions, tmp_path_factory):
    sizes = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "max_epochs": 1}
    folder = tmp_path_factory.mktemp("run")
    train(TrainConfig.of("dt", **opinions, **sizes, accelerator="cpu"), folder)
    return folder


def test_a_folder_that_every_command_takes(run, trained, tmp_path):
    done = run("export", "--checkpoint", trained, "--output", tmp_path / "model", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["pushed"] is None
    answers = [
        run("predict", "--checkpoint", place, "--parser", "chain", "A fine film.").stdout
        for place in (trained, tmp_path / "model")
    ]
    assert answers[0] == answers[1] != ""
    again = run("export", "--checkpoint", tmp_path / "model", "--output", tmp_path / "copy")
    assert again.exit_code == 0, again.stderr
    kept = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("model", "copy")]
    assert kept[0] == kept[1]


def test_what_cannot_be(run, trained, tmp_path):
    (tmp_path / "file").write_text("")
    for options, message in (
        (["--output", tmp_path / "file"], "'output' must be a folder"),
        (["--output", trained], "'output' must be another folder than that of the run"),
        (["--output", tmp_path / "model", "--private"], "--private is for --push"),
    ):
        done = run("export", "--checkpoint", trained, *options)
        assert done.exit_code == 2
        assert message in done.stderr
