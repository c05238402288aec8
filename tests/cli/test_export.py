from __future__ import annotations

import json
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub.utils import filter_repo_objects

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


def test_what_is_replaced(run, trained, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "README.md").write_text("# My thesis")
    command = ["export", "--checkpoint", trained, "--output", tmp_path / "project"]
    done = run(*command)
    assert done.exit_code == 2
    assert "project/README.md is not as an export wrote it, and would be replaced" in done.stderr
    assert "--overwrite" in done.stderr
    assert [path.name for path in (tmp_path / "project").iterdir()] == ["README.md"]
    for options in (["--overwrite"], []):  # and then it is an export
        assert run(*command, *options).exit_code == 0
        assert "library_name: graphdep" in (tmp_path / "project" / "README.md").read_text()


def test_the_files_of_the_model_alone_are_uploaded(run, trained, tmp_path, monkeypatch):
    names = ["README.md", "config.json", "model.safetensors", "relations.json", "run.yaml", "vocab.json"]
    uploaded = []

    def upload(self, *, repo_id, folder_path, allow_patterns):
        files = [str(path.relative_to(folder_path)) for path in folder_path.rglob("*") if path.is_file()]
        uploaded.extend(filter_repo_objects(files, allow_patterns=allow_patterns))
        return f"at {repo_id}"

    repository = SimpleNamespace(repo_id="ann/model")
    monkeypatch.setattr(huggingface_hub.HfApi, "create_repo", lambda self, *_, **__: repository)
    monkeypatch.setattr(huggingface_hub.HfApi, "upload_folder", upload)
    folder = tmp_path / "project"
    for name in (".env", "customers.csv", "secrets/api_key.txt", "old/README.md", "old/config.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("secret")
    done = run("export", "--checkpoint", trained, "--output", folder, "--push", "ann/model")
    assert done.stdout == "at ann/model\n", done.stderr
    assert sorted(uploaded) == names
    told = done.stderr.partition("uploads to ann/model: ")[2].splitlines()[0]
    assert sorted(told.split(", ")) == names


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
