"""SIGKILL at random moments of everything that writes: run again, nothing is lost, the result is the same.

Run: python examples/research/campaigns/kill_anywhere.py [--seed N] [--count N] [--minutes N] [--write]
A case is a kill that found the process alive; after one to three of them the work is done again to its end
and compared with what it makes without a kill, to the last bit. Nothing of those that were killed may be
left.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from harness import PATIENCE, Bounds, Tally, kill, main, start, timed, wait
from works import Work, works


def run(bounds: Bounds, folder: Path) -> Iterator[Tally]:
    found = works(folder)
    for work in filter(lambda work: bounds.wants(work.name), found):
        yield _work(work, bounds.part(len(found)), folder)


def _work(work: Work, bounds: Bounds, folder: Path) -> Tally:
    tally, log, rng = Tally("kill anywhere", work.name, bounds.seed), folder / "log", bounds.random(work.name)
    with timed(tally):
        expected, took = work.undisturbed(log)
        while bounds.more(tally.cases):
            work.fresh()
            kills = min(rng.randint(1, 3), bounds.count - tally.cases)
            errors = [error for _ in range(kills) if (error := _killed(work, log, rng, took)) is not None]
            outcome, about = work.again(log, expected)
            for error in errors:
                tally.add("losses" if error else outcome, error or about)
        shutil.rmtree(work.folder)
    return tally


def _killed(work: Work, log: Path, rng: random.Random, took: float) -> str | None:
    """Kills the work somewhere, and its children with it or not; what was wrong then, None if it had ended
    before.
    """
    child, all_of_them = start(work.action, log), rng.random() < 0.5
    time.sleep(rng.uniform(0, took))
    if all_of_them:
        kill(child)
    else:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    code = wait(child, PATIENCE)
    if _lives(child):
        kill(child)
        return "its children go on without it"
    return work.check() or ("" if code == -signal.SIGKILL else None)


def _lives(group: int) -> bool:
    """Whether a process of a group is still there after a while."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.02)
    return True


if __name__ == "__main__":
    main(__doc__ or "", run, count=200)
