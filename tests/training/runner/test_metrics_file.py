from __future__ import annotations

import csv

import lightning as L
import pytest

from graphdep.training import TrainConfig, train
from graphdep.training.checkpoint import RunCheckpoint
from graphdep.training.trainer import METRICS, STEPS, read_metrics, write_metrics


class Stop(Exception):
    pass


@pytest.fixture
def config(tiny):
    return TrainConfig.of("dt", **{**tiny, "max_epochs": 4, "dropout": 0.3})


def without_seconds(path):
    return [{k: v for k, v in row.items() if "seconds" not in k} for row in read_metrics(path)]


@pytest.mark.curves
def test_every_epoch_is_a_line(tmp_path, config):
    result = train(config, tmp_path)
    rows = read_metrics(tmp_path / METRICS)
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]
    steps = -(-result["data"]["examples"]["train"] // config.batch_size)
    assert [row["step"] for row in rows] == [steps * n for n in (1, 2, 3, 4)]
    assert {row["lr"] for row in rows} == {config.lr}
    best = rows[result["best_epoch"] - 1]
    scores = {name: value for name, value in result["metrics"].items() if name.startswith("val_")}
    assert {name: best[name] for name in scores} == pytest.approx(scores)
    assert all(row["seconds"] > 0 and row["val_seconds"] > 0 for row in rows)
    with (tmp_path / METRICS).open(newline="") as file:
        header = next(csv.reader(file))
    assert header[:4] == ["epoch", "step", "lr", "train_loss"]
    assert header[-2:] == ["seconds", "val_seconds"]
    assert not (tmp_path / STEPS).exists()
    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_epochs_without_a_validation_have_empty_cells(tmp_path, config):
    train(config.replace(val_every=2), tmp_path)
    rows = read_metrics(tmp_path / METRICS)
    assert [row["val_loss"] is None for row in rows] == [True, False, True, False]
    assert [row["val_seconds"] is None for row in rows] == [True, False, True, False]


@pytest.mark.parametrize("val_every", [1, 2])
def test_a_run_that_goes_on_has_the_values_of_an_uninterrupted_one(tmp_path, monkeypatch, config, val_every):
    config = config.replace(val_every=val_every)
    train(config, tmp_path / "whole", log_every=2)
    end = RunCheckpoint.on_train_epoch_end

    def stop(self, trainer, pl_module):
        if trainer.current_epoch == 2:  # its line is written, and its checkpoint not
            raise Stop
        end(self, trainer, pl_module)

    monkeypatch.setattr(RunCheckpoint, "on_train_epoch_end", stop)
    with pytest.raises(Stop):
        train(config, tmp_path / "parts", log_every=2)
    assert len(read_metrics(tmp_path / "parts" / METRICS)) == 3
    monkeypatch.undo()
    train(config, tmp_path / "parts", resume=True, log_every=2)
    for name in (METRICS, STEPS):
        assert without_seconds(tmp_path / "parts" / name) == without_seconds(tmp_path / "whole" / name)


def test_steps_where_they_are_asked_for(tmp_path, config):
    train(config.replace(warmup_steps=2, optimizer="adam", max_epochs=2), tmp_path, log_every=2)
    rows = read_metrics(tmp_path / STEPS)
    assert [row["step"] for row in rows] == [2, 4, 6]
    assert [row["epoch"] for row in rows] == [1, 2, 2]
    assert len({row["lr"] for row in rows}) == 3
    assert all(row["train_loss"] > 0 for row in rows)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "2", 10**9])
def test_log_every_is_a_whole_number(tmp_path, config, wrong):
    with pytest.raises(ValueError, match=r"'log_every' must be"):
        train(config, tmp_path, log_every=wrong)


def test_numbers_are_read_back_exactly(tmp_path):
    rows = [{"epoch": 1, "step": 3, "train_loss": 0.1 + 0.2}, {"epoch": 2, "step": 6, "seconds": 1e-17}]
    write_metrics(tmp_path / METRICS, rows)
    read = read_metrics(tmp_path / METRICS)
    assert read[0] == {**rows[0], "seconds": None}
    assert read[1] == {**rows[1], "train_loss": None}
    (tmp_path / METRICS).write_text("epoch,step\n1,x\n")
    with pytest.raises(ValueError, match=r"metrics.csv:2: not numbers"):
        read_metrics(tmp_path / METRICS)
    (tmp_path / METRICS).write_bytes(b"epoch\n\xff\n")
    with pytest.raises(ValueError, match=r"metrics.csv:2: not numbers"):
        read_metrics(tmp_path / METRICS)
    (tmp_path / METRICS).write_bytes(b"epo\xffch\n1\n")
    with pytest.raises(ValueError, match=r"metrics.csv:1: not UTF-8"):
        read_metrics(tmp_path / METRICS)


class Seen(L.Callback):
    """What a callback of one's own sees."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def on_validation_end(self, trainer, pl_module):
        self.losses.append(float(trainer.callback_metrics["val_loss"]))


def test_callbacks_of_one_s_own(tmp_path, config):
    seen, stop = Seen(), L.pytorch.callbacks.EarlyStopping("val_loss", patience=0, mode="max")
    train(config, tmp_path / "a", callbacks=[seen])
    assert seen.losses == pytest.approx([row["val_loss"] for row in read_metrics(tmp_path / "a" / METRICS)])
    result = train(config, tmp_path / "b", callbacks=[stop])
    assert result["epochs"] < 4
