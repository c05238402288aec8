"""What the campaigns share: how long and how much, the count of what came out, children to be killed."""

from __future__ import annotations

import argparse
import contextlib
import csv
import fcntl
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))  # the package of this folder, and tests.kit
TABLE = ROOT / "examples" / "research" / "results" / "campaigns.csv"
# What one case may take; work that is done to its end, on a machine that is busy as well.
SECONDS, BYTES, PATIENCE = 60, 2**31, 300


@dataclass
class Tally:
    """What came out of the cases of one kind.

    ``valid`` cases gave the result that they must give, ``documented`` ones an error that the documentation
    names. ``crashes`` ended in another error, ``hangs`` took longer than a minute (work that is done to its
    end: five), ``losses`` are all the rest: a wrong or lost result, memory above the bound, leftovers.
    """

    campaign: str
    kind: str
    seed: int
    cases: int = 0
    documented: int = 0
    valid: int = 0
    crashes: int = 0
    hangs: int = 0
    losses: int = 0
    seconds: float = 0.0
    found: list[str] = field(default_factory=list)

    @property
    def bad(self) -> int:
        """Cases that the package failed."""
        return self.crashes + self.hangs + self.losses

    def add(self, outcome: str, about: str = "") -> None:
        """Counts a case; what is bad is kept, the first twenty of it."""
        self.cases += 1
        setattr(self, outcome, getattr(self, outcome) + 1)
        if outcome in ("crashes", "hangs", "losses") and len(self.found) < 20:
            shown = about.encode("unicode_escape").decode()
            self.found.append(f"{self.campaign}/{self.kind} case {self.cases}: {outcome}: {shown}")


class Bounds:
    """How much of a campaign is run: so many cases a kind, or until the time is over; ``only`` kinds whose
    names have a text in them.
    """

    def __init__(self, seed: int = 0, count: int = 10, minutes: float | None = None, only: str = "") -> None:
        self.seed, self.count, self.minutes, self.only = seed, count, minutes, only
        self._end = None if minutes is None else time.monotonic() + 60 * minutes

    def over(self) -> bool:
        return self._end is not None and time.monotonic() > self._end

    def more(self, cases: int) -> bool:
        """Whether another case is wanted after so many; one there is in any time."""
        return cases < self.count and not (cases and self.over())

    def part(self, parts: int) -> Bounds:
        """The bounds of one of so many equal parts, which begins now."""
        minutes = None if self.minutes is None else self.minutes / parts
        return Bounds(self.seed, self.count, minutes, self.only)

    def wants(self, kind: str) -> bool:
        """Whether a kind is to be run."""
        return self.only in kind

    def random(self, *names: object) -> random.Random:
        """Random numbers that depend on the seed and some names alone."""
        return random.Random(":".join(map(str, (self.seed, *names))))


@contextlib.contextmanager
def timed(tally: Tally) -> Iterator[Tally]:
    """Adds the CPU seconds of the block, with those of children that have ended."""
    start = _cpu()
    try:
        yield tally
    finally:
        tally.seconds += _cpu() - start


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


# -- children --------------------------------------------------------------------------------------------


# What a child says goes through a pipe, which holds all of it: a limit on files is not one on messages.
_said: dict[int, tuple[int, Path]] = {}
_ROOM = 2**20


def start(action: Callable[[], object], log: Path) -> int:
    """Forks a child that does something and ends: 0, or 1 after an exception, which is in the log."""
    sys.stdout.flush()
    sys.stderr.flush()
    read, write = os.pipe()
    with contextlib.suppress(OSError):
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, _ROOM)
    child = os.fork()
    if child:
        os.close(write)
        os.set_blocking(read, False)
        _said[child] = read, log
        return child
    code = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(write, 1)
        os.dup2(write, 2)
        os.close(read)
        os.close(write)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
        code = _code(action)
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
            sys.stdout.flush()
    finally:
        os._exit(code)


def _code(action: Callable[[], object]) -> int:
    try:
        action()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except KeyboardInterrupt:
        return 130
    except BaseException:
        import traceback

        traceback.print_exc()
        return 1
    return 0


def wait(child: int, seconds: float = SECONDS) -> int | None:
    """The exit code of a child, negative after a signal; None if it had to be killed for its time."""
    end, pause = time.monotonic() + seconds, 0.002
    try:
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(pause)
            pause = min(0.05, 1.5 * pause)
        kill(child)
        os.waitpid(child, 0)
        return None
    finally:
        _write_log(child)


def _write_log(child: int) -> None:
    read, log = _said.pop(child)
    log.write_bytes(b"")
    with contextlib.suppress(BlockingIOError):  # a child of the child lives
        log.write_bytes(os.read(read, _ROOM))
    os.close(read)


def kill(child: int, number: int = signal.SIGKILL) -> None:
    """Sends a signal to a child and its own children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, number)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, number)


def whole(action: Callable[[], object], log: Path) -> float:
    """Does some work to its end, and says how many seconds it took.

    Raises:
        RuntimeError: If it does not come to its end.
    """
    began = time.monotonic()
    code = wait(start(action, log), PATIENCE)
    if code != 0:
        raise RuntimeError(f"{'a hang' if code is None else f'exit {code}'} when undisturbed: {tail(log)}")
    return time.monotonic() - began


def command(*arguments: object) -> Callable[[], None]:
    """What a command of graphdep does, in this process."""

    def action() -> None:
        from graphdep.cli import app

        app([str(argument) for argument in arguments], prog_name="graphdep")

    return action


def program(*arguments: object) -> Callable[[], None]:
    """The same in a program of its own, which can start itself again."""
    command = [sys.executable, "-m", "graphdep", *map(str, arguments)]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))

    def action() -> None:
        os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": path})

    return action


def leftovers(*folders: Path) -> list[str]:
    """Temporary files that are still there."""
    found = [path for folder in folders for path in folder.rglob(".*") if path.name != ".lock"]
    return sorted(path.name for path in found if re.search(r"\.[a-z0-9_]{8}(\.|$)", path.name))


def tail(log: Path) -> str:
    """The last line of a log."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.exists() else []
    return lines[-1][:300] if lines else ""


def difference(one: object, other: object) -> str:
    """The first part in which two results differ."""
    if type(one) is type(other) and isinstance(one, (list, tuple)) and len(one) == len(other):
        return next((difference(*pair) for pair in zip(one, other) if pair[0] != pair[1]), "")
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next(
            (f"{key}: {difference(one[key], other[key])}" for key in one if one[key] != other[key]), ""
        )
    return f"{str(one)[:100]} and {str(other)[:100]}"


# -- as scripts ------------------------------------------------------------------------------------------


def main(
    about: str,
    run: Callable[[Bounds, Path], Iterator[Tally]],
    *,
    count: int,
    minutes: float | None = None,
    limited: bool = False,
) -> None:
    """Runs a campaign from the command line, prints the counts of each kind as it ends and adds them to the
    table of all. ``count`` and ``minutes`` are those of the committed table.

    With ``limited``, the process may get no more than :data:`BYTES` beyond what it has.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--count", type=int, default=count, help="cases a kind at most (default: %(default)s)"
    )
    bound = "when all are done" if minutes is None else f"{minutes:g}"
    parser.add_argument(
        "--minutes", type=float, default=minutes, help=f"end after about so many (default: {bound})"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="kinds whose names have it")
    parser.add_argument("--write", action="store_true", help=f"put the counts into {TABLE.name} and its page")
    given = parser.parse_args()
    if given.count < 1:
        parser.error(f"--count must be at least 1 (got {given.count})")
    with tempfile.TemporaryDirectory() as folder:
        if limited:
            _limit_memory()
        bad = 0
        for tally in run(Bounds(given.seed, given.count, given.minutes, given.only), Path(folder)):
            _show(tally)
            bad += tally.bad
            if given.write:
                from table import write_table

                write_table([tally])
    sys.exit(bool(bad))


def _show(tally: Tally) -> None:
    each = f"{tally.cases / tally.seconds:,.0f} a second" if tally.seconds else ""
    counts = (f"{key}={value}" for key, value in asdict(tally).items() if key != "found")
    print(*counts, each, *(f"\n    {line}" for line in tally.found), flush=True)


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


COLUMNS = [column.name for column in fields(Tally) if column.name != "found"]


def read_table(path: Path = TABLE) -> list[dict[str, str]]:
    """The committed counts."""
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
