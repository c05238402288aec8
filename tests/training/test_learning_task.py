"""The learning rate, dropout and batches of a task, and its splits."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch
from torch_geometric.data.data import BaseData

from graphdep import Sentence, to_data
from graphdep.datasets import csv_texts
from graphdep.datasets.labels.propbank import PropBankEWT
from graphdep.datasets.spans.base import OwnSpans
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.attention import layout as layout_module
from graphdep.tasks import ENTAILMENT, SentenceTask
from graphdep.testing import assert_same_batch
from graphdep.training import Splits, TrainConfig, load_splits
from graphdep.training.learning_task import LearningTask, LinearSchedule
from graphdep.training.splits import TokenBatchSampler, epoch_seed
from graphdep.transforms import SelfLoops, resolve
from tests.kit.edges import Ahead
from tests.kit.tiny_corpora import write_tiny_propbank


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


DRAWS = st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 2))  # seed, epoch, process


@given(DRAWS, DRAWS)
def test_dropout_is_that_of_the_seed_the_process_and_the_epoch(one, other):
    """Dropout depends on the epoch and on the sum of seed and process."""

    def dropped(seed: int, epoch: int, rank: int) -> tuple[float, ...]:
        task = SentenceTask(torch.nn.Linear(1, 1), resolve("dt"), ENTAILMENT, seed=seed)
        task._trainer = SimpleNamespace(current_epoch=epoch, global_rank=rank)
        task.on_train_epoch_start()
        return tuple(torch.nn.functional.dropout(torch.ones(64)).tolist())

    mask = dropped(*one)
    torch.rand(3)
    assert dropped(*one) == mask
    same = (one[0] + one[2], one[1]) == (other[0] + other[2], other[1])
    assert (dropped(*other) == mask) == same


def test_a_batch_goes_to_a_gpu_with_its_tiles_from_pinned_memory(monkeypatch: pytest.MonkeyPatch):
    """No transfer waits for the GPU; here the device is ``meta``, which has no values."""
    monkeypatch.setattr(layout_module, "missing", lambda device: None)
    monkeypatch.setattr(LearningTask, "device", torch.device("cuda"))
    task = SentenceTask(torch.nn.Linear(1, 1), resolve("dt", implicit=True), ENTAILMENT)
    pair = to_data([Sentence.chain(["She", "sings"]), Sentence.chain(["You", "do"])])
    batch = task.on_before_batch_transfer(Batch.from_data_list([pair, pair]), 0)
    assert "tiles" in vars(batch.edge_layout)
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
    assert {x.device.type for x in layout.ready_tiles.tensors} == {"meta"}


@pytest.mark.parametrize("own", [False, True])
def test_edges_are_built_once_unless_they_are_of_ones_own(own):
    config = TrainConfig.of("dt", task="sick-e", root="datasets/mini", parser="chain", limit_train=20)
    splits, calls = load_splits(config, ("train",)), []
    task = SentenceTask(torch.nn.Linear(1, 1), Ahead() if own else SelfLoops(), ENTAILMENT)
    loader = splits.loader("train", config, task.edges)
    task.edges = lambda batch: calls.append(batch) or SelfLoops()(batch)
    for batch, plain in zip(loader, splits.loader("train", config), strict=True):
        built = task.on_before_batch_transfer(batch, 0)
        assert_same_batch(built, SelfLoops()(plain))
    assert len(calls) == own * len(loader)


def digest(splits: Splits, split: str) -> str:
    """A digest of the examples and classes of a split."""
    return Splits({split: splits[split]}, splits.vocab, splits.relations).digest()


def roles(folder):
    return {"task": "propbank-ewt", "form": "spans", **write_tiny_propbank(folder)}


def spans(folder):
    """Files in which classes occur in different orders."""
    for name, labels in (("train", "yxz"), ("val", "zy"), ("test", "xxz")):
        rows = [
            {"words": ["ann", "met", "bob"], "spans": [[0, 1], [2, 3]], "label": label} for label in labels
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = {name: str(folder / f"{name}.jsonl") for name in ("train", "val", "test")}
    return {"task": "spans", "parser": "chain", "root": str(folder), **files}


def texts(folder):
    for name, labels in (("train", "yxz"), ("val", "zy"), ("test", "xxz")):
        (folder / f"{name}.csv").write_text("text,label\n" + "".join(f"a film,{label}\n" for label in labels))
    files = {name: str(folder / f"{name}.csv") for name in ("train", "val", "test")}
    own = {"text_columns": "text", "label_column": "label", "parser": "chain", "root": str(folder)}
    return {"task": "csv", **own, **files}


@pytest.mark.parametrize(
    ("write", "reader", "name", "reads"),
    [
        (roles, PropBankEWT, "read", {"train": 1, "val": 1, "test": 1}),
        (spans, OwnSpans, "read", {"train": 1, "val": 1, "test": 1}),
        (texts, csv_texts, "_learn", {"label": 1}),
    ],
)
def test_classes_are_learned_once_for_all_splits(tmp_path, monkeypatch, write, reader, name, reads):
    config, original, calls = (
        TrainConfig.of("transformer", **write(tmp_path)),
        getattr(reader, name),
        Counter(),
    )

    def counted(*args):
        calls[args[-1]] += 1
        return original(*args)

    monkeypatch.setattr(reader, name, counted)
    splits = load_splits(config)
    assert calls == reads
    for split in ("val", "test"):  # loaded alone, it learns the classes from the training split
        alone = load_splits(config, (split,), splits.vocab, relations=splits.relations)
        assert digest(alone, split) == digest(splits, split)
        assert alone[split].labels == splits["train"].labels


@given(st.lists(st.integers(1, 9), max_size=30), st.integers(1, 20), st.none() | st.integers(1, 5))
def test_batches_hold_all_in_order_and_no_more_than_they_may(sizes, tokens, examples):
    sampler = TokenBatchSampler(range(len(sizes)), torch.tensor(sizes), tokens, examples)
    batches = list(sampler)
    assert [example for batch in batches for example in batch] == list(range(len(sizes)))
    assert sampler.count(3) == 3 * len(batches)
    for batch in batches:
        assert sum(sizes[i] for i in batch) <= tokens or len(batch) == 1
        assert examples is None or len(batch) <= examples
    # No batch has room for the first example of the next batch.
    for batch, after in pairwise(batches):
        more = sum(sizes[i] for i in [*batch, after[0]])
        assert more > tokens or len(batch) == examples


class Shuffled:
    """A sampler with another order in each epoch."""

    def __init__(self, size):
        self.size, self.epoch = size, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        yield from torch.randperm(self.size, generator=torch.Generator().manual_seed(self.epoch)).tolist()


def test_batches_of_all_epochs_are_counted():
    order, sizes = Shuffled(60), torch.arange(60) % 13 + 1
    order.set_epoch(5)
    sampler = TokenBatchSampler(order, sizes, 31)
    found = []
    for epoch in range(6):
        order.set_epoch(epoch)
        found.append(len(list(sampler)))
    assert len(set(found)) > 1  # otherwise this tests nothing
    assert [sampler.count(epochs) for epochs in (1, 6)] == [found[0], sum(found)]
    assert order.epoch == 5


def test_a_token_sampler_has_no_length():
    with pytest.raises(TypeError):
        len(TokenBatchSampler(range(3), torch.ones(3), 2))


@pytest.mark.parametrize(("limits", "name"), [((0, None), "max_tokens"), ((5, -1), "max_examples")])
def test_limits(limits, name):
    with pytest.raises(ValueError, match=f"'{name}' must be at least 1"):
        TokenBatchSampler(range(3), torch.ones(3), *limits)
