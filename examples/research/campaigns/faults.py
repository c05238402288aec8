"""A full disk, few open files, a folder that takes nothing, a pipe that nobody reads, Ctrl-C and SIGTERM:
the end is clear, and the work done again has the result that it always has.

Run: python examples/research/campaigns/faults.py [--seed N] [--count N] [--minutes N] [--write]
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from harness import PATIENCE, Bounds, Tally, kill, leftovers, main, start, tail, timed, wait
from works import Work, works

import graphdep

# A line that says what is wrong; an ablation has one for each run, and keeps the others.
_CLEAR = re.compile(
    r"graphdep: error: (?!.*GRAPHDEP_DEBUG)| failed: (?!RuntimeError)|^(OS|Permission|Value)Error: ", re.M
)
# Parses are made all the same, and the next time again. Lines are broken where the console ends.
_NOT_STORED = re.compile(
    r"the\s+parse\s+cache\s.+\scannot\s+be\s+used\s.+parses\s+may\s+not\s+be\s+stored", re.S
)
# Works of which a fault is tried; of the families one is enough, their files are written in one way.
_CHOSEN = (
    "parse, one process",
    "dataset processing",
    "pairs on disk",
    "train, sentences",
    "ablate",
    "save_pretrained",
)
SIGNALS = {"Ctrl-C": signal.SIGINT, "SIGTERM": signal.SIGTERM}


def run(bounds: Bounds, folder: Path) -> Iterator[Tally]:
    chosen = [work for work in works(folder) if work.name in _CHOSEN]
    for name, fault in FAULTS.items():
        if bounds.wants(name) and (fault is not _read_only or _can_be_nobody()):
            yield _fault(name, fault, chosen, bounds.part(6), folder)
    commands = [work for work in chosen if work.name in ("parse, one process", "train, sentences", "ablate")]
    for name, number in SIGNALS.items():
        if bounds.wants(name):
            yield _signal(name, number, commands, bounds.part(6), folder)


# -- faults: what a child does before it works -------------------------------------------------------------


def _full_disk(rng: random.Random, work: Work) -> Callable[[], object]:
    """Files end at some size, as where a disk is full."""
    most = int(2 ** rng.uniform(0, 18))

    def action() -> object:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        return work.action()

    return action


def _few_files(rng: random.Random, work: Work) -> Callable[[], object]:
    def action() -> object:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        return work.action()

    return action


def _closed_pipe(rng: random.Random, work: Work) -> Callable[[], object]:
    def action() -> object:
        read, write = os.pipe()
        os.close(read)
        os.dup2(write, 1)
        return work.action()

    return action


def _can_be_nobody() -> bool:
    """Whether this is root, and others may enter the folders of the packages: whoever works in ``/root`` has
    no one who can read there and not write. Of Python's own modules most are loaded by then.
    """
    places = (Path(sys.prefix).resolve(), Path(graphdep.__file__).resolve().parent)
    folders = [folder for place in places for folder in (place, *place.parents)]
    return os.geteuid() == 0 and all(folder.stat().st_mode & 0o001 for folder in folders)


def _read_only(rng: random.Random, work: Work) -> Callable[[], object]:
    """As somebody who may write nothing in the folder, and read all of it."""

    def action() -> object:
        with contextlib.suppress(PermissionError):
            os.chmod(work.folder, 0o555)
        os.chmod(work.folder.parent, 0o755)
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        return work.action()

    return action


FAULTS: dict[str, Callable[[random.Random, Work], Callable[[], object]]] = {
    "full disk": _full_disk,
    "64 open files": _few_files,
    "closed pipe": _closed_pipe,
    "read-only folder": _read_only,
}


def _fault(
    name: str,
    fault: Callable[[random.Random, Work], Callable[[], object]],
    chosen: list[Work],
    bounds: Bounds,
    folder: Path,
) -> Tally:
    tally, log = Tally("faults", name, bounds.seed), folder / "log"
    with timed(tally):
        expected = {work.name: work.undisturbed(log)[0] for work in chosen}
        while bounds.more(tally.cases):
            work = chosen[tally.cases % len(chosen)]
            work.fresh()
            action = fault(bounds.random(name, tally.cases), work)
            code = wait(start(action, log), PATIENCE)
            tally.add(*_judge(work, code, log, expected[work.name]))
    return tally


def _judge(work: Work, code: int | None, log: Path, expected: object) -> tuple[str, str]:
    """Whether the end was clear, all is there where it says so, and the work done again has its result."""
    said = f"{work.name}: exit {code}: {tail(log)}"
    if code is None:
        return "hangs", said
    if code not in (0, 1, 2) or (code and not _CLEAR.search(_text(log))):
        return "crashes", said
    os.chmod(work.folder, 0o755)
    warned = bool(_NOT_STORED.search(_text(log)))
    if code == 0 and not warned:
        outcome, about = work.compared(expected)
        if outcome != "valid":
            return outcome, f"it said that all is well: {about}"
    return _went_on(work, log, expected, "documented" if code or warned else "valid")


def _went_on(work: Work, log: Path, expected: object, good: str) -> tuple[str, str]:
    if wrong := work.check():
        return "losses", wrong
    outcome, about = work.again(log, expected)
    return (good if outcome == "valid" else outcome), about


def _text(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")


def _signal(name: str, number: int, chosen: list[Work], bounds: Bounds, folder: Path) -> Tally:
    """A signal at any time: its exit code (130 of Ctrl-C), a line that says so, nothing left; then the work
    goes on. Work that had ended before the signal, or not begun, is no case.
    """
    tally, log, rng = Tally("faults", name, bounds.seed), folder / "log", bounds.random(name)
    with timed(tally):
        undisturbed = {work.name: work.undisturbed(log) for work in chosen}
        tries = 0
        while bounds.more(tally.cases):
            work = chosen[tries % len(chosen)]
            tries += 1
            expected, took = undisturbed[work.name]
            work.fresh()
            child = start(work.action, log)
            time.sleep(rng.uniform(0.2, 1) * took)
            kill(child, number)
            code = wait(child, PATIENCE)
            begun = code not in (-number, 128 + number) or _text(log)  # before, nobody says anything
            if code != 0 and begun and not _had_ended(work, code, 128 + number, log, expected):
                tally.add(*_judge_interrupted(work, code, 128 + number, log, expected))
        shutil.rmtree(chosen[0].folder)
    return tally


def _had_ended(work: Work, code: int | None, due: int, log: Path, expected: object) -> bool:
    """Whether the signal came after the command, when only the process was left to end."""
    silent = not re.search("graphdep: interrupted|Traceback", _text(log))
    return code == due and silent and work.compared(expected)[0] == "valid"


def _judge_interrupted(
    work: Work, code: int | None, due: int, log: Path, expected: object
) -> tuple[str, str]:
    if code is None:
        return "hangs", f"{work.name}: {tail(log)}"
    if code != due or "graphdep: interrupted" not in _text(log) or "Traceback" in _text(log):
        return "crashes", f"{work.name}: exit {code}: {tail(log)}"
    if left := leftovers(work.folder):
        return "losses", f"{work.name} left {', '.join(left)}"
    return _went_on(work, log, expected, "documented")


if __name__ == "__main__":
    main(__doc__ or "", run, count=60)
