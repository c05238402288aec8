"""Training with filled batches in static memory learns as training without them does."""

from __future__ import annotations

import pytest
import torch

from graphdep.training import TrainConfig, load_splits
from graphdep.training.build import Parts
from graphdep.training.family import build_task
from graphdep.training.filling import task_filler
from graphdep.training.trainer import make_trainer, quiet
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


@pytest.mark.parametrize("task", TASKS)
def test_filled_batches_train_the_same_model(task):
    model, own = TASKS[task]
    settings = {**SIZES, "batch_size": 8, "max_epochs": 2, "dropout": 0.0, "accelerator": "cpu", "lr": 1e-3}
    known = TrainConfig.of(model, task=task).to_dict()
    settings = {name: value for name, value in settings.items() if name in known}
    config = TrainConfig.of(model, task=task, **settings, **own)
    splits = load_splits(config, ("train", "val"))
    labels = splits.labels() if "y" in splits["train"]._data else None
    found = []
    for fill in (False, True):
        torch.manual_seed(0)
        parts = Parts(len(splits.vocab), len(splits.relations), num_classes=labels and len(labels))
        module = build_task(config, parts)
        module.filler = task_filler(module, splits, config) if fill else None
        loaders = (splits.loader(name, config, module.edges) for name in ("train", "val"))
        with quiet():
            trainer = make_trainer(config)
            trainer.fit(module, *loaders)
        found.append([float(trainer.callback_metrics[name]) for name in ("train_loss", "val_loss")])
    assert module._step.num_sizes >= 1
    assert module._forward.num_sizes >= 1
    assert found[0] == pytest.approx(found[1], rel=1e-5)
