"""The scores of finished runs of a design, as a file that is kept."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from graphdep.io import atomic_path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HEADER = ("digest", "row", "tune", "seed", "metric", "value")


class RunKey(NamedTuple):
    """Which run: ``digest`` is that of its settings, so that tables with the same share their runs; ``tune``
    is ``"lr=0.001"`` for one that only chooses a setting, else empty.
    """

    digest: str
    row: str
    tune: str
    seed: int


class Ledger:
    """A CSV with a line for each run and metric, in six digits; a run that stands in it is not done again.

    Args:
        path: The file; it need not be there.

    Raises:
        ValueError: If a line is not as it was written; names file and line.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from evidence.ledger import Ledger, RunKey
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "roles.csv")
        ...     Ledger(path).add(RunKey("0a1b2c3d", "dt", "", 0), {"test_f1": 0.5})
        ...     Ledger(path).scores("0a1b2c3d", "dt", "test_f1")
        {0: 0.5}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.runs: dict[RunKey, dict[str, float]] = {}
        self._seen: tuple[int, int] | None = None
        self.refresh()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, {len(self.runs)} runs)"

    def refresh(self) -> None:
        """Reads what another process has written since."""
        if not self.path.exists():
            return
        found = os.stat(self.path)
        if (found.st_ino, found.st_mtime_ns) != self._seen:  # each write makes a file of its own
            self._read()
            self._seen = found.st_ino, found.st_mtime_ns

    def _read(self) -> None:
        text = self.path.read_text(encoding="utf-8")
        if not text.endswith("\n"):
            raise ValueError(f"{self.path}: the file is cut: its last line has no line break")
        with io.StringIO(text, newline="") as file:
            rows = csv.reader(file)
            if tuple(next(rows, ())) != HEADER:
                raise ValueError(f"{self.path}:1: the header must be {','.join(HEADER)}")
            runs: dict[RunKey, dict[str, float]] = {}
            for number, row in enumerate(rows, start=2):
                try:
                    digest, name, tune, seed, metric, value = row
                    key = RunKey(digest, name, tune, int(seed))
                    scores = runs.setdefault(key, {})
                    if metric in scores:
                        raise ValueError("a score that is there twice")
                    scores[metric] = _number(value)
                except ValueError as error:
                    raise ValueError(f"{self.path}:{number}: {error} (got {','.join(row)!r})") from None
        self.runs = runs  # what another process has taken out is gone

    def add(self, key: RunKey, scores: Mapping[str, float]) -> None:
        """Writes the scores of a run, with all that stand there already, of another process as well: whole or
        not at all.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with alone(self.path.parent):
            if self.path.exists():
                self._read()
            self.runs[key] = {metric: float(f"{value:.6g}") for metric, value in scores.items()}
            self._write()

    def drop(self, key: RunKey) -> None:
        """Takes a run out of the file, so that it is done again."""
        with alone(self.path.parent):
            self._read()
            self.runs.pop(key, None)
            self._write()

    def _write(self) -> None:
        with atomic_path(self.path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEADER)
            for run, found in sorted(self.runs.items()):
                writer.writerows([*run, metric, f"{found[metric]:.6g}"] for metric in sorted(found))

    def scores(self, digest: str, row: str, metric: str) -> dict[int, float]:
        """A row's score by seed."""
        return {
            key.seed: scores[metric]
            for key, scores in self.runs.items()
            if key[:3] == (digest, row, "") and metric in scores
        }


def _number(text: str) -> float:
    number = float(text)
    if math.isnan(number):
        raise ValueError("a score must be a number")
    return number


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Holds the lock of a folder, which a kill frees as well."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
