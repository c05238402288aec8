"""Runs: the best epoch, resuming, errors, and results."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lightning import Callback
from lightning.pytorch.callbacks import EarlyStopping
from lightning.pytorch.loggers import Logger
from rich.console import Console

from graphdep import SequenceClassifier
from graphdep.io.limits import LOGGERS, check_logger
from graphdep.metrics.scores import WORD_F1
from graphdep.tasks import SentenceTask, TrainingError
from graphdep.training import TrainConfig, checkpoint, load_splits, read_checkpoint, run, train
from graphdep.training.checkpoint import RunCheckpoint
from graphdep.training.config import RUN_FILE, RUN_HEAD, read_run
from graphdep.training.evaluation import PREDICTIONS, read_predictions
from graphdep.training.run import folder_lock
from graphdep.training.trainer import METRICS, STEPS, MetricsFile, read_metrics, why_early, write_metrics
from tests.kit.runs import SIZES, evaluate_own
from tests.kit.tiny_corpora import write_tiny_glue

TINY = {**SIZES, "head_channels": 4, "batch_size": 8, "lr": 0.05, "accelerator": "cpu"}

pytestmark = pytest.mark.usefixtures("last_stays")


class Stop(Exception):
    pass


@pytest.fixture(scope="module")
def config(corpus) -> TrainConfig:
    return TrainConfig.of("dt", **corpus, **TINY, max_epochs=4, dropout=0.3)


@pytest.fixture(scope="module")
def short(config) -> TrainConfig:
    """One epoch of one batch."""
    return config.replace(max_epochs=1, limit_train=8)


@pytest.fixture(scope="module")
def whole(config, tmp_path_factory) -> Path:
    """The folder of an uninterrupted run, with its ``last.ckpt``."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(run, "_can_continue", lambda *given: True)
        train(config, folder, log_every=2)
    return folder


@pytest.fixture(scope="module")
def other(config, tmp_path_factory) -> Path:
    """A run with another seed."""
    folder = tmp_path_factory.mktemp("other")
    train(config.replace(seed=7), folder)
    return folder


@pytest.fixture
def copied(whole, tmp_path) -> Path:
    shutil.copytree(whole, tmp_path / "run")
    return tmp_path / "run"


def result_of(folder: Path) -> dict:
    return json.loads((folder / "result.json").read_text())


def interrupted(monkeypatch, config, folder, after: int, when: str = "after", **options) -> None:
    """Trains until an epoch, and fails in it, before its checkpoints, or after them."""
    with monkeypatch.context() as patched:
        if when == "in":
            original = SentenceTask.training_step

            def step(self, batch, batch_idx):
                if self.current_epoch == after and batch_idx == 1:
                    raise Stop
                return original(self, batch, batch_idx)

            patched.setattr(SentenceTask, "training_step", step)
        else:
            end = RunCheckpoint.on_train_epoch_end

            def stop(self, trainer, pl_module):
                if when == "before" and trainer.current_epoch + 1 == after:
                    raise Stop
                end(self, trainer, pl_module)
                if trainer.current_epoch + 1 == after:
                    raise Stop

            patched.setattr(RunCheckpoint, "on_train_epoch_end", stop)
        with pytest.raises(Stop):
            train(config, folder, **options)


def assert_same(left: Path, right: Path) -> None:
    """Both folders have the same run, except for times."""
    keys = ("metrics", "floor", "epochs", "best_epoch", "tied_epochs", "parameters", "seed", "config", "data")
    for key in keys:
        assert result_of(left)[key] == result_of(right)[key], key
    for name in ("best.ckpt", "last.ckpt"):
        mine, its = (read_checkpoint(folder / name)["state_dict"] for folder in (left, right))
        assert mine.keys() == its.keys()
        assert all(torch.equal(mine[key], its[key]) for key in mine), name
    for name in (METRICS, STEPS):
        mine, its = (
            [{k: v for k, v in row.items() if "seconds" not in k} for row in read_metrics(folder / name)]
            for folder in (left, right)
        )
        assert mine == its, name
    for name in (PREDICTIONS, RUN_FILE):
        assert (left / name).read_bytes() == (right / name).read_bytes(), name


# A resumed or repeated run is the same.


@pytest.mark.parametrize(("after", "when"), [(2, "in"), (3, "before"), (4, "after")])
def test_an_interrupted_run_ends_like_an_uninterrupted_one(whole, tmp_path, monkeypatch, config, after, when):
    interrupted(monkeypatch, config, tmp_path, after, when, log_every=2)
    train(config, tmp_path, resume=True, log_every=2)
    assert_same(whole, tmp_path)


@pytest.mark.parametrize(
    ("settings", "killed", "epochs"),
    [
        ({"patience": 1, "lr": 1e-9, "dropout": 0.0, "max_epochs": 30}, 2, (2, 1)),
        ({"val_every": 2}, 3, None),
        ({"monitor": "loss", "patience": 2, "max_epochs": 3}, 1, None),
    ],
)
def test_a_resumed_run_stops_early_as_an_uninterrupted_one(
    tmp_path, monkeypatch, config, settings, killed, epochs
):
    config = config.replace(limit_train=16, **settings)
    result = train(config, tmp_path / "whole")
    assert epochs is None or (result["epochs"], result["best_epoch"]) == epochs
    interrupted(monkeypatch, config, tmp_path / "parts", killed)
    if "monitor" in settings:
        with pytest.raises(ValueError, match="cannot be resumed: monitor: 'metric' != 'loss'"):
            train(config.replace(monitor="metric"), tmp_path / "parts", resume=True)
    train(config, tmp_path / "parts", resume=True)
    assert_same(tmp_path / "whole", tmp_path / "parts")


def test_the_file_of_a_run_repeats_it_and_another_seed_is_another(whole, other, tmp_path):
    train(TrainConfig.of(**read_run(whole / RUN_FILE)), tmp_path, log_every=2)
    assert_same(whole, tmp_path)
    assert result_of(whole)["metrics"]["val_loss"] != result_of(other)["metrics"]["val_loss"]


# The best epoch, and the end of a run.


class Epochs:
    """Replaces the validation scores of each epoch by given ones."""

    def __init__(self, monkeypatch, **columns: list[float]) -> None:
        self.columns, self.score = columns, SentenceTask.score
        monkeypatch.setattr(SentenceTask, "score", lambda task, *args: self.scored(task, *args))

    def scored(self, task, outputs, prefix):
        scores = self.score(task, outputs, prefix)
        if prefix == "val" and task._trainer is not None and task.trainer.state.fn == "fit":
            scores |= {f"val_{name}": values[task.current_epoch] for name, values in self.columns.items()}
        return scores


@pytest.mark.parametrize(
    ("settings", "epochs", "best", "tied"),
    [
        ({}, 3, 1, 1),  # accuracy does not improve
        ({"patience": None}, 6, 1, 3),
        ({"monitor": "loss"}, 6, 4, 0),  # the loss falls until the fourth epoch
        ({"monitor": "loss", "patience": 1}, 5, 4, 0),
        ({"keep": "last", "patience": 1}, 6, 6, 0),
    ],
)
def test_which_epoch_is_the_best_and_when_a_run_ends(
    tmp_path, monkeypatch, short, settings, epochs, best, tied
):
    Epochs(monkeypatch, accuracy=[0.52, 0.52, 0.42, 0.52, 0.32, 0.52], loss=[0.9, 0.8, 0.7, 0.5, 0.6, 0.6])
    result = train(short.replace(**{"max_epochs": 6, "patience": 2, **settings}), tmp_path)
    assert (result["epochs"], result["best_epoch"], result["tied_epochs"]) == (epochs, best, tied)
    assert read_checkpoint(tmp_path / "best.ckpt")["graphdep"]["epoch"] == best


@pytest.mark.parametrize(
    ("accuracy", "settings", "there"),
    [
        ([0.5, 0.6, 0.7], {}, True),
        ([0.5, 0.7, 0.6], {}, False),
        ([0.5, 0.6, 0.7], {"warmup_steps": 1}, False),
    ],
)
def test_the_last_checkpoint_stays_where_more_epochs_go_on(
    tmp_path, monkeypatch, short, caplog, accuracy, settings, there
):
    monkeypatch.undo()  # a fixture keeps it for other tests
    Epochs(monkeypatch, accuracy=[*accuracy, 0.8])
    short = short.replace(max_epochs=3, **settings)
    train(short, tmp_path)
    assert (tmp_path / "last.ckpt").exists() == there
    assert train(short, tmp_path, resume=True)["epochs"] == 3
    if not settings:
        assert train(short.replace(max_epochs=4), tmp_path, resume=True)["epochs"] == 4
        assert ("no last.ckpt to resume from" in caplog.text) != there
        assert (tmp_path / "previous").exists() != there


def test_only_validated_epochs_can_be_the_best(tmp_path, monkeypatch, short, capsys):
    Epochs(monkeypatch, accuracy=[0.9, 0.5, 0.9, 0.6, 0.9, 0.6, 0.9, 0.6])
    short = short.replace(max_epochs=8, val_every=2, patience=4)
    whole = train(short, tmp_path / "run")
    assert (whole["epochs"], whole["best_epoch"]) == (8, 4)
    lines = capsys.readouterr().err.splitlines()
    assert ["val_accuracy" in line for line in lines if "train_loss" in line] == [False, True] * 4
    assert sum(" val  best" in line for line in lines) == 2
    rows = read_metrics(tmp_path / "run" / METRICS)
    for name in ("val_loss", "val_seconds"):
        assert [row[name] is None for row in rows] == [True, False] * 4
    assert train(short.replace(patience=3), tmp_path / "less")["epochs"] == 8
    assert train(short.replace(patience=2), tmp_path / "least")["epochs"] == 6


FALLING = [3.0, 2.9, 2.8, 2.7, 2.6, 2.5, 2.4]


@pytest.mark.parametrize(
    ("scores", "losses", "ends"),
    [
        ([0.3, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2], FALLING, 3),  # scores fall
        ([0.0] * 7, FALLING, 7),  # no skill, but the loss falls
        ([0.01] + [0.0] * 6, FALLING, 7),  # the first epoch was noise
        ([0.0] * 7, [3.0] * 7, 3),  # the loss does not fall
        ([0.0] * 7, [3.0 * (1 - 0.9e-4) ** epoch for epoch in range(7)], 3),  # the loss falls too little
        ([0.0] * 7, [3.0 * (1 - 1.1e-4) ** epoch for epoch in range(7)], 7),
        ([0.0] * 7, [3.0, 2.9, 3.1, 2.95, 2.0, 1.0, 0.5], 4),  # a loss must be the lowest so far
        ([0.0, 0.1, 0.05, 0.0, 0.05, 0.2, 0.2], FALLING, 5),  # one epoch of no skill is not counted
    ],
)
def test_epochs_without_any_skill_do_not_count_while_the_loss_falls(scores, losses, ends):
    assert epochs_of(scores, losses, 0.0) == ends
    assert epochs_of(scores, losses, 0.0, None) == 7
    if 0.1 not in scores:  # without a floor all epochs count
        assert epochs_of(scores, losses, None) == 3


def epochs_of(scores, losses, floor: float | None, patience: int | None = 2, val_every: int = 1) -> int:
    """The number of epochs of a run with these scores and losses."""
    folder = Path("nothing is written")
    keeper = RunCheckpoint(folder, None, WORD_F1, patience, floor=lambda task: floor, val_every=val_every)
    trainer = SimpleNamespace(should_stop=False, save_checkpoint=lambda path: None, world_size=1)
    for epoch, (score, loss) in enumerate(zip(scores, losses)):
        trainer.current_epoch, trainer.callback_metrics = epoch, {"train_loss": loss}
        task = SimpleNamespace(val_scores={"val_f1": score}, val_outputs=())
        keeper.on_train_epoch_end(trainer, task)
        if trainer.should_stop:
            return epoch + 1
    return len(scores)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.0, 0.1]), st.sampled_from([-2, 1, 2, 3, 3, 3])),
        min_size=3,
        max_size=9,
    ),
    st.sampled_from([None, 0.0, 0.0, 0.1]),
    st.integers(1, 3),
    st.integers(1, 2),
)
def test_patience_counts_epochs_that_are_no_better_and_learn_nothing(epochs, floor, patience, val_every):
    """A loss falls if it is below the lowest so far by more than 1e-4; here it changes by about a third, two
    thirds or the whole of that.
    """
    scores, steps = zip(*epochs)
    losses = [3.0 * (1 - 0.34e-4) ** sum(steps[: n + 1]) for n in range(len(steps))]
    best, lowest, waited, ends = -math.inf, math.inf, 0, len(scores)
    for number in range(val_every - 1, len(scores), val_every):
        falls = lowest == math.inf or (lowest - losses[number]) / lowest > 1e-4
        better, learns = scores[number] > best, falls and scores[number] == floor
        waited = 0 if better else waited + val_every * (not learns)
        best, lowest = max(best, scores[number]), min(lowest, losses[number])
        if waited >= patience:
            ends = number + 1
            break
    assert epochs_of(scores, losses, floor, patience, val_every) == ends


def test_epochs_that_did_not_count_are_told_of():
    state = SimpleNamespace(config=SimpleNamespace(max_epochs=9))
    keeper = RunCheckpoint(Path("nothing is written"), state, WORD_F1, patience=2)
    keeper.best_epoch, keeper.epochs, keeper.waited = 1, 4, 2
    assert "val_f1 for 2 epochs; epochs at no skill do not count (--set" in why_early(keeper)


@pytest.fixture
def rare(tmp_path) -> TrainConfig:
    """Labels that are nearly all O, so that a model predicts only O for several epochs."""
    rows = [{"words": [f"w{n}", "x", "y", "z", "."], "labels": ["A", *"OOOO"]} for n in range(20)]
    path = tmp_path / "rare.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    own = {"task": "labels", "train": str(path), "root": str(tmp_path / "root"), "parser": "chain"}
    sizes = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "accelerator": "cpu"}
    return TrainConfig.of("transformer", **own, **sizes, max_epochs=6, patience=2, dropout=0.0)


SAID = "stopped early: no better val_f1 for 2 epochs (--set patience=none goes on)"


@pytest.mark.parametrize(("lr", "epochs", "stopped"), [(1e-3, 6, ""), (1e-30, 3, SAID)])
def test_a_small_corpus_is_not_given_up_while_it_learns_and_the_last_line_says_why(
    rare, tmp_path, lr, epochs, stopped
):
    out = io.StringIO()
    result = train(rare.replace(lr=lr), tmp_path / "run", console=Console(file=out, width=200))
    assert (result["epochs"], result["stopped"]) == (epochs, stopped)
    assert ("stopped early" in out.getvalue()) == bool(stopped)
    assert out.getvalue().splitlines()[-1].endswith(stopped)
    assert result["seconds_per_validation"] > 0
    assert out.getvalue().splitlines()[0].split("val_f1")[1].count(" s ") == 2  # training and validation


class Other(Callback):
    """Validates with other weights than those that are saved."""

    def on_validation_start(self, trainer, pl_module):
        self.kept = {name: x.clone() for name, x in pl_module.state_dict().items()}
        for parameter in pl_module.parameters():
            parameter.data.zero_()

    def on_validation_end(self, trainer, pl_module):
        pl_module.load_state_dict(self.kept)


@pytest.mark.parametrize("callbacks", [(), (Other(),)])
@pytest.mark.parametrize("how", [{"keep": "last"}, {"val_every": 2, "lr": 0.5}])
def test_scores_of_the_validation_split_are_those_of_the_weights_that_are_kept(
    tmp_path, short, callbacks, how
):
    result = train(short.replace(**{"max_epochs": 4, **how}), tmp_path, callbacks=callbacks)
    found = evaluate_own(tmp_path / "best.ckpt", "val")["metrics"]
    assert found == {name: value for name, value in result["metrics"].items() if name.startswith("val_")}


def test_a_loss_that_is_watched_is_another_run_and_must_be_scored(tmp_path, monkeypatch, short):
    assert short.replace(monitor="loss").digest() != short.digest()
    with pytest.raises(ValueError, match="'monitor' is for keep='best' .got 'loss'"):
        short.replace(monitor="loss", keep="last")
    with pytest.raises(ValueError, match="'val_every' .3. must divide 'max_epochs' .4."):
        short.replace(val_every=3, max_epochs=4)
    monkeypatch.setattr(SentenceTask, "score", lambda task, outputs, prefix: {f"{prefix}_accuracy": 0.5})
    with pytest.raises(ValueError, match="'monitor' cannot be 'loss': the task scores val_accuracy alone"):
        train(short.replace(monitor="loss"), tmp_path)


# Errors.


def test_ctrl_c_comes_through_and_can_be_pressed_again(tmp_path, monkeypatch, short):
    def step(self, batch, batch_idx):
        raise KeyboardInterrupt

    monkeypatch.setattr("graphdep.tasks.SentenceTask.training_step", step)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(short, tmp_path)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_loss_that_is_not_finite_stops_with_a_message(tmp_path, config):
    with pytest.raises(
        TrainingError, match=r"the loss became nan in epoch 1, batch \d: try a smaller learning rate"
    ):
        train(config.replace(lr=1e30, optimizer="sgd"), tmp_path)


def test_outputs_that_are_not_finite_are_never_the_best(tmp_path, short, monkeypatch):
    whole = SentenceTask.predict_step
    monkeypatch.setattr(
        SentenceTask, "predict_step", lambda *args: (whole(*args)[0] * torch.nan, whole(*args)[1])
    )
    with pytest.raises(TrainingError, match="outputs on the validation split are not finite in epoch 1"):
        train(short, tmp_path)
    assert not (tmp_path / "best.ckpt").exists()


def test_one_process_at_a_time_trains_in_a_folder(tmp_path, short, monkeypatch):
    with folder_lock(tmp_path), pytest.raises(ValueError, match="another process trains in this folder"):
        train(short, tmp_path)
    with folder_lock(tmp_path):  # the lock is released
        pass
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(run, "_train", lambda *args: pytest.fail("trained"))
    with pytest.raises(OSError, match="file"):  # raised before training
        train(short, tmp_path / "file" / "run")


def test_a_killed_process_leaves_no_lock(tmp_path):
    code = "import os, sys; from filelock import FileLock; FileLock(sys.argv[1]).acquire(); os._exit(9)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / ".lock")], check=False)
    assert (tmp_path / ".lock").exists()
    with folder_lock(tmp_path):
        assert run.is_locked(tmp_path)
    assert not run.is_locked(tmp_path)


def test_a_lock_that_is_a_link_is_refused_and_its_target_kept(tmp_path):
    target = tmp_path / "precious.txt"
    target.write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(target)
    with pytest.raises(ValueError, match="is a link, not the lock of a run"), folder_lock(tmp_path / "run"):
        pass
    assert target.read_text() == "precious"


# Results.


def test_result_is_plain_and_complete(whole):
    result = result_of(whole)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    keys = {"task", "model", "seed", "metrics", "epochs", "seconds_per_epoch", "parameters", "checkpoint"}
    assert keys <= result.keys()
    assert {"val_accuracy", "test_accuracy"} <= result["metrics"].keys()
    floors = {"val_accuracy", "test_accuracy"}
    assert result["floor"].keys() == floors | {f"{name}_bag_of_words" for name in floors}
    assert result["data"]["examples"] == {"train": 24, "val": 10, "test": 12}
    kept = read_checkpoint(whole)["graphdep"]["scores"]
    assert kept["val_accuracy"] == result["metrics"]["val_accuracy"]
    target, prediction, *_ = read_predictions(whole / "predictions.csv")
    assert len(target) == 12
    assert (target == prediction).mean() == result["metrics"]["test_accuracy"]


def test_evaluate_gives_what_training_reported(whole):
    result = result_of(whole)
    for split in ("val", "test"):
        again = evaluate_own(whole, split)
        assert again["metrics"] == {k: v for k, v in result["metrics"].items() if k.startswith(split)}
        assert again["parameters"] == result["parameters"]
    assert evaluate_own(whole, "train")["metrics"]["train_accuracy"] >= 0
    with pytest.raises(ValueError, match="'split' must be one of train, val, test .got 'test-mismatched'"):
        evaluate_own(whole, "test-mismatched")


def test_relatedness_has_its_metrics_and_floors(tmp_path, short):
    result = train(short.replace(task="sick-r"), tmp_path)
    for name in ("pearson", "spearman", "mse"):
        assert f"test_{name}" in result["metrics"]
    assert result["floor"]["val_pearson"] == 0.0
    assert result["floor"]["test_mse"] > 1


def test_mnli_has_another_test_split(tmp_path, tiny):
    settings = {**tiny, **write_tiny_glue(tmp_path / "glue"), "task": "mnli", "max_epochs": 1}
    (path,) = tmp_path.glob("glue/**/dev_mismatched.tsv")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:4]))  # else as dev_matched.tsv
    trained = train(TrainConfig.of("dt", **settings), tmp_path / "run")["checkpoint"]
    matched, mismatched = (evaluate_own(trained, split) for split in ("test", "test-mismatched"))
    assert mismatched["metrics"].keys() == {"test-mismatched_loss", "test-mismatched_accuracy"}
    assert mismatched["metrics"]["test-mismatched_loss"] != matched["metrics"]["test_loss"]
    with pytest.raises(ValueError, match="one of train, val, test, test-mismatched .got 'dev-mismatched'"):
        evaluate_own(trained, "dev-mismatched")
    settings["val_from"] = "dev"  # then the test files have no labels
    trained = train(TrainConfig.of("dt", **settings), tmp_path / "dev")["checkpoint"]
    with pytest.raises(ValueError, match="its settings have no split 'test-mismatched'"):
        evaluate_own(trained, "test-mismatched")


@pytest.mark.parametrize("fits", [False, True])
def test_the_best_checkpoint_is_loaded_once(tmp_path, monkeypatch, short, fits):
    read, read_archive = [], checkpoint._read_archive
    monkeypatch.setattr(
        checkpoint, "_read_archive", lambda path: read.append(path.name) or read_archive(path)
    )
    if fits:
        own = {"max_epochs": 1, "hidden_channels": 8, "ff_channels": 8, "heads": 2, "num_layers": 1}
        model = SequenceClassifier(
            "transformer", model="dt", parser="chain", device="cpu", validation_fraction=0.5, **own
        )
        model.fit(["good film", "bad film"] * 4, ["x", "y"] * 4)
        assert model._predictor.task._trainer is None  # a trainer would keep the data in memory
    else:
        train(short, tmp_path)
    assert read == ["best.ckpt"]


def test_limit_train_takes_the_first_pairs(config):
    splits = load_splits(config.replace(limit_train=5))
    assert [len(splits[split]) for split in ("train", "val", "test")] == [5, 10, 12]


@pytest.mark.parametrize("every", [False, True])
def test_word_vectors_are_rebuilt_with_the_checkpoint_and_those_of_all_splits_may_be_kept(
    tmp_path, short, every
):
    words = load_splits(short).vocab.state_dict()["words"] if every else ["ann"]
    (tmp_path / "glove.txt").write_text("".join(f"{word} 1 0 0\n" for word in words))
    short = short.replace(vectors=str(tmp_path / "glove.txt"), limit_train=2)
    assert load_splits(short).describe()["unknown_words"]["test"] > 0
    result = train(short.replace(vocab_from="vectors") if every else short, tmp_path / "run")
    assert result["vectors_found"] > 0
    assert (result["data"]["unknown_words"]["test"] == 0) == every
    (tmp_path / "glove.txt").unlink()  # the checkpoint has the vocabulary
    again = evaluate_own(result["checkpoint"], "test")["metrics"]
    assert again["test_accuracy"] == result["metrics"]["test_accuracy"]
    with pytest.raises(ValueError, match="'vocab_from' cannot be 'vectors' without a file of 'vectors'"):
        short.replace(vocab_from="vectors", vectors=None)


def test_precision_auto_is_what_it_became(tmp_path, monkeypatch, short, capsys):
    monkeypatch.setattr("graphdep.training.build.gain_of_bf16", lambda *sizes: 2.0)
    monkeypatch.setattr("graphdep.training.build._LEAST_CHANNELS", 1)
    splits = load_splits(short)
    auto, bf16 = short.replace(precision="auto"), short.replace(precision="bf16-mixed")
    assert run.run_folder(auto, splits, "runs") == run.run_folder(bf16, splits, "runs")
    assert run.run_folder(auto, splits, "runs") != run.run_folder(short, splits, "runs")
    result = train(auto, tmp_path, splits=splits)
    assert result["config"]["precision"] == "bf16-mixed"
    assert "precision=bf16-mixed (auto)\n" in capsys.readouterr().err
    assert train(bf16, tmp_path, splits=splits, resume=True) == result


class Seen(Callback):
    """Records the number of examples of each epoch, and the learning rate after each update."""

    def __init__(self):
        self.epochs, self.rates = [], []

    def on_train_epoch_start(self, trainer, pl_module):
        self.epochs.append(0)

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.epochs[-1] += batch.num_graphs
        self.rates.append(trainer.optimizers[0].param_groups[0]["lr"])


def test_batches_by_tokens_drop_no_example_in_any_epoch(tmp_path):
    """Epochs have different numbers of batches; the learning rate is 0 after the last batch."""
    texts = tmp_path / "texts.csv"
    rows = [f"{'fine ' * (1 + number % 9)}film,{'ab'[number % 2]}\n" for number in range(60)]
    texts.write_text("text,label\n" + "".join(rows), encoding="utf-8")
    own = {"train": str(texts), "text_columns": "text", "label_column": "label", "parser": "chain"}
    sizes = {"hidden_channels": 4, "num_layers": 1, "accelerator": "cpu"}
    more = {"batch_tokens": 29, "max_epochs": 6, "warmup_steps": 2, "root": str(tmp_path / "data")}
    config = TrainConfig.of("word-average", task="csv", **own, **sizes, **more)
    splits, seen = load_splits(config), Seen()
    count = splits.loader("train", config, shuffle=True).batch_sampler.count
    batches = [count(epochs + 1) - count(epochs) for epochs in range(6)]
    assert max(batches[1:]) > batches[0]  # otherwise this tests nothing
    train(config, tmp_path / "run", splits=splits, callbacks=[seen])
    assert seen.epochs == [len(splits["train"])] * 6
    assert len(seen.rates) == sum(batches)
    assert seen.rates[-1] == 0 < min(seen.rates[:-1])


# Runs in the folder of another run.


def test_a_finished_run_is_not_repeated_but_may_go_on(copied, tmp_path, config):
    first = result_of(copied)
    assert train(config, copied, resume=True) == first | {"checkpoint": str(copied / "best.ckpt")}
    assert train(config.replace(max_epochs=5), copied, resume=True, log_every=2)["epochs"] == 5
    train(config.replace(max_epochs=5), tmp_path / "new", log_every=2)
    assert_same(copied, tmp_path / "new")


def test_resuming_with_other_settings_or_data_is_refused(copied, config):
    for name in ("result.json", ""):  # with the result, then only with the checkpoint
        with pytest.raises(ValueError, match=r"another run, which cannot be resumed: lr: 0.5 != 0.05"):
            train(config.replace(lr=0.5), copied, resume=True)
        with pytest.raises(ValueError, match="limit_train: 8 != None; the data"):
            train(config.replace(limit_train=8), copied, resume=True)
        (copied / name).unlink() if name else None


@pytest.mark.curves
def test_what_a_kill_after_the_last_epoch_or_a_damage_has_cost_is_made_again(copied, config):
    first, names = result_of(copied), {path.name for path in copied.iterdir()}
    for damaged in (first | {"metrics": None}, None):
        (copied / "result.json").write_text(json.dumps(damaged))
        if damaged is None:
            for name in ("result.json", "predictions.csv", "curves.png"):
                (copied / name).unlink()
        assert train(config, copied, resume=True)["metrics"] == first["metrics"]
        assert result_of(copied)["metrics"] == first["metrics"]
        assert {path.name for path in copied.iterdir()} == names
    assert (copied / "curves.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("resume", [True, False])
def test_a_kill_before_the_first_checkpoint_leaves_nothing(whole, tmp_path, short, resume):
    """No folder is set aside, and half-written files are removed."""
    (tmp_path / "metrics.csv").write_text("epoch,step,lr,train_loss\n1,3,0.1,0.5\n")  # before the checkpoint
    half = (".last.ckpt.abcdefgh.ckpt", ".best.ckpt.12345678.ckpt", ".result.json.a_b_c_d_.json")
    for name in ("run.yaml", *half):
        (tmp_path / name).write_bytes(RUN_HEAD.encode() if name == "run.yaml" else b"half")
    train(short, tmp_path, resume=resume)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in whole.iterdir()} - {STEPS}


def test_a_new_run_that_fails_does_not_cost_the_old_one(copied, config):
    first = result_of(copied)
    for _ in range(2):  # nor do two that fail
        with pytest.raises(TrainingError):
            train(config.replace(lr=1e30), copied)
        assert result_of(copied / "previous")["metrics"] == first["metrics"]
        assert (copied / "previous" / "best.ckpt").exists()


@pytest.mark.parametrize("left", [("best.ckpt",), ("best.ckpt", "result.json", "predictions.csv")])
def test_resuming_without_a_last_checkpoint_does_not_cost_the_best_one(copied, config, caplog, left):
    for path in copied.glob("*.*"):
        if path.name not in left:
            path.unlink()
    best = (copied / "best.ckpt").read_bytes()
    train(config.replace(max_epochs=5) if len(left) > 1 else config.replace(lr=0.5), copied, resume=True)
    assert (copied / "previous" / "best.ckpt").read_bytes() == best
    assert (copied / "best.ckpt").read_bytes() != best
    why = " (train keeps it after a run only if the last epoch was the best, ablate never)" * (len(left) > 1)
    assert (
        f"no last.ckpt to resume from, a new run starts{why}; moved to {copied / 'previous'}: " in caplog.text
    )
    assert all(name in caplog.text for name in left)


@pytest.mark.parametrize("finished", [True, False])
def test_a_best_checkpoint_of_another_run_or_half_of_one_is_refused(copied, other, config, finished):
    best = copied / "best.ckpt"
    if not finished:
        (copied / "result.json").unlink()
        shutil.copy(other / "best.ckpt", best)
        with pytest.raises(ValueError, match="another run, which cannot be resumed: seed: 0 != 7"):
            train(config, copied, resume=True)
    best.write_bytes(best.read_bytes()[: best.stat().st_size // 2])
    with pytest.raises(ValueError, match=r"best.ckpt.*delete last.ckpt and result.json beside it"):
        train(config, copied, resume=True)


def test_a_last_checkpoint_without_its_epoch_is_refused(copied, config):
    (copied / "result.json").unlink()
    last = torch.load(copied / "last.ckpt", weights_only=True)
    last["graphdep"]["epoch"] = [1]
    torch.save(last, copied / "last.ckpt")
    with pytest.raises(ValueError, match=r"last.ckpt: damaged checkpoint .*; delete it to train this run"):
        train(config, copied, resume=True)


def test_a_finished_run_and_values_of_many_epochs_are_set_aside_and_told_of(copied, short, caplog, tmp_path):
    train(short, copied)
    assert f"the finished run is moved to {copied / 'previous'}; resume" in caplog.text
    assert (copied / "previous" / "result.json").exists()
    (tmp_path / "metrics.csv").write_text("epoch,step\n1,3\n2,6\n")
    train(short, tmp_path)
    assert (tmp_path / "previous" / "metrics.csv").read_text() == "epoch,step\n1,3\n2,6\n"


# Values of epochs and steps, loggers, callbacks.


def test_every_epoch_is_a_line(whole, config):
    rows, result = read_metrics(whole / METRICS), result_of(whole)
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]
    assert [row["step"] for row in rows] == [3, 6, 9, 12]
    assert {row["lr"] for row in rows} == {config.lr}
    best = rows[result["best_epoch"] - 1]
    scores = {name: value for name, value in result["metrics"].items() if name.startswith("val_")}
    assert {name: best[name] for name in scores} == pytest.approx(scores)
    assert all(row["seconds"] > 0 and row["val_seconds"] > 0 for row in rows)
    with (whole / METRICS).open(newline="") as file:
        header = next(csv.reader(file))
    assert header[:4] == ["epoch", "step", "lr", "train_loss"]
    assert header[-2:] == ["seconds", "val_seconds"]
    steps = read_metrics(whole / STEPS)
    assert [(row["step"], row["epoch"]) for row in steps] == [*zip((2, 4, 6, 8, 10, 12), (1, 2, 2, 3, 4, 4))]
    assert all(row["train_loss"] > 0 for row in steps)


@pytest.mark.parametrize("wrong", [0, 1.5, True, "2", 10**9])
def test_log_every_is_a_whole_number(tmp_path, wrong):
    with pytest.raises(ValueError, match=r"'log_every' must be"):
        MetricsFile(tmp_path, None, wrong)


def test_numbers_are_read_back_exactly(tmp_path):
    rows = [{"epoch": 1, "step": 3, "train_loss": 0.1 + 0.2}, {"epoch": 2, "step": 6, "seconds": 1e-17}]
    write_metrics(tmp_path / METRICS, rows)
    read = read_metrics(tmp_path / METRICS)
    assert read[0] == {**rows[0], "seconds": None}
    assert read[1] == {**rows[1], "train_loss": None}
    for content, message in (
        (b"epoch,step\n1,x\n", r"metrics.csv:2: not numbers"),
        (b"epoch\n\xff\n", r"metrics.csv:2: not numbers"),
        (b"epo\xffch\n1\n", r"metrics.csv:1: not UTF-8"),
    ):
        (tmp_path / METRICS).write_bytes(content)
        with pytest.raises(ValueError, match=message):
            read_metrics(tmp_path / METRICS)


class Told(Logger):
    """Records what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[dict[str, float], int]] = []

    name = version = "told"

    def log_hyperparams(self, params, *args, **kwargs) -> None: ...

    def log_metrics(self, metrics, step=None) -> None:
        self.told.append((dict(metrics), step))


def test_a_logger_and_callbacks_get_the_values_of_epochs_and_of_steps_where_asked(tmp_path, short):
    class Losses(Callback):
        def on_validation_end(self, trainer, pl_module):
            seen.append(float(trainer.callback_metrics["val_loss"]))

    logger, seen, short = Told(), [], short.replace(max_epochs=4, limit_train=16)
    stop = EarlyStopping("val_loss", patience=0, mode="max")
    own = {"callbacks": [Losses(), stop], "logger": logger, "log_every": 1}
    assert train(short, tmp_path / "a", **own)["epochs"] < 4
    rows = read_metrics(tmp_path / "a" / METRICS)
    losses = [told["val_loss"] for told, _ in logger.told if "val_loss" in told]
    assert losses == seen == pytest.approx([row["val_loss"] for row in rows])
    steps = [step for told, step in logger.told if "train_loss_step" in told]
    assert steps == list(range(1, rows[-1]["step"] + 1))
    logger = Told()
    train(short.replace(max_epochs=1), tmp_path / "b", logger=logger)
    assert not any("train_loss_step" in told for told, _ in logger.told)


@pytest.mark.parametrize("name", [name for name in LOGGERS if name != "none"])
def test_a_missing_package_is_told_of_before_the_work(tmp_path, short, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=f"the logger '{name}' needs its package: pip install {name}"):
        train(short, tmp_path, logger=name)
    assert not (tmp_path / "last.ckpt").exists()
    check_logger("none")
    with pytest.raises(ValueError, match="'logger' must be one of none, tensorboard, wandb"):
        train(short, tmp_path, logger="paper")


def test_tensorboard(tmp_path, short):
    pytest.importorskip("tensorboard")
    train(short, tmp_path, logger="tensorboard", log_every=1)
    assert list((tmp_path / "tensorboard").glob("events.out.tfevents.*"))


def test_progress_goes_to_stderr_or_to_bars_alone(tmp_path, short, capsys):
    train(short, tmp_path / "a")
    out, err = capsys.readouterr()
    assert out == ""
    assert "epoch   1/1" in err
    shown = io.StringIO()
    train(short, tmp_path / "b", console=Console(file=shown, force_terminal=True, width=100))
    for what in ("epoch 1/1", "validation", "scoring test"):
        assert what in shown.getvalue()
    assert "scoring val" not in shown.getvalue()  # val is scored in validation
