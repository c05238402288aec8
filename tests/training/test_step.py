"""A training step, and the sums of its losses."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.callbacks import Callback
from torch import nn

from graphdep.nn.graphed_step import TrainingStep
from graphdep.tasks import ENTAILMENT, SentenceTask
from graphdep.training import TrainConfig, load_splits, train
from graphdep.training.checkpoint import read_checkpoint
from graphdep.training.learning_task import TrainingError
from graphdep.training.losses import LossSums
from graphdep.training.trainer import read_metrics
from graphdep.transforms import resolve


def test_losses_are_means_over_the_items_of_all_batches():
    losses = LossSums()
    assert losses.read() == {}
    for name, loss, weight in (("a", 1.0, 3), ("b", 5.0, 2), ("a", 2.0, torch.tensor(1)), ("c", 1.0, 0)):
        losses.add(name, torch.tensor(loss, requires_grad=True), weight)
    assert losses.read() == {"a": 1.25, "b": 5.0, "c": 0.0}
    memory = [part.data_ptr() for pair in losses.sums.values() for part in pair]
    losses.reset()
    losses.add("a", torch.tensor(7.0, dtype=torch.bfloat16), 2)
    assert losses.read() == {"a": 7.0, "b": 0.0, "c": 0.0}
    assert memory == [part.data_ptr() for pair in losses.sums.values() for part in pair]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_an_epoch_knows_its_first_loss_that_is_not_finite(bad):
    task = SentenceTask(nn.Linear(1, 1), resolve("dt"), ENTAILMENT)
    task._trainer = SimpleNamespace(current_epoch=4)
    for loss in (1.0, 1.0, bad, 1.0, -bad):
        task.losses.add("train_loss", torch.tensor(loss), 2)
        task.losses.watch("train_loss")
    with pytest.raises(TrainingError, match="the loss was not finite in epoch 5, batch 3: try a smaller"):
        task._log_losses()
    task.losses.reset()
    assert task.losses.finite == 0


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("clip", [None, 0.1])
def test_a_step_is_gradients_clipping_and_an_update(clip, scaled):
    torch.manual_seed(0)
    x, weights = torch.randn(5, 4, 3), torch.randn(3)
    mine, slow = nn.Parameter(weights.clone()), nn.Parameter(weights.clone())
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10) if scaled else None
    optimizer = torch.optim.AdamW([mine], lr=0.1, fused=True)
    step = TrainingStep(lambda x: (x @ mine).square().mean(), optimizer, clip=clip, scaler=scaler)
    plain = torch.optim.AdamW([slow], lr=0.1, fused=True)
    for batch in x:
        plain.zero_grad()
        loss = (batch @ slow).square().mean()
        loss.backward()
        if clip is not None:
            slow.grad *= min(1.0, clip / (slow.grad.norm() + 1e-6))
        plain.step()
        found = step(batch)
        assert not found.requires_grad
        torch.testing.assert_close(found, loss.detach())
    torch.testing.assert_close(mine, slow)


def test_autocast_is_of_the_forward_pass_alone():
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(torch.is_autocast_enabled("cpu"))
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            seen.append(torch.is_autocast_enabled("cpu"))
            return 2 * grad

    weight = nn.Parameter(torch.ones(1))
    step = TrainingStep(lambda _: Double.apply(weight).sum(), torch.optim.SGD([weight], lr=0.1))
    with torch.autocast("cpu", torch.bfloat16):
        step(None)
    assert seen == [True, False]


class Watches(Callback):
    """Records the hooks of a step, which Lightning's own loop also calls."""

    def __init__(self):
        self.seen = []

    def on_before_zero_grad(self, trainer, pl_module, optimizer):
        self.seen.append("zero")

    def on_before_backward(self, trainer, pl_module, loss):
        self.seen.append("backward")

    def on_after_backward(self, trainer, pl_module):
        self.seen.append("gradients")

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        self.seen.append("update")
        norm = torch.cat([p.grad.view(-1) for p in pl_module.parameters() if p.grad is not None]).norm()
        assert norm > pl_module.clip  # before clipping

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.seen.append(trainer.global_step)


def config_of(**settings):
    small = {"hidden_channels": 4, "ff_channels": 4, "heads": 1, "num_layers": 1, "max_epochs": 1}
    given = {"task": "sick-e", "root": "datasets/mini", "parser": "chain", "accelerator": "cpu"}
    return TrainConfig.of("dt", **given, **small | {"limit_train": 8, "batch_size": 4} | settings)


class Stops(Callback):
    """Ends a run after three batches."""

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        trainer.should_stop = trainer.global_step == 3


def test_an_epoch_that_is_cut_short_has_a_loss_of_its_own(tmp_path):
    config = config_of(max_epochs=3)
    train(config, tmp_path, callbacks=[Stops()], log_every=1)
    steps, epochs = (read_metrics(tmp_path / name) for name in ("steps.csv", "metrics.csv"))
    assert [row["step"] for row in epochs] == [2, 3]
    assert epochs[1]["train_loss"] == steps[2]["train_loss"]


def test_an_epoch_of_one_batch_runs(tmp_path):
    config = config_of(batch_size=8)
    for folder, epochs in (("whole", (2,)), ("part", (1, 2))):
        for most in epochs:
            train(config.replace(max_epochs=most), tmp_path / folder, resume=most > min(epochs))
    whole, part = (read_metrics(tmp_path / folder / "metrics.csv") for folder in ("whole", "part"))
    assert [row["train_loss"] for row in whole] == [row["train_loss"] for row in part]
    assert [row["step"] for row in part] == [1, 2]


@pytest.mark.usefixtures("last_stays")
def test_callbacks_see_every_part_of_a_step_and_change_nothing(tmp_path):
    config = config_of(clip=1e-3, warmup_steps=1)
    splits, watches = load_splits(config), Watches()
    for folder, callbacks in (("plain", []), ("watched", [watches])):
        train(config, tmp_path / folder, splits=splits, callbacks=callbacks)
    step = ["zero", "backward", "gradients", "update"]
    assert watches.seen == [*step, 1, *step, 2]
    plain, watched = (read_checkpoint(tmp_path / f / "last.ckpt") for f in ("plain", "watched"))
    assert plain["global_step"] == watched["global_step"] == 2
    for key, weight in plain["state_dict"].items():
        assert torch.equal(weight, watched["state_dict"][key])
