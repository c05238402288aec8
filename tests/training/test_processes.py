"""Two processes train as one does, an error in one ends both, and each example is scored once."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler, SequentialSampler

from graphdep.training import TrainConfig, ablation, load_splits, train
from graphdep.training.build import BuildInputs
from graphdep.training.checkpoint import read_checkpoint
from graphdep.training.family import build_task
from graphdep.training.learning_task import example_numbers, gather_rows
from graphdep.training.splits import SharedBatches
from graphdep.training.trainer import Processes, make_trainer, quiet, read_metrics

# Six batches of 7, and one of 1, in which the second process has no example.
EXAMPLES, BATCH = 43, 7
SETTINGS = {
    "hidden_channels": 12,
    "ff_channels": 12,
    "heads": 2,
    "num_layers": 1,
    "dropout": 0.0,
    "max_epochs": 2,
    "batch_size": BATCH,
    "lr": 0.01,
    "accelerator": "cpu",
    "parser": "chain",
}


def write_words(path: Path) -> None:
    """Sentences of 1 to 6 words, some without labels, so that parts of a batch have different weights."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(EXAMPLES + 5):
            words = [f"w{(number * k) % 5}" for k in range(1, 2 + number % 6)]
            labels = [None if (number + k) % 4 == 0 else word[1] for k, word in enumerate(words)]
            labels[0] = labels[0] or "0"
            file.write(json.dumps({"words": words, "labels": labels}) + "\n")


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    write_words(folder / "all.jsonl")
    lines = (folder / "all.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "train.jsonl").write_text("".join(lines[:EXAMPLES]), encoding="utf-8")
    (folder / "val.jsonl").write_text("".join(lines[EXAMPLES:]), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def alone(words):
    files = {name: str(words / f"{name}.jsonl") for name in ("train", "val")}
    config = TrainConfig.of("dt", task="labels", **files, root=str(words / "data"), **SETTINGS)
    train(config, words / "one", splits=load_splits(config))
    return words / "one"


def options(words: Path, output: str) -> list[str]:
    given = ["train", "--task", "labels", "--model", "dt", "--devices", "2", "--output", str(words / output)]
    given += ["--train", str(words / "train.jsonl"), "--val", str(words / "val.jsonl")]
    given += ["--root", str(words / "data")]
    return given + [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    env = dict(os.environ) | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=env, check=True)


def same_run(one: Path, two: Path) -> None:
    for mine, other in zip(*(read_metrics(folder / "metrics.csv") for folder in (one, two)), strict=True):
        for name in mine.keys() - {"seconds", "val_seconds"}:
            assert mine[name] == pytest.approx(other[name], abs=1e-5), name
    states = (read_checkpoint(folder / "best.ckpt")["state_dict"] for folder in (one, two))
    for mine, other in zip(*(state.values() for state in states), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-5)
    assert (one / "predictions.csv").read_bytes() == (two / "predictions.csv").read_bytes()
    ours, theirs = (json.loads((folder / "result.json").read_text()) for folder in (one, two))
    assert (ours["config"], ours["best_epoch"]) == (theirs["config"], theirs["best_epoch"])


@pytest.mark.slow
def test_the_command_starts_the_others(words, alone):
    told = run("-m", "graphdep", *options(words, "two"))
    same_run(alone, words / "two")
    assert told.stdout.count("val_accuracy") == 1  # printed by one process
    assert told.stderr.count("epoch   1/2") == 1


@pytest.mark.parametrize("devices", [1, 2])
def test_an_error_of_a_run_is_a_row_s_or_ends_all_processes(words, tmp_path, monkeypatch, devices):
    """With several processes an error ends all, since others would wait for the first."""
    asked = []

    def fails(config, folder, **options):
        asked.append((config.model, options["devices"], options["strategy"]))
        raise OSError(28, "No space left on device", "curves.png")

    monkeypatch.setattr(ablation, "train", fails)
    files = {name: str(words / f"{name}.jsonl") for name in ("train", "val")}
    settings = {**SETTINGS, **files, "root": str(words / "data")}
    given = {"settings": settings, "devices": devices, "strategy": "ddp", "console": Console(quiet=True)}
    table = partial(ablation.ablate, "labels", ["dt", "transformer"], [0], tmp_path, **given)
    if devices == 1:
        assert [[*row["failed"]] for row in table()["rows"]] == [["0"], ["0"]]
        assert asked == [("dt", 1, "ddp"), ("transformer", 1, "ddp")]
    else:
        with pytest.raises(OSError, match="curves.png"):
            table()
        assert asked == [("dt", 2, "ddp")]


def test_which_process_this_is(monkeypatch):
    started = [*_TORCHRUN, "NODE_RANK", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_JOB_NAME"]
    for name in started:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RANK", "x")  # set by a pod, not by torchrun
    assert Processes(2, 3).rank == 0
    monkeypatch.setenv("NODE_RANK", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert Processes(2, 3).rank == 5
    assert not Processes(2, 3).first
    assert Processes().first  # a single process, in any environment
    monkeypatch.setenv("SLURM_NTASKS", "6")
    monkeypatch.setenv("SLURM_PROCID", "4")
    monkeypatch.setenv("SLURM_JOB_NAME", "bash")  # a shell in a job, not srun
    assert Processes(2, 3).rank == 5
    monkeypatch.setenv("SLURM_JOB_NAME", "train")
    monkeypatch.setenv("SLURM_NTASKS_PER_NODE", "2")
    assert Processes(2, 3).rank == 4
    for name in _TORCHRUN:
        monkeypatch.setenv(name, "3")
    assert Processes(2, 3).rank == 3


_TORCHRUN = ("RANK", "GROUP_RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"devices": 0}, "'devices' must be at least 1"),
        ({"nodes": -1}, "'nodes' must be at least 1"),
        ({"strategy": "fsdp"}, "'strategy' must be one of auto, ddp"),
    ],
)
def test_wrong_numbers_of_processes(given, message):
    with pytest.raises(ValueError, match=message):
        Processes(**given)


def test_precision_must_be_said(tmp_path):
    config = TrainConfig.of("dt", precision="auto")
    with pytest.raises(ValueError, match="'precision' must be given for 2 processes"):
        train(config, tmp_path, devices=2)


ONE_FAILS = """
import os, sys, traceback
import torch.distributed as dist
from lightning.pytorch.callbacks import Callback
from graphdep.training import TrainConfig, train

class Fails(Callback):
    def on_train_batch_end(self, *args):
        if dist.get_rank() == 1:
            raise OSError("the disk of the second")

words, settings, port = sys.argv[1], eval(sys.argv[2]), sys.argv[3]
files = {name: f"{words}/{name}.jsonl" for name in ("train", "val")}
config = TrainConfig.of("dt", task="labels", **files, root=f"{words}/data", precision="32-true", **settings)
started = []
for rank in "01":  # as torchrun starts them, but with one import for both
    if pid := os.fork():
        started.append(pid)
        continue
    os.environ |= {"RANK": rank, "LOCAL_RANK": rank, "GROUP_RANK": "0", "TORCHELASTIC_RUN_ID": "one"}
    os.environ |= {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    try:
        train(config, f"{words}/failed", devices=2, callbacks=[Fails()])
    except Exception:
        traceback.print_exc()
        os._exit(9)
    os._exit(0)
print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in started])
"""


@pytest.mark.slow
def test_an_error_of_one_process_ends_them_all(words):
    """The processes do not wait for each other."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = run("-c", ONE_FAILS, str(words), repr(SETTINGS), str(port))
    assert "the disk of the second" in done.stderr
    assert done.stdout.strip() == "[9, 9]"


@given(st.integers(0, 20), st.integers(1, 6), st.integers(1, 5))
def test_processes_that_share_batches_have_every_example_once(size, batch_size, processes):
    whole = BatchSampler(range(size), batch_size, drop_last=False)
    parts = [SharedBatches(whole) for _ in range(processes)]
    had = []
    for rank, part in enumerate(parts):
        fake = SimpleNamespace(
            is_available=lambda: True,
            is_initialized=lambda: True,
            get_rank=lambda rank=rank: rank,
            get_world_size=lambda: processes,
        )
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("graphdep.training.splits.dist", fake)
            had.append([*part])
    assert {len(batches) for batches in had} == {len(whole)}  # all have the same number of steps
    for number, batch in enumerate(whole):
        counted = [batches[number] for part, batches in zip(parts, had) if part.counts(number)]
        assert sorted(example for some in counted for example in some) == batch
        assert max(map(len, counted)) - min(map(len, counted)) <= 1
        idle = [batches[number] for part, batches in zip(parts, had) if not part.counts(number)]
        assert idle == [batch[:1]] * max(0, processes - len(batch))


def gathered(monkeypatch, parts):
    """:func:`gather_rows` with the parts of simulated processes."""

    def all_gather(into, mine):
        into[:] = parts

    fake = SimpleNamespace(get_world_size=lambda: len(parts), all_gather_object=all_gather)
    monkeypatch.setattr("graphdep.training.learning_task.dist", fake)
    return gather_rows(*parts[0])


@pytest.mark.parametrize("size", [1, 7, 8])
@pytest.mark.parametrize("processes", [1, 2, 5])
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
    """Rows are words: example 0 has two, 1 none, 2 one; both processes have example 0."""
    first = torch.tensor([[1.0], [2.0], [5.0]]), torch.tensor([0, 0, 2])
    second = torch.tensor([[1.0], [2.0]]), torch.tensor([0, 0])
    parts = [((rows,), number) for rows, number in (first, second)]
    assert gathered(monkeypatch, parts)[0].view(-1).tolist() == [1.0, 2.0, 5.0]


def test_rows_without_numbers_are_all_kept(monkeypatch):
    parts = [((torch.tensor([1.0, 2.0]),), torch.tensor([0, 1])), ((torch.tensor([3.0]),), None), ((), None)]
    assert gathered(monkeypatch, parts)[0].tolist() == [1.0, 2.0, 3.0]


def test_examples_have_numbers_only_in_a_fixed_order():
    data, seen = range(5), [torch.arange(2), torch.arange(2, 5)]
    batches = BatchSampler(SequentialSampler(data), 3, drop_last=False)
    assert example_numbers(DataLoader(data, batch_sampler=batches), seen).tolist() == [0, 1, 2, 3, 4]
    assert example_numbers(DataLoader(data, sampler=RandomSampler(data)), seen) is None
    assert example_numbers([data], seen) is None
    assert example_numbers(DataLoader(data), []).tolist() == []


def test_a_task_is_tested_as_it_is_evaluated(tiny):
    config = TrainConfig.of("dt", task="sick-e", **tiny)
    splits = load_splits(config)
    task = build_task(config, BuildInputs(len(splits.vocab), len(splits.relations)))
    with quiet():
        trainer, loader = make_trainer(config), splits.loader("test", config)
        outputs = [torch.cat(parts) for parts in zip(*trainer.predict(task, loader))]
        logged = trainer.test(task, loader, verbose=False)[0]
    scores = task.score(tuple(outputs), "test")
    assert scores.keys() >= {"test_accuracy"}
    assert logged == pytest.approx(scores)
    assert task.val_scores == {}
