from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.data.data import BaseData

from graphdep import Sentence, to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.attention import layout as layout_module
from graphdep.tasks import ENTAILMENT, SentenceTask
from graphdep.training.learning_task import LearningTask, LinearSchedule
from graphdep.training.splits import epoch_seed
from graphdep.transforms import resolve


def test_the_learning_rate_rises_and_falls_linearly():
    schedule = LinearSchedule(warmup_steps=4, total_steps=10)
    assert [schedule(step) for step in range(4)] == [0.25, 0.5, 0.75, 1.0]
    assert [schedule(step) for step in (4, 5, 7, 9)] == pytest.approx([1.0, 5 / 6, 0.5, 1 / 6])
    assert schedule(10) == schedule(11) == 0.0


def test_a_warm_up_longer_than_the_training_only_rises():
    schedule = LinearSchedule(warmup_steps=100, total_steps=10)
    assert [schedule(step) for step in range(10)] == pytest.approx([0.01 * k for k in range(1, 11)])


def test_epoch_seeds_do_not_repeat():
    seeds = {epoch_seed(seed, epoch) for seed in range(5) for epoch in range(20)}
    assert len(seeds) == 100
    assert epoch_seed(1, 3) == epoch_seed(1, 3)


def test_each_epoch_and_process_has_a_dropout_of_its_own_which_repeats():
    task = SentenceTask(torch.nn.Linear(1, 1), resolve("dt"), ENTAILMENT, seed=3)

    def dropped(epoch: int, rank: int) -> tuple[float, ...]:
        task._trainer = SimpleNamespace(current_epoch=epoch, global_rank=rank)
        task.on_train_epoch_start()
        return tuple(torch.nn.functional.dropout(torch.ones(64)).tolist())

    masks = {(epoch, rank): dropped(epoch, rank) for epoch in range(3) for rank in range(2)}
    assert len(set(masks.values())) == 6
    assert masks == {key: dropped(*key) for key in reversed(masks)}


def test_a_batch_goes_to_a_gpu_with_its_tiles_from_pinned_memory(monkeypatch: pytest.MonkeyPatch):
    """Nothing of it waits for the GPU. Here it goes to ``meta``, which keeps shapes and no values."""
    monkeypatch.setattr(layout_module, "missing", lambda device: None)
    monkeypatch.setattr(LearningTask, "device", torch.device("cuda"))
    task = SentenceTask(torch.nn.Linear(1, 1), resolve("dt", implicit=True), ENTAILMENT)
    pair = to_data([Sentence.chain(["She", "sings"]), Sentence.chain(["You", "do"])])
    batch = task.on_before_batch_transfer(Batch.from_data_list([pair, pair]), 0)
    assert "tiles_with_terms" in vars(batch.edge_layout)
    seen = []
    monkeypatch.setattr(BaseData, "pin_memory", lambda self: seen.append("pinned") or self)
    to = BaseData.to

    def move(self, device, *, non_blocking=False):
        seen.append((device.type, non_blocking))
        return to(self, "meta", non_blocking=non_blocking)

    monkeypatch.setattr(BaseData, "to", move)
    moved = task.transfer_batch_to_device(batch, torch.device("cuda"), 0)
    assert seen == ["pinned", ("cuda", True)]
    layout = AttentionLayout.of(moved)
    assert layout is moved.edge_layout
    assert {x.device.type for x in layout.ready_tiles(numbered=True).tensors} == {"meta"}
