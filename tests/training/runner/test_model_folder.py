from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import huggingface_hub
import pytest
import torch

import graphdep
from graphdep.testing import tiny_corpus
from graphdep.testing.tiny_encoder import write_tiny_encoder
from graphdep.testing.tiny_spans import write_tiny_semeval2010
from graphdep.training import TrainConfig, load_task, read_checkpoint, train
from graphdep.training.runner import hub_model
from graphdep.training.runner.model_folder import read_model_folder
from graphdep.training.runner.write_model_folder import write_model_folder

SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "max_epochs": 1, "min_freq": 1}
OWN = {"accelerator": "cpu", "parser": "chain"}
RUNS = {
    "sst": ("dt", tiny_corpus.write_tiny_sst, SIZES),
    "sick-r": ("transformer", tiny_corpus.write_tiny_sick, SIZES),
    "dailydialog": ("transformer-dra", tiny_corpus.write_tiny_dialogues, {**SIZES, "limit_generate": 0}),
    "ubuntu": ("bert-sia", tiny_corpus.write_tiny_selection, {"max_epochs": 1, "max_length": 40}),
    "semeval2010": ("dt", write_tiny_semeval2010, SIZES),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """A run of each family; the one of selection on a pretrained encoder."""
    folder = tmp_path_factory.mktemp("runs")
    made = {}
    for task, (model, write, options) in RUNS.items():
        given = {**write(folder / f"{task}-data"), "task": task, **options, **OWN}
        if model.startswith("bert"):
            given["encoder"] = write_tiny_encoder(folder / "encoder")
        train(TrainConfig.of(model, **given), folder / task)
        made[task] = folder / task
    return made


@pytest.fixture
def saved(runs, tmp_path) -> Path:
    write_model_folder(tmp_path / "model", *load_task(runs["sst"]))
    return tmp_path / "model"


@pytest.mark.parametrize("task", [*RUNS])
def test_a_model_is_the_same_from_its_folder(runs, tmp_path, task):
    trained, state = load_task(runs[task])
    write_model_folder(tmp_path, trained, state, json.loads((runs[task] / "result.json").read_text()))
    again, kept = load_task(tmp_path)
    for name, weight in trained.state_dict().items():
        assert torch.equal(again.state_dict()[name], weight), name
    mine, its = state.state_dict(), kept.state_dict()
    assert {**mine, "config": None} == {**its, "config": None}
    folders = ("raw_from", "root", "encoder")
    for name, value in mine["config"].items():
        if name in folders and isinstance(value, str):
            assert its["config"][name] == Path(value).name
        else:
            assert its["config"][name] == value
    card = (tmp_path / "README.md").read_text()
    assert f"on {task}" in card
    assert "| test_" in card
    for path in tmp_path.iterdir():
        assert str(runs[task].parent) not in path.read_text(errors="replace"), path.name


def test_predictors_answer_alike_and_load_finds_theirs(runs, tmp_path):
    texts = ["A fine film.", "So dull."]
    model = graphdep.load(runs["sst"], parser="chain")
    assert isinstance(model, graphdep.SequenceClassifier)
    model.save_pretrained(tmp_path / "a")
    again = graphdep.SequenceClassifier.from_pretrained(tmp_path / "a", parser="chain")
    assert (again.predict_proba(texts) == model.predict_proba(texts)).all()
    encoder = graphdep.load(runs["sick-r"], parser="chain")
    assert isinstance(encoder, graphdep.SentenceEncoder)
    encoder.save_pretrained(tmp_path / "b")
    assert torch.equal(graphdep.load(tmp_path / "b", parser="chain").encode(texts), encoder.encode(texts))
    responder = graphdep.load(runs["dailydialog"], parser="chain")
    responder.save_pretrained(tmp_path / "c")
    assert graphdep.load(tmp_path / "c", parser="chain").respond([["Hi ."]]) == responder.respond([["Hi ."]])
    selector = graphdep.load(runs["ubuntu"], parser="chain")
    selector.save_pretrained(tmp_path / "d")
    again = graphdep.load(tmp_path / "d", parser="chain")
    assert again.rank(["hi"], ["ho", "hum"]) == selector.rank(["hi"], ["ho", "hum"])
    with pytest.raises(ValueError, match="the task 'semeval2010', which no class answers for: see"):
        graphdep.load(runs["semeval2010"])


def test_in_another_process(saved):
    code = "print(graphdep.load('model', parser='chain').predict_proba(['So dull.']).tolist())"
    env = {**os.environ, "PYTHONWARNINGS": "ignore", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", f"import graphdep; {code}"]
    done = subprocess.run(command, cwd=saved.parent, env=env, capture_output=True, text=True, check=True)
    here = graphdep.load(saved, parser="chain").predict_proba(["So dull."])
    assert json.loads(done.stdout) == here.tolist()


def damage(folder: Path, how: str) -> None:
    config = folder / "config.json"
    said = json.loads(config.read_text())
    if how in ("model.safetensors", "vocab.json", "relations.json"):
        path = folder / how
        content = bytearray(path.read_bytes())
        content[-2] ^= 1
        path.write_bytes(content)
    elif how == "cut":
        config.write_text(config.read_text()[:-40])
    elif how == "no weights":
        (folder / "model.safetensors").unlink()
    elif how == "no config":
        config.unlink()
    elif how == "foreign":
        config.write_text(json.dumps({"model_type": "bert"}))
    elif how == "version":
        config.write_text(json.dumps({**said, "format": "graphdep model 9"}))
    elif how == "elsewhere":
        config.write_text(json.dumps({**said, "files": {**said["files"], "../secret": "0"}}))
    elif how == "settings":
        said["run"]["config"]["hidden_channels"] = 2**40
        config.write_text(json.dumps(said))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("model.safetensors", "model.safetensors: damaged: not what was written with config.json"),
        ("vocab.json", "vocab.json: damaged"),
        ("relations.json", "relations.json: damaged"),
        ("cut", "config.json: no JSON"),
        ("no weights", "damaged: no file model.safetensors"),
        ("no config", "damaged: no file config.json"),
        ("foreign", "config.json: not a model of graphdep"),
        ("version", "a model of another version \\(got 'graphdep model 9'\\)"),
        ("elsewhere", "config.json: damaged: 'files' or 'run'"),
        ("settings", "damaged checkpoint|must be at most"),
    ],
)
def test_a_damaged_or_foreign_folder_is_refused(saved, how, message):
    damage(saved, how)
    with pytest.raises(ValueError, match=message):
        load_task(saved)


def test_a_save_that_is_killed_leaves_nothing_that_is_taken_for_a_model(saved, runs, monkeypatch):
    monkeypatch.setattr(
        "graphdep.training.runner.write_model_folder.model_card", None
    )  # what comes before the end
    with pytest.raises(TypeError):
        write_model_folder(saved, *load_task(runs["sst"]))
    with pytest.raises(ValueError, match="damaged: no file config.json"):
        load_task(saved)


def test_run_folders_and_checkpoints_are_as_they_were(runs):
    assert read_checkpoint(runs["sst"])["graphdep"] == read_checkpoint(runs["sst"] / "best.ckpt")["graphdep"]
    with pytest.raises(FileNotFoundError, match="a folder without a best.ckpt"):
        read_checkpoint(runs["sst"].parent / "sst-data")


def test_the_hub_gets_and_gives_the_folder(saved, runs, tmp_path, monkeypatch):
    """Without a network: what would be uploaded is kept, and given back."""
    hub = tmp_path / "hub"

    class Api:
        def __init__(self, **_: object) -> None: ...

        def create_repo(self, repo_id: str, **_: object):
            return type("Repo", (), {"repo_id": repo_id})

        def upload_folder(self, *, repo_id: str, folder_path: Path, **_: object) -> str:
            shutil.copytree(folder_path, hub / repo_id)
            return f"at {repo_id}"

    monkeypatch.setattr("huggingface_hub.hub_mixin.HfApi", Api)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **_: str(hub / name))
    model = graphdep.load(saved, parser="chain")
    assert model.push_to_hub("ann/opinions") == "at ann/opinions"
    assert {path.name for path in (hub / "ann" / "opinions").iterdir()} == {
        *("README.md", "config.json", "model.safetensors", "relations.json", "run.yaml", "vocab.json"),
    }
    assert graphdep.load("ann/opinions", parser="chain").predict(["So dull."]).shape == (1,)
    for name in ("gone.ckpt", "./gone", "runs/gone.ckpt", "a/b/c"):
        with pytest.raises(FileNotFoundError, match="no checkpoint or folder at"):
            graphdep.load(name)


def test_nothing_is_fetched_where_there_is_a_folder(saved, monkeypatch):
    def fetch(*_: object, **__: object):
        raise AssertionError("fetched")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    monkeypatch.chdir(saved.parent)
    assert hub_model.fetched("model") == "model"
    assert read_model_folder("model")["graphdep"]["config"]["task"] == "sst"
