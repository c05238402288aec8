"""A process that does one run after the other and keeps the data that the next one may need again."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from evidence.ledger import RunKey
from graphdep.io.process import end_with_parent

FAILED = "failed.txt"
BUSY = "another process is at it"
"""The answer where the folder of the run is in use."""
# Corpora that are held at once: as they are, and with another parser.
_HELD = 2


@dataclass(frozen=True)
class Missing:
    """The answer where the data of a run are not there, which is no failure of the run."""

    what: str


@dataclass(frozen=True)
class Job:
    """A run to be done."""

    design: str
    key: RunKey
    config: Any
    folder: Path
    title: str


class Worker:
    """A process with a job or without.

    Args:
        context: Of :mod:`multiprocessing`.
        log: Gets what the runs print.
    """

    def __init__(self, context: Any, log: Path) -> None:
        self.context, self.log = context, log
        self.job: Job | None = None
        self._start()

    def _start(self) -> None:
        self.pipe, other = self.context.Pipe()
        self.process = self.context.Process(target=_work, args=(other, self.log), daemon=True)
        with _one_thread():
            self.process.start()
        other.close()

    def start(self, job: Job) -> None:
        self.job = job
        with contextlib.suppress(OSError):  # of a process that has died since: its answer says so
            self.pipe.send(job)

    def answer(self) -> Mapping[str, Any] | Missing | str | None:
        """The result of the job, or what it died of, if it has ended; then there is no job any more."""
        if self.job is None or not self.pipe.poll():
            return None
        self.job = None
        try:
            return self.pipe.recv()
        except (EOFError, OSError):  # before the job was read, or with half an answer
            self.process.join()
            code = self.process.exitcode
            self._start()
            return f"the process ended with code {code}: it may have been out of memory"

    def stop(self) -> None:
        self.process.terminate()
        self.process.join()


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Processes that start meanwhile have one thread each, whatever this one has."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def _work(pipe: Connection, log: Path) -> None:
    """Does jobs until nobody sends one."""
    from graphdep.io.console import plain_console
    from graphdep.training.run import FolderInUseError

    end_with_parent()
    held: dict[str, Any] = {}
    with open(log, "a", encoding="utf-8", buffering=1) as file:
        sys.stdout = sys.stderr = file
        while True:
            try:
                job = pipe.recv()
            except EOFError:
                return
            try:
                answer: Any = _run(job, held, plain_console(file=file, width=120))
            except _NoDataError as error:
                answer = Missing(str(error))
            except FolderInUseError:
                answer = BUSY
            except Exception:  # whatever one run dies of must not lose the others
                answer = traceback.format_exc()
            pipe.send(answer)


def _run(job: Job, held: dict[str, Any], console: Any) -> Mapping[str, Any]:
    from graphdep.training.run import train

    splits, frozen = _splits(job.config, held)
    table, start = (job.design, job.key.digest, job.key.tune), time.monotonic()
    asks = job.config.pretrained and getattr(job.config, "floor_frozen", False)
    known = frozen.get(table) if asks else None
    told: Any = {"title": job.title, "console": console}
    result = train(job.config, job.folder, splits=splits, resume=True, floor_frozen=known, **told)
    if floor := result["floor_frozen"]:
        frozen.setdefault(table, floor)
    return {**result, "seconds": time.monotonic() - start}


class _NoDataError(Exception):
    """A file of the data is not there."""


def _splits(config: Any, held: dict[str, Any]) -> tuple[Any, dict[tuple[str, ...], Mapping[str, float]]]:
    """The data of a run; and what a pretrained encoder gets on them before it is trained, by table and
    what is tried: it is the same before each run.
    """
    from graphdep.training.family import load_splits

    data = repr(sorted(config.data_settings().items()))
    if data not in held:
        while len(held) >= _HELD:
            held.pop(next(iter(held)))
        try:
            held[data] = load_splits(config), {}
        except FileNotFoundError as error:
            raise _NoDataError(str(error)) from error
    return held[data]
