"""A split that two processes share has the scores that one process gives it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE, STDOUT
from types import SimpleNamespace

import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler, SequentialSampler

from graphdep.data import StoredBatches
from graphdep.tasks.sentences.model import SentenceTask
from graphdep.training import TrainConfig, load_splits
from graphdep.training.build import Parts
from graphdep.training.family import build_task
from graphdep.training.learning_task import example_numbers, gather_rows
from graphdep.training.trainer import make_trainer, quiet
from tests.kit.tiny_corpora import write_tiny_sick

SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4}


def make_task(config: TrainConfig, splits) -> SentenceTask:
    torch.manual_seed(0)
    return build_task(config, Parts(len(splits.vocab), len(splits.relations)))


def score(folder: str, devices: int) -> None:
    """Trains an epoch and tests with ``devices`` processes; each writes what it logged. The learning rate is
    nearly 0: what two processes learn from is another batch, and the question is how they are scored.
    """
    import lightning as L

    root = Path(folder)
    given = {"root": folder, "parser": f"conllu:{root / 'trees.conllu'}", "accelerator": "cpu"}
    config = TrainConfig.of("dt", task="sick-r", head_channels=4, batch_size=4, lr=1e-30, **SIZES, **given)
    splits = load_splits(config)
    task = make_task(config, splits)
    options = {"devices": devices, "accelerator": "cpu", "max_epochs": 1, "logger": False}
    options |= {"enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False}
    trainer = L.Trainer(strategy="ddp" if devices > 1 else "auto", default_root_dir=folder, **options)
    # 11 examples are an odd number and no multiple of a batch: one is repeated where two share them.
    val, test = (
        DataLoader(range(11), batch_size=4, collate_fn=StoredBatches(splits[name]))
        for name in ("test", "train")
    )
    trainer.fit(task, splits.loader("train", config), val)
    found = {"val": task.val_scores, "logged": {k: float(v) for k, v in trainer.callback_metrics.items()}}
    found["test"] = trainer.test(task, test, verbose=False)[0]
    (root / f"{devices}-{trainer.global_rank}.json").write_text(json.dumps(found))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks")
    write_tiny_sick(folder)
    with quiet():
        score(str(folder), 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}
    command = [sys.executable, __file__, str(folder), "2"]
    ranks = [{**os.environ, **place, "LOCAL_RANK": str(rank), "NODE_RANK": "0"} for rank in (0, 1)]
    runs = [subprocess.Popen(command, env=env, stdout=PIPE, stderr=STDOUT, text=True) for env in ranks]
    try:
        for run in runs:
            said = run.communicate(timeout=120)[0]
            assert run.returncode == 0, said[-3000:]
    finally:
        for run in runs:
            run.kill()
    return {path.stem: json.loads(path.read_text()) for path in folder.glob("*-*.json")}


@pytest.mark.parametrize("split", ["val", "test"])
def test_two_processes_score_as_one(found, split):
    assert sorted(found) == ["1-0", "2-0", "2-1"]
    assert found["1-0"][split].keys() >= {f"{split}_{name}" for name in ("pearson", "mse")}
    for name in ("2-0", "2-1"):
        assert found[name][split] == pytest.approx(found["1-0"][split], abs=1e-6)


def test_what_is_logged_is_of_all_processes(found):
    logged = found["2-0"]["logged"]
    assert logged == pytest.approx(found["2-1"]["logged"])
    assert logged == pytest.approx(found["1-0"]["logged"], abs=1e-6)
    assert logged["val_mse"] == pytest.approx(found["1-0"]["val"]["val_mse"])


def gathered(monkeypatch, parts):
    """:func:`gather_rows` as if there were these processes."""

    def all_gather(into, mine):
        into[:] = parts

    fake = SimpleNamespace(get_world_size=lambda: len(parts), all_gather_object=all_gather)
    monkeypatch.setattr("graphdep.training.learning_task.dist", fake)
    return gather_rows(*parts[0])


@pytest.mark.parametrize("size", [1, 2, 5, 7, 8])
@pytest.mark.parametrize("processes", [1, 2, 3, 5])
@pytest.mark.parametrize("shuffle", [False, True])
def test_every_example_counts_once_and_in_its_place(monkeypatch, size, processes, shuffle):
    values = torch.randn(size)
    parts = []
    for rank in range(processes):
        sampler = DistributedSampler(range(size), processes, rank, shuffle=shuffle)
        loader = DataLoader(range(size), batch_size=2, sampler=sampler)
        seen = torch.arange(len(sampler)).split(2)
        rows = (torch.cat([values[batch] for batch in loader]),)
        parts.append((rows, example_numbers(loader, [*seen])))
    assert torch.equal(gathered(monkeypatch, parts)[0], values)


def test_examples_of_several_rows_stay_together(monkeypatch):
    """Rows are words here: example 0 has two, 1 none, 2 one; example 0 is there twice."""
    first = torch.tensor([[1.0], [2.0], [5.0]]), torch.tensor([0, 0, 2])
    second = torch.tensor([[1.0], [2.0]]), torch.tensor([0, 0])
    parts = [((rows,), number) for rows, number in (first, second)]
    assert gathered(monkeypatch, parts)[0].view(-1).tolist() == [1.0, 2.0, 5.0]


def test_without_numbers_all_rows_count(monkeypatch):
    parts = [((torch.tensor([1.0, 2.0]),), torch.tensor([0, 1])), ((torch.tensor([3.0]),), None), ((), None)]
    assert gathered(monkeypatch, parts)[0].tolist() == [1.0, 2.0, 3.0]


def test_only_an_order_that_stays_gives_numbers():
    data, seen = range(5), [torch.arange(2), torch.arange(2, 5)]
    batches = BatchSampler(SequentialSampler(data), 3, drop_last=False)
    assert example_numbers(DataLoader(data, batch_sampler=batches), seen).tolist() == [0, 1, 2, 3, 4]
    assert example_numbers(DataLoader(data, sampler=RandomSampler(data)), seen) is None
    assert example_numbers([data], seen) is None
    assert example_numbers(DataLoader(data), []).tolist() == []


def test_a_task_is_tested_as_it_is_evaluated(tiny):
    config = TrainConfig.of("dt", task="sick-e", **tiny)
    splits = load_splits(config)
    task = make_task(config, splits)
    with quiet():
        trainer, loader = make_trainer(config), splits.loader("test", config)
        outputs = [torch.cat(parts) for parts in zip(*trainer.predict(task, loader))]
        logged = trainer.test(task, loader, verbose=False)[0]
    scores = task.score(tuple(outputs), "test")
    assert scores.keys() >= {"test_accuracy"}
    assert logged == pytest.approx(scores)
    assert task.val_scores == {}


if __name__ == "__main__":
    score(sys.argv[1], int(sys.argv[2]))
