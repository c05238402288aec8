from __future__ import annotations

import importlib.util

import pytest
from lightning.pytorch.loggers import Logger

from graphdep.io.limits import LOGGERS, check_logger
from graphdep.training import TrainConfig, train
from graphdep.training.trainer import METRICS, read_metrics


class Told(Logger):
    """A logger that remembers."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[dict[str, float], int]] = []

    name = version = "told"

    def log_hyperparams(self, params, *args, **kwargs) -> None: ...

    def log_metrics(self, metrics, step=None) -> None:
        self.told.append((dict(metrics), step))


@pytest.fixture
def config(tiny):
    return TrainConfig.of("dt", **{**tiny, "max_epochs": 2})


def test_a_logger_gets_the_values_of_epochs_and_of_steps_where_asked(tmp_path, config):
    logger = Told()
    result = train(config, tmp_path / "a", logger=logger)
    rows = read_metrics(tmp_path / "a" / METRICS)
    losses = [told["val_loss"] for told, _ in logger.told if "val_loss" in told]
    assert losses == pytest.approx([row["val_loss"] for row in rows])
    assert not any("train_loss_step" in told for told, _ in logger.told)
    logger = Told()
    again = train(config, tmp_path / "b", logger=logger, log_every=1)
    steps = [step for told, step in logger.told if "train_loss_step" in told]
    assert steps == list(range(1, rows[-1]["step"] + 1))
    assert result["metrics"] == again["metrics"]


@pytest.mark.parametrize("name", [name for name in LOGGERS if name != "none"])
def test_a_missing_package_is_told_of_before_the_work(tmp_path, config, monkeypatch, name):
    real = importlib.util.find_spec
    monkeypatch.setattr("graphdep.io.limits.find_spec", lambda other: None if other == name else real(other))
    with pytest.raises(ImportError, match=f"the logger '{name}' needs its package: pip install {name}"):
        train(config, tmp_path, logger=name)
    assert not (tmp_path / "last.ckpt").exists()


def test_names(tmp_path, config):
    check_logger("none")
    with pytest.raises(ValueError, match="'logger' must be one of none, tensorboard, wandb"):
        train(config, tmp_path, logger="paper")


def test_tensorboard(tmp_path, config):
    pytest.importorskip("tensorboard")
    train(config, tmp_path, logger="tensorboard", log_every=1)
    assert list((tmp_path / "tensorboard").glob("events.out.tfevents.*"))
