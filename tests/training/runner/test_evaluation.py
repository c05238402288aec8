from __future__ import annotations

import shlex
import signal

import pytest
import torch

from graphdep.tasks import SentenceTask
from graphdep.training import TrainConfig, evaluate, load_task, train

COLUMNS = {"text_columns": "text", "label_column": "label"}
SIZES = {"hidden_channels": 4, "max_epochs": 1, "accelerator": "cpu"}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """A run on texts, and a function that gives its checkpoint other settings."""
    folder = tmp_path_factory.mktemp("theirs")
    path = folder / "texts.csv"
    path.write_text("text,label\n" + "".join(f"a film {i},{'ab'[i % 2]}\n" for i in range(20)))
    places = {"train": str(path), "root": str(folder / "root"), "parser": "chain"}
    result = train(TrainConfig.of("word-average", task="csv", **places, **COLUMNS, **SIZES), folder / "run")
    checkpoint = torch.load(result["checkpoint"], weights_only=True)

    def altered(target, **settings):
        config = {**checkpoint["graphdep"]["config"], **settings}
        state = {**checkpoint, "graphdep": {**checkpoint["graphdep"], "config": config}}
        torch.save(state, target)
        return target

    return altered, places


def test_a_checkpoint_names_no_place_of_its_own(theirs, tmp_path):
    """What it names is neither read nor written, and the error has all of it."""
    altered, _ = theirs
    secret = tmp_path / "secret file.csv"
    secret.write_text("text,label\nnothing,TOP-SECRET\n")
    victim = tmp_path / "victim"
    names = {"root": str(victim), "train": str(secret), "test": str(secret), "parser": "bundled:/evil"}
    path = altered(tmp_path / "theirs.ckpt", **names)
    for given in ({}, {"train": str(secret)}, {"root": "a", "train": str(secret), "parser": "chain"}):
        with pytest.raises(ValueError, match="theirs.ckpt: trained with ") as caught:
            evaluate(path, settings=given)
        message = str(caught.value)
        options = shlex.split(message[message.rindex("(") + 1 : message.rindex(")")])
        expected = [
            *(["--parser", "bundled:/evil"] if "parser" not in given else []),
            *(["--root", str(victim)] if "root" not in given else []),
            *(["--set", f"train={secret}"] if "train" not in given else []),
            *("--set", f"test={secret}"),
        ]
        assert options == expected
        assert "SECRET" not in message
    assert not victim.exists()


def test_names_that_are_given_are_used(theirs, tmp_path):
    altered, places = theirs
    path = altered(tmp_path / "theirs.ckpt", root="/else", train="/where", parser="stanza:de")
    metrics = evaluate(path, "val", settings=places)["metrics"]
    assert metrics == evaluate(altered(tmp_path / "same.ckpt"), "val", settings=places)["metrics"]


def test_what_is_dangerous_to_paste_or_to_print_is_quoted(theirs, tmp_path):
    altered, _ = theirs
    path = altered(tmp_path / "theirs.ckpt", root="$(rm -r x)'`", parser="bundled:\x1b[2J")
    with pytest.raises(ValueError, match="trained with") as caught:
        evaluate(path, "val")
    assert "\x1b" not in str(caught.value)
    assert "--root '$(rm -r x)'\"'\"'`'" in str(caught.value)


def test_processes_and_raw_files_of_a_checkpoint_are_not_taken(theirs, tmp_path, monkeypatch):
    altered, places = theirs
    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", lambda process: pytest.fail("started"))
    path = altered(tmp_path / "theirs.ckpt", num_workers=2)
    assert evaluate(path, "val", settings=places)["metrics"]
    config = load_task(path)[1].config.replace(num_workers=2)
    assert config.for_evaluation({}).num_workers == 0
    assert config.for_evaluation({"num_workers": 1}).num_workers == 1
    sick = TrainConfig.of("dt", raw_from="/somewhere")
    assert sick.for_evaluation({}).raw_from is None
    assert sick.for_evaluation({"raw_from": "here"}).raw_from == "here"


def test_the_default_parser_of_a_task_needs_no_repeating():
    assert TrainConfig.of("bert-fp", task="post-train").named() == {}
    assert TrainConfig.of("bert-fp", task="post-train", parser="bundled").named() == {}
    assert TrainConfig.of("dt", parser="chain").named() == {"parser": "chain"}


def test_a_checkpoint_loads_no_encoder_by_its_name(theirs, tmp_path, monkeypatch):
    transformers = pytest.importorskip("transformers")
    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", lambda *a, **k: pytest.fail("loaded"))
    altered, _ = theirs
    config = TrainConfig.of("bert", task="csv", train="x", **COLUMNS, encoder="somebody/evil").to_dict()
    with pytest.raises(ValueError, match="'pretrained' must be there for a pretrained encoder"):
        load_task(altered(tmp_path / "theirs.ckpt", **config))


def test_ctrl_c_while_a_split_is_scored(theirs, tmp_path, monkeypatch):
    """Not Lightning's silent exit, after which it would be ignored."""
    altered, places = theirs
    path, handler = altered(tmp_path / "theirs.ckpt"), signal.default_int_handler
    before = signal.signal(signal.SIGINT, handler)  # which a test before may have left ignored
    monkeypatch.setattr(SentenceTask, "predict_step", lambda *args: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        evaluate(path, "val", settings=places)
    assert signal.signal(signal.SIGINT, before) is handler
