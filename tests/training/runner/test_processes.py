"""Two processes train what one process trains, started by the command itself or by torchrun."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from graphdep.training import TrainConfig, load_splits, train
from graphdep.training.checkpoint import read_checkpoint
from graphdep.training.trainer import Processes, read_metrics

# Six batches of 7 and one of 1, of which the second process has none.
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
    """Sentences of 1 to 6 words, some of whose labels are not known: parts of a batch weigh differently."""
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
    env = dict(os.environ) | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=env, check=True)


def same_run(one: Path, two: Path) -> None:
    for mine, other in zip(*(read_metrics(folder / "metrics.csv") for folder in (one, two)), strict=True):
        for name in mine.keys() - {"seconds", "val_seconds"}:
            assert mine[name] == pytest.approx(other[name], abs=1e-5), name
    states = (read_checkpoint(folder / "last.ckpt")["state_dict"] for folder in (one, two))
    for mine, other in zip(*(state.values() for state in states), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-5)
    assert (one / "predictions.csv").read_bytes() == (two / "predictions.csv").read_bytes()
    ours, theirs = (json.loads((folder / "result.json").read_text()) for folder in (one, two))
    assert (ours["config"], ours["best_epoch"]) == (theirs["config"], theirs["best_epoch"])


def test_the_command_starts_the_others(words, alone):
    told = run("-m", "graphdep", *options(words, "two"))
    same_run(alone, words / "two")
    assert told.stdout.count("val_accuracy") == 1  # one process says it
    assert told.stderr.count("epoch   1/2") == 1


def test_torchrun_starts_them(words, alone):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    run(*launcher, "-m", "graphdep", *options(words, "torchrun"), "--strategy", "ddp")
    same_run(alone, words / "torchrun")


def test_a_table_of_two_rows(words):
    given = ["ablate", "--models", "dt,transformer", "--seeds", "1"]
    run(
        "-m",
        "graphdep",
        *given,
        *(part for part in options(words, "table")[1:] if part not in ("--model", "dt")),
    )
    rows = json.loads((words / "table" / "summary.json").read_text(encoding="utf-8"))["rows"]
    assert [(row["name"], row["n"], row["failed"]) for row in rows] == [("dt", 1, {}), ("transformer", 1, {})]


def test_which_process_this_is(monkeypatch):
    started = [*_TORCHRUN, "NODE_RANK", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_JOB_NAME"]
    for name in started:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RANK", "x")  # a pod's own, and no torchrun
    assert Processes(2, 3).rank == 0
    monkeypatch.setenv("NODE_RANK", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert Processes(2, 3).rank == 5
    assert not Processes(2, 3).first
    assert Processes().first  # a run of its own, whatever started it
    monkeypatch.setenv("SLURM_NTASKS", "6")
    monkeypatch.setenv("SLURM_PROCID", "4")
    monkeypatch.setenv("SLURM_JOB_NAME", "bash")  # a shell in a job, and no srun
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
def test_what_is_none(given, message):
    with pytest.raises(ValueError, match=message):
        Processes(**given)


def test_precision_must_be_said(tmp_path):
    config = TrainConfig.of("dt", precision="auto")
    with pytest.raises(ValueError, match="'precision' must be said where 2 processes train"):
        train(config, tmp_path, devices=2)


ONE_FAILS = """
import sys
import torch.distributed as dist
from lightning.pytorch.callbacks import Callback
from graphdep.training import TrainConfig, train

class Fails(Callback):
    def on_train_batch_end(self, *args):
        if dist.get_rank() == 1:
            raise OSError("the disk of the second")

words, settings = sys.argv[1], eval(sys.argv[2])
files = {name: f"{words}/{name}.jsonl" for name in ("train", "val")}
config = TrainConfig.of("dt", task="labels", **files, root=f"{words}/data", precision="32-true", **settings)
train(config, f"{words}/failed", devices=2, callbacks=[Fails()])
"""


def test_an_error_of_one_process_ends_them_all(words):
    """The first would wait for the second, which would wait for it at the end."""
    script = words / "fails.py"
    script.write_text(ONE_FAILS, encoding="utf-8")
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    with pytest.raises(subprocess.CalledProcessError) as ended:
        run(*launcher, str(script), str(words), repr(SETTINGS))
    assert "the disk of the second" in ended.value.stderr


FIRST_FAILS = """
import sys
from graphdep.cli import app
from graphdep.training import run

def fails(*args, **given):
    raise OSError(28, "No space left on device", "curves.png")

run._draw_curves = fails
app(sys.argv[1:], prog_name="graphdep")
"""


def test_a_run_of_a_table_that_fails_in_the_first_process_ends_them_all(words):
    """The others wait for the first where it does not come, for as long as scoring may take."""
    script = words / "first.py"
    script.write_text(FIRST_FAILS, encoding="utf-8")
    given = [part for part in options(words, "cut-table")[1:] if part not in ("--model", "dt")]
    env = dict(os.environ) | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, str(script), "ablate", "--models", "dt,transformer", "--seeds", "1", *given]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, check=False)
    assert done.returncode == 2
    assert "curves.png: No space left on device" in done.stderr
