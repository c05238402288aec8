from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest
from evidence import worker as module
from evidence.ledger import RunKey
from evidence.worker import BUSY, Job, Worker

from graphdep.training.run import FolderInUseError

# From Python 3.12 on a fork beside threads warns; what these do holds no lock.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def run(job, held, console):
    """In the place of a run: what its title says."""
    if job.title == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if job.title == "wrong":
        raise ValueError("no such thing")
    if job.title == "busy":
        raise FolderInUseError(job.folder)
    console.print(f"ran {job.title}")
    return {"title": job.title, "pid": os.getpid()}


@pytest.fixture
def worker(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_run", run)
    made = Worker(multiprocessing.get_context("fork"), tmp_path / "log.txt")
    yield made
    made.stop()


def answer_of(worker, tmp_path, title):
    worker.start(Job("design", RunKey("table", "row", "", 0), None, tmp_path, title))
    until = time.monotonic() + 60
    while time.monotonic() < until:
        found = worker.answer()
        if found is not None:
            assert worker.job is None
            return found
        time.sleep(0.01)
    raise AssertionError("no answer")


def test_one_process_does_one_job_after_the_other(worker, tmp_path):
    assert worker.answer() is None
    first, second = (answer_of(worker, tmp_path, title) for title in ("first", "second"))
    assert (first["title"], second["title"]) == ("first", "second")
    assert first["pid"] == second["pid"] == worker.process.pid
    assert (tmp_path / "log.txt").read_text(encoding="utf-8") == "ran first\nran second\n"


def test_what_a_run_died_of(worker, tmp_path):
    assert "ValueError: no such thing" in answer_of(worker, tmp_path, "wrong")
    assert answer_of(worker, tmp_path, "busy") == BUSY
    assert answer_of(worker, tmp_path, "next")["title"] == "next"


def test_a_process_that_is_killed_is_replaced(worker, tmp_path):
    killed = worker.process.pid
    assert answer_of(worker, tmp_path, "killed").startswith("the process ended with code -9")
    assert answer_of(worker, tmp_path, "next")["pid"] != killed


class Settings:
    def __init__(self, data, pretrained=True):
        self.data, self.pretrained, self.floor_frozen = data, pretrained, True

    def data_settings(self):
        return {"data": self.data}


def test_an_encoder_is_asked_once_for_all_runs_of_a_table_that_share_its_data(tmp_path, monkeypatch):
    asked = []

    def train(config, folder, *, splits, floor_frozen, **told):
        if floor_frozen is None:
            asked.append(folder.name)
            floor_frozen = {"test_P@1": len(asked)} if config.pretrained else {}
        return {"floor_frozen": floor_frozen}

    monkeypatch.setattr("graphdep.training.run.train", train)
    monkeypatch.setattr("graphdep.training.family.load_splits", lambda config: config.data)
    held = {}
    runs = [
        ("first", "table", Settings("a")),
        ("words", "table", Settings("a", pretrained=False)),
        ("same", "table", Settings("a")),
        ("other table", "other", Settings("a")),
        ("other data", "table", Settings("b")),
        ("again", "table", Settings("a")),
    ]
    found = {}
    for name, table, config in runs:
        job = Job("design", RunKey(table, name, "", 0), config, tmp_path / name, name)
        found[name] = module._run(job, held, None)["floor_frozen"]
    assert asked == ["first", "words", "other table", "other data"]
    assert found["first"] == found["same"] == found["again"]
    assert found["words"] == {}
