"""Training with filled batches in static memory learns as training without them does."""

from __future__ import annotations

import lightning as L
import pytest

from graphdep.training import TrainConfig, load_splits, train
from graphdep.training.filling import task_filler
from graphdep.training.trainer import METRICS, read_metrics
from tests.kit.runs import SIZES

MINI = {"root": "datasets/mini", "parser": "chain", "limit_train": 40}
# Every family whose examples can fill batches: task, model and settings.
TASKS = {
    "sick-e": ("dt", MINI),
    "sick-r": ("dt", MINI),
    "sst": ("transformer", MINI),
    "mrpc": ("dt@chain", MINI),
    "dailydialog": ("transformer-dra", MINI),
}


class Fills(L.Callback):
    """Has batches filled and held in static memory, on the CPU too."""

    def __init__(self, splits, config):
        self.splits, self.config = splits, config

    def on_fit_start(self, trainer, pl_module):
        pl_module.filler = task_filler(pl_module, self.splits, self.config)

    def on_train_end(self, trainer, pl_module):
        self.num_sizes = pl_module._step.num_sizes


@pytest.mark.parametrize("task", TASKS)
def test_filled_batches_train_the_same_model(task, tmp_path):
    model, own = TASKS[task]
    settings = {**SIZES, "batch_size": 8, "max_epochs": 2, "dropout": 0.0, "accelerator": "cpu", "lr": 1e-3}
    known = TrainConfig.of(model, task=task).to_dict()
    settings = {name: value for name, value in settings.items() if name in known}
    config = TrainConfig.of(model, task=task, **settings, **own)
    splits = load_splits(config)
    fills = Fills(splits, config)
    for name, callbacks in (("plain", []), ("filled", [fills])):
        train(config, tmp_path / name, splits=splits, callbacks=callbacks)
    assert fills.num_sizes >= 1
    rows = [read_metrics(tmp_path / name / METRICS) for name in ("plain", "filled")]
    for one, other in zip(*rows, strict=True):
        for name in ("train_loss", "val_loss"):
            assert one[name] == pytest.approx(other[name], rel=1e-3)
