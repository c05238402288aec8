"""Folders of models: saved, loaded, refused, and uploaded to the hub."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import re
import shutil
from pathlib import Path

import huggingface_hub
import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file

import graphdep
from graphdep.io import atomic_path
from graphdep.tasks import TASKS, resolve_task
from graphdep.training import TrainConfig, load_task, read_checkpoint, train
from graphdep.training import hub as hub_model
from graphdep.training.checkpoint import read_model_folder
from graphdep.training.hub import LICENCES, licence_of, without_folders, write_model_folder
from tests.kit import tiny_corpora
from tests.kit.tiny_corpora import write_tiny_propbank, write_tiny_semeval2010
from tests.kit.tiny_encoder import write_tiny_encoder

SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "max_epochs": 1, "min_freq": 1}
OWN = {"accelerator": "cpu", "parser": "chain"}
RUNS = {
    "sst": ("dt", tiny_corpora.write_tiny_sst, SIZES),
    "sick-r": ("transformer", tiny_corpora.write_tiny_sick, SIZES),
    "dailydialog": ("transformer-dra", tiny_corpora.write_tiny_dialogues, {**SIZES, "limit_generate": 0}),
    "ubuntu": ("bert-sia", tiny_corpora.write_tiny_selection, {"max_epochs": 1, "max_length": 40}),
    "semeval2010": ("dt", write_tiny_semeval2010, SIZES),
    "propbank-ewt": ("dt", write_tiny_propbank, {**SIZES, "relation_dim": 4}),
}


PIPELINES = (
    *("text-classification", "sentence-similarity", "token-classification"),
    *("text-generation", "text-ranking"),
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """A run of each family; response selection has a pretrained encoder."""
    folder = tmp_path_factory.mktemp("runs")
    made = {}
    for task, (model, write, options) in RUNS.items():
        given = {**write(folder / f"{task}-data"), "task": task, **options, **OWN}
        if model.startswith("bert"):
            given["encoder"] = write_tiny_encoder(folder / "encoder")
            settings = json.loads((folder / "encoder" / "config.json").read_text())
            settings["_name_or_path"] = "acme/tiny-encoder"
            (folder / "encoder" / "config.json").write_text(json.dumps(settings))
        train(TrainConfig.of(model, **given), folder / task)
        made[task] = folder / task
    return made


@pytest.fixture
def saved(runs, tmp_path) -> Path:
    write_model_folder(tmp_path / "model", *load_task(runs["sst"]))
    return tmp_path / "model"


@pytest.mark.parametrize("task", [*RUNS])
def test_settings_and_card_of_a_model_in_a_folder(runs, tmp_path, task, capsys):
    trained, state = load_task(runs[task])
    write_model_folder(tmp_path, trained, state, json.loads((runs[task] / "result.json").read_text()))
    kept = load_task(tmp_path)[1].config.to_dict()
    for name, value in state.config.to_dict().items():
        if name in ("raw_from", "root", "encoder") and isinstance(value, str):
            value = "acme/tiny-encoder" if name == "encoder" and task == "ubuntu" else Path(value).name
        assert kept[name] == value
    card = (tmp_path / "README.md").read_text()
    assert f"on {task}" in card
    assert "| test_" in card
    assert f": {licence_of(resolve_task(task).root)}. The model has no licence of its own" in card
    assert f"makes a `graphdep.{type(graphdep.load(tmp_path, parser='chain')).__name__}` of it" in card
    assert not re.search(r"\|  \|\n\| data|\d\.\d{6}|data: digest", card)
    own = re.findall(r"^(\w+): (.*)$", card.split("---")[1], flags=re.M)
    assert dict(own)["pipeline_tag"] in PIPELINES
    assert (
        ("base_model: acme/tiny-encoder\n" in card)
        == ("| encoder | acme/tiny-encoder |" in card)
        == (task == "ubuntu")
    )
    assert card.count("vocabulary") == 1
    negative = getattr(state.config, "outside_label", None)
    assert (f"| negative label | {negative}, which F1 leaves out |" in card) == (negative is not None)
    # The code on the card runs.
    (code,) = re.findall(r"```python\n(.*?)```", card, flags=re.S)
    exec(compile(code.replace("FOLDER", str(tmp_path)), "card", "exec"), {})
    assert capsys.readouterr().out.strip()
    for path in tmp_path.iterdir():
        assert str(runs[task].parent) not in path.read_text(errors="replace"), path.name


def test_load_returns_the_predictor_of_a_task(runs, tmp_path):
    kinds = (graphdep.SequenceClassifier, graphdep.SentenceEncoder, graphdep.Responder)
    kinds += (graphdep.ResponseSelector, graphdep.SpanClassifier, graphdep.WordLabeller)
    for folder, kind in zip(runs.values(), kinds, strict=True):
        graphdep.load(folder, parser="chain").save_pretrained(tmp_path / folder.name)
        assert type(kind.from_pretrained(tmp_path / folder.name, parser="chain")) is kind
        assert type(graphdep.load(tmp_path / folder.name, parser="chain")) is kind
    with pytest.raises(TypeError, match="WordLabeller.from_pretrained takes no 'devcie': edges, parser"):
        graphdep.WordLabeller.from_pretrained(tmp_path / "propbank-ewt", devcie="cuda")


def test_licences_are_those_of_the_cards_of_the_corpora():
    page = (Path(__file__).parents[2] / "datasets" / "README.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| \[([\w-]+)\]\([^)]*\) \|[^|]*\|[^|]*\| ([^|]*) \|", page, flags=re.M))
    texts_of_ours, layouts = {"mini", "probes"}, {"aspect-trees", "scierc", "tacred"}
    assert told.keys() - texts_of_ours - layouts == LICENCES.keys()
    for name, licence in LICENCES.items():
        if licence.startswith("that of each"):
            assert told[name] in ("by corpus", "each language's own", "each treebank's own")
        else:
            assert licence.replace(" is", "") == told[name], name
    own = {f"datasets/{name}" for name in ("csv", "labels", "spans", "probes")}
    assert {task.root for task in TASKS.values() if licence_of(task.root) is None} == own


def test_a_task_that_no_class_answers_for(runs, monkeypatch):
    module = importlib.import_module("graphdep.training.hub")  # the package has a function of this name
    monkeypatch.setattr(module, "read_task", lambda place: "post-train")
    with pytest.raises(ValueError, match="the task 'post-train', for which there is no class: see"):
        graphdep.load(runs["sst"])


def test_on_a_machine_of_another_precision(tmp_path):
    """Loaded weights have the precision of the training, with any default dtype."""
    given = {
        **tiny_corpora.write_tiny_sst(tmp_path / "data"),
        "task": "sst",
        **SIZES,
        **OWN,
        "precision": "bf16-mixed",
    }
    train(TrainConfig.of("dt", **given), tmp_path / "run")
    here = graphdep.load(tmp_path / "run", parser="chain")
    here.save_pretrained(tmp_path / "model")
    torch.set_default_dtype(torch.float64)
    try:
        there = graphdep.load(tmp_path / "model", parser="chain").predict_proba(["So dull."])
    finally:
        torch.set_default_dtype(torch.float32)
    np.testing.assert_allclose(there, here.predict_proba(["So dull."]), rtol=1e-6)
    assert {weight.dtype for weight in load_file(tmp_path / "model" / "model.safetensors").values()} == {
        torch.float32
    }


def damage(folder: Path, how: str) -> None:
    config = folder / "config.json"
    said = json.loads(config.read_text())
    if how in ("model.safetensors", "vocab.json"):
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
        ("model.safetensors", "model.safetensors: damaged: its digest is not the one in config.json"),
        ("vocab.json", "vocab.json: damaged"),
        ("cut", "config.json: no JSON object"),
        ("no weights", "model.safetensors"),
        ("no config", "config.json"),
        ("foreign", "config.json: not a model of graphdep"),
        ("version", "a model of another version .got 'graphdep model 9'."),
        ("elsewhere", "config.json: damaged: invalid 'files' or 'run'"),
        ("settings", "damaged checkpoint|must be at most"),
    ],
)
def test_a_damaged_or_foreign_folder_is_refused(saved, how, message):
    damage(saved, how)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        load_task(saved)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_save_that_is_killed_leaves_no_model_and_can_be_made_again(saved, runs, monkeypatch, name):
    trained = load_task(runs["sst"])

    @contextlib.contextmanager
    def killed(path):
        if path.name == name:
            raise KeyboardInterrupt
        with atomic_path(path) as temporary:
            yield temporary

    module = "graphdep.training.hub"
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(f"{module}.atomic_path", killed)
        write_model_folder(saved, *trained)
    with pytest.raises((ValueError, FileNotFoundError), match="No such file|without a best.ckpt"):
        load_task(saved)
    write_model_folder(saved, *trained)
    load_task(saved)


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("README.md", "nothing"),
        ("config.json", "nothing"),
        ("config.json", "an export"),
        ("config.json", "other settings"),
        ("config.json", "other data"),
        ("vocab.json", "an export"),
        ("encoder.json", "an export"),
    ],
)
def test_a_file_that_is_no_export_is_replaced_where_that_is_asked_for(runs, tmp_path, name, before):
    model, folder = graphdep.load(runs["sst"], parser="chain"), tmp_path / "project"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    if before == "an export":
        model.save_pretrained(folder)
        model.save_pretrained(folder)  # replaces its own files
    if before == "other settings":
        graphdep.load(runs["sick-r"], parser="chain").save_pretrained(folder)
    elif before == "other data":
        task, state = load_task(runs["sst"])
        write_model_folder(folder, task, dataclasses.replace(state, data={**state.data, "digest": "other"}))
    else:
        (folder / name).write_text("mine")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    first = (
        name if name == "config.json" and before == "nothing" else ".*"
    )  # without it, the folder is no export
    with pytest.raises(
        ValueError,
        match=rf"project/{first} exists, not from an export of this.*overwrite",
    ):
        model.save_pretrained(folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    model.save_pretrained(folder, overwrite=True)
    load_task(folder)
    assert (folder / "notes.txt").read_text() == "mine"
    assert name == "encoder.json" or (folder / name).read_text(errors="replace") != "mine"
    edited = folder / "config.json"
    edited.write_text(edited.read_text().replace('"graphdep",', '"graphdep", "mine": 1,', 1))
    with pytest.raises(ValueError, match="exists, not from an export of this model, and would be replaced"):
        model.save_pretrained(folder)


def test_the_folder_of_a_run_and_a_link_stay_as_they_are(runs, tmp_path):
    model = graphdep.load(runs["sst"], parser="chain")
    with pytest.raises(ValueError, match="is the folder of a run with best.ckpt"):
        model.save_pretrained(runs["sick-r"], overwrite=True)
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "README.md").symlink_to(tmp_path / "precious")
    (tmp_path / "model" / "run.yaml").symlink_to(tmp_path / "gone")
    model.save_pretrained(tmp_path / "model", overwrite=True)
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "gone").exists()
    with pytest.raises(TypeError, match="'token' is for push_to_hub=True"):
        model.save_pretrained(tmp_path / "model", token="t")


def test_every_file_is_written_into_the_one_that_is_held(runs, tmp_path, monkeypatch):
    """A second temporary file would be left behind by a kill."""

    @contextlib.contextmanager
    def watched(path):
        with atomic_path(path) as temporary:
            held = temporary.stat().st_ino
            yield temporary
            assert temporary.stat().st_ino == held, path

    monkeypatch.setattr("graphdep.training.hub.atomic_path", watched)
    write_model_folder(tmp_path / "model", *load_task(runs["sst"]))


def test_a_run_folder_is_read_as_its_best_checkpoint(runs):
    assert read_checkpoint(runs["sst"])["graphdep"] == read_checkpoint(runs["sst"] / "best.ckpt")["graphdep"]
    with pytest.raises(FileNotFoundError, match="a folder without a best.ckpt"):
        read_checkpoint(runs["sst"].parent / "sst-data")


def test_the_hub_gets_and_gives_the_folder(saved, runs, tmp_path, monkeypatch):
    """With a simulated hub, which keeps uploaded folders."""
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
        *("README.md", "config.json", "model.safetensors", "relations.json", "run.yaml", "vocab.json")
    }
    assert graphdep.load("ann/opinions", parser="chain").predict(["So dull."]).shape == (1,)
    monkeypatch.chdir(tmp_path)
    Path("runs/dt-sst").mkdir(parents=True)
    Path("runs/dt-sst/best.ckpt").touch()
    for name, near in {
        **dict.fromkeys(("gone.ckpt", "./gone", "gone", "a/b/c", "~/gone", "/gone/x", "a/gone.ckpt"), ""),
        **dict.fromkeys(("runs/dt-st", "runs/dtsst/best.ckpt"), r" \(did you mean 'dt-sst'\?\)"),
        "runs/nope": ": name one of the runs runs/dt-sst",
        "rnus/a/b": r" \(did you mean 'runs'\?\)",
    }.items():
        with pytest.raises(FileNotFoundError, match=f"no checkpoint at {name}{near}$"):
            graphdep.load(name)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: Path("404").stat())
    with pytest.raises(FileNotFoundError, match=r"no folder ann/gone, and no model of this name .*: .*404"):
        graphdep.load("ann/gone")


@pytest.mark.parametrize(
    ("parser", "language"),
    [
        ("bundled", "en"),
        ("bundled:ud", None),
        ("stanza:de", "de"),
        ("stanza:no", "no"),
        ("spacy:zh_core_web_sm", "zh"),
        ("chain", None),
        ("conllu:a", None),
    ],
)
def test_a_card_has_language_and_licence(saved, parser, language):
    _, state = load_task(saved)
    card = hub_model.model_card(state.config.replace(task="sick-e", parser=parser), state)
    assert yaml.safe_load(card.split("---")[1]).get("language") == language
    assert "license: cc-by-nc-sa-3.0\n" in card
    assert (", parser=" in card) == (parser != "bundled")


def test_nothing_is_fetched_where_there_is_a_folder(saved, monkeypatch):
    def fetch(*_: object, **__: object):
        raise AssertionError("fetched")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    monkeypatch.chdir(saved.parent)
    assert hub_model.fetch_model("model") == "model"
    assert read_model_folder("model")["graphdep"]["config"]["task"] == "sst"


@pytest.mark.parametrize("folder", ["../acme/", "/home/ann/acme/", "acme/"])
def test_no_folder_of_the_settings_is_written(folder):
    files = ("train", "val", "test", "root", "vectors")
    given = {"text_columns": "a", "label_column": "b", **{name: f"{folder}{name}.txt" for name in files}}
    config = without_folders(TrainConfig.of("dt", task="csv", parser=f"conllu:{folder}a.conllu", **given))
    assert "acme" not in str(config.to_dict())
    assert (config.train, config.vectors, config.parser) == ("train.txt", "vectors.txt", "conllu:a.conllu")
    address = config.replace(parser="corenlp:http://localhost:9000")
    assert without_folders(address).parser == address.parser
