"""The runs that designs ask for and that are not done yet, one after the other, until the time is up."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from evidence.design import Design, Table
from evidence.ledger import Ledger, RunKey
from evidence.prepared_files import check_list
from evidence.worker import BUSY, FAILED, Job, Missing, Worker
from graphdep.io import atomic_path
from graphdep.training.config import RESULT
from graphdep.training.task import resolve_task

# What is asked of raw data alone, and of nothing that a run reads once these are prepared.
_RAW = ("raw_from", "ud_from")
FILES = "files"
"""Folder of files other than corpora, beside the prepared ones."""
_CHECKPOINTS = ("best.ckpt", "last.ckpt")
_FLOORS = ("floor", "floor_frozen")
_NOT_SCORES = ("epochs", "best_epoch", "parameters", "seconds_per_epoch", "seconds")


@dataclass(frozen=True)
class State:
    """How far a table is.

    Args:
        design, table: Their names.
        done, failed, left: Numbers of runs.
        seconds: What those that are left may take, one after the other; :obj:`None` where none is done yet.
        errors: What runs died of, by their names.
    """

    design: str
    table: str
    done: int
    failed: int
    left: int
    seconds: float | None
    errors: Mapping[str, str]


class Campaign:
    """Does the runs of designs, in the order of their value: tables of small order first, and of a table a
    seed of every row, so that what there is at any time is a fair table. Of the runs that choose a setting,
    the best is the row's run of seed 0, unless they have a seed of their own.

    A run is done once its scores stand in the ledger of its design, ``RESULTS/<design>.csv``, wherever it was
    done. One that is killed goes on after its last epoch the next time; one that fails is kept with its error
    and not tried again, unless :obj:`retry`. One whose corpus or files are not there is left out, which
    :attr:`missing` tells, and tried again by the next call. Checkpoints of finished runs are deleted,
    predictions are kept.

    Args:
        designs: The designs.
        runs: Folder of the runs.
        results: Folder of the ledgers.
        raw_from: Folder that files of the designs are relative to. (default: :obj:`None`, for corpora that
            are prepared)
        root: Folder of prepared corpora, one folder a task, and of ``files``, which those of the designs are
            relative to where there is no :obj:`raw_from`: what
            :func:`~evidence.prepare.prepare` makes. (default: :obj:`None`, that of each
            task)
        workers: Runs at once, 1 at least, with a thread each. (default: :obj:`1`)
        retry: Try what has failed again. (default: :obj:`False`)
        settings: Settings of all runs that change no score, such as ``accelerator``. (default: none)
        say: Is told of each run. (default: :func:`print`)

    Example:
        >>> from evidence import Campaign, Design
        >>> design = Design.of("tense", {"title": "agreement", "task": "agreement", "metric": "test_accuracy",
        ...     "rows": ["transformer", "dt"], "seeds": 2})
        >>> campaign = Campaign([design], "no-runs", "no-results")
        >>> [(key.seed, key.row) for _, _, key in campaign.left()]
        [(0, 'transformer'), (0, 'dt'), (1, 'transformer'), (1, 'dt')]
    """

    def __init__(
        self,
        designs: Sequence[Design],
        runs: str | os.PathLike[str],
        results: str | os.PathLike[str],
        *,
        raw_from: str | os.PathLike[str] | None = None,
        root: str | os.PathLike[str] | None = None,
        workers: int = 1,
        retry: bool = False,
        settings: Mapping[str, Any] | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        if workers < 1:
            raise ValueError(f"'workers' must be at least 1 (got {workers})")
        self.designs, self.runs, self.results = designs, Path(runs), Path(results)
        self.raw_from, self.root = raw_from, root
        self.workers, self.say = workers, say
        self.settings = dict(settings or {})
        self.retry = retry
        self._left_out: set[tuple[str, RunKey]] = set()  # another campaign does them, or a file is not there
        self.missing: list[str] = []
        self.ledgers = {design.name: Ledger(self.results / f"{design.name}.csv") for design in designs}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.designs)} designs, {str(self.runs)!r})"

    def take_stock(self) -> None:
        """Brings the ledgers up to date with what the runs' folders have: what :meth:`run` begins with."""
        for design in self.designs:
            self._drop_cut_runs(design)
            if self.retry:
                self._forget_failures(design)
        self._collect()
        for design in self.designs:
            self._take_best_tries(design)

    def _drop_cut_runs(self, design: Design) -> None:
        """Runs whose score is not in the ledger, which was cut or edited, are done again."""
        ledger = self.ledgers[design.name]
        chosen_by = f"val_{resolve_task(design.task).metrics[0].name}"
        for key, scores in [*ledger.runs.items()]:
            needed = chosen_by if key.tune else design.metric
            if needed not in scores:
                self.say(f"{design.name} {key.row} seed {key.seed}: no {needed} in the ledger, run again")
                ledger.drop(key)

    def _forget_failures(self, design: Design) -> None:
        """What failed is tried again, but for a setting of a row that has runs without it: these were tuned
        among the others.
        """
        for table in design.tables:
            for row in table.rows:
                tuned = self._is_tuned(design, table, row)
                keys = [RunKey(table.digest, row, "", seed) for seed in range(table.seeds)]
                keys += (
                    []
                    if tuned
                    else [RunKey(table.digest, row, text, design.tune_seed) for text in design.tries]
                )
                for key in keys:
                    (self.folder(design, key) / FAILED).unlink(missing_ok=True)

    def _is_tuned(self, design: Design, table: Table, row: str) -> bool:
        """Whether runs have the setting that this table's tries chose, other than the best try itself: a try
        that is made up for could choose another one.
        """
        others = {one.digest for one in design.tables if design.tuning(one) is table}
        return any(
            key.digest in others
            and key.row == row
            and not key.tune
            and (key.seed or key.digest != table.digest)
            for key in self.ledgers[design.name].runs
        )

    def run(self, minutes: float) -> None:
        """Runs what is left for so many minutes, and ends what then still runs."""
        if self.raw_from is None and self.root is not None:
            check_list(Path(self.root))
        self.take_stock()
        end = time.monotonic() + 60 * minutes
        self.runs.mkdir(parents=True, exist_ok=True)
        context = multiprocessing.get_context("spawn")
        workers = [Worker(context, self.runs / f"worker-{number}.log") for number in range(self.workers)]
        try:
            while time.monotonic() < end:
                busy = {worker.job.key for worker in workers if worker.job is not None}
                for worker in workers:
                    if worker.job is None and (job := self._next(busy)) is not None:
                        worker.start(job)
                        busy.add(job.key)
                if not busy:
                    break
                pipes = [worker.pipe for worker in workers if worker.job is not None]
                wait(pipes, timeout=max(0.0, end - time.monotonic()))
                for worker in workers:
                    self._take(worker)
        finally:
            for worker in workers:
                worker.stop()

    def left(self) -> Iterator[tuple[Design, Table, RunKey]]:
        """The runs that can be done now, the next one first."""
        found = []
        for place, design in enumerate(self.designs):
            for table in design.tables:
                for row in table.rows:
                    for key in self._keys(design, table, row):
                        if key in self.ledgers[design.name].runs or self._has_failed(design, key):
                            continue
                        first = (table.order, key.seed if not key.tune else -1, place)
                        found.append(((*first, table.rows.index(row)), design, table, key))
        for _, design, table, key in sorted(found, key=lambda one: one[0]):
            yield design, table, key

    def states(self) -> list[State]:
        """How far each table is, in the order in which they are done."""
        tables = [
            (table.order, number, design, table)
            for number, design in enumerate(self.designs)
            for table in design.tables
        ]
        return [self._state(design, table) for _, _, design, table in sorted(tables, key=lambda one: one[:2])]

    def running(self) -> Counter[tuple[str, str]]:
        """How many runs somebody is at, by the names of design and table."""
        from graphdep.training.run import is_locked

        return Counter(
            (design.name, table.name)
            for design, table, key in self.left()
            if is_locked(self.folder(design, key))
        )

    def folder(self, design: Design, key: RunKey) -> Path:
        """The folder of a run."""
        name = "_".join([key.row, f"seed{key.seed}", *([key.tune] if key.tune else [])])
        return self.runs / design.name / key.digest / name

    def config(self, design: Design, table: Table, key: RunKey, *, chosen: bool = True) -> Any:
        """The settings of a run.

        Args:
            design, table, key: Which run.
            chosen: With the setting that the row is tuned to. (default: :obj:`True`)

        Raises:
            FileNotFoundError: If a file that it needs is not there; names it.
        """
        tuned = self._chosen(design, table, key) if chosen else {}
        more = {**self._files(design, table), **self.settings, **tuned}
        if self.root is not None:
            more["root"] = str(Path(self.root, design.task))
        return design.config(table, key.row, key.seed, **more)

    def _files(self, design: Design, table: Table) -> dict[str, str]:
        files = {}
        for name, value in table.files.items():
            if self.raw_from is None and name in _RAW:
                continue
            base = Path(self.root or ".", FILES) if self.raw_from is None else Path(self.raw_from)
            path = base / value
            if not path.exists():
                advice = (
                    ""
                    if self.raw_from is not None or self.root is not None
                    else ": give 'raw_from' or 'root'"
                )
                raise FileNotFoundError(f"design {design.name}: {name} {str(path)!r} is not there{advice}")
            files[name] = str(path)
        return files

    def _keys(self, design: Design, table: Table, row: str) -> list[RunKey]:
        """All runs of a row that can be asked for now: those that choose a setting come first."""
        tuning = design.tuning(table)
        tries = [RunKey(tuning.digest, row, text, design.tune_seed) for text in design.tries]
        known = self.ledgers[design.name].runs
        own = tries if tuning is table else []
        if any(key not in known and not self._has_failed(design, key) for key in tries):
            return own
        return own + [RunKey(table.digest, row, "", seed) for seed in range(table.seeds)]

    def _chosen(self, design: Design, table: Table, key: RunKey) -> dict[str, Any]:
        """The setting that a row is tuned to, or that is tried."""
        if not design.tries or key.tune:
            return design.tries.get(key.tune, {})
        best = self._best_try(design, table, key.row)
        if best is None:
            raise ValueError(
                f"design {design.name}: no {', '.join(design.tune)} of row {key.row} could be run"
            )
        return design.tries[best.tune]

    def _best_try(self, design: Design, table: Table, row: str) -> RunKey | None:
        """Of the runs that choose a setting, the best on the validation split, of equal ones the first."""
        runs, metric = self.ledgers[design.name].runs, resolve_task(design.task).metrics[0]
        tries = [RunKey(design.tuning(table).digest, row, text, design.tune_seed) for text in design.tries]
        chosen_by = f"val_{metric.name}"
        scored = {key: runs[key][chosen_by] for key in tries if chosen_by in runs.get(key, ())}
        best = max if metric.maximize else min
        return best(scored, key=lambda key: scored[key]) if scored else None

    def _take_best_tries(self, design: Design) -> None:
        """The best try is the run of seed 0: it had the same settings."""
        ledger = self.ledgers[design.name]
        for table in design.tables if design.tries and not design.tune_seed else ():
            for row in table.rows if design.tuning(table) is table else ():
                first, asked = RunKey(table.digest, row, "", 0), self._keys(design, table, row)
                best = self._best_try(design, table, row)
                if best is None or first not in asked or ledger.runs.get(first) == ledger.runs[best]:
                    continue
                if first not in ledger.runs or not self._is_tuned(design, table, row):
                    ledger.add(first, ledger.runs[best])

    def _next(self, busy: set[RunKey]) -> Job | None:
        for ledger in self.ledgers.values():
            ledger.refresh()  # another campaign may have done what was left
        for design, table, key in self.left():
            if key in busy or (design.name, key) in self._left_out:
                continue
            try:
                config = self.config(design, table, key)
            except (OSError, ValueError) as error:  # of the call, not of the run: the next call may have it
                self._leave_out(design, {key}, str(error))
                continue
            done = sum(state.done for state in self.states())
            title = " ".join(filter(None, [design.name, table.name, key.row, f"seed {key.seed}", key.tune]))
            self.say(f"[{done} done] {title}")
            return Job(design.name, key, config, self.folder(design, key), title)
        return None

    def _take(self, worker: Worker) -> None:
        """What a worker has to say, if anything."""
        job, answer = worker.job, worker.answer()
        if job is None or answer is None:
            return
        design = next(design for design in self.designs if design.name == job.design)
        if answer == BUSY:
            self._left_out.add((design.name, job.key))
            self.say(f"left out, {BUSY}: {job.title}")
        elif isinstance(answer, Missing):
            others = {key for its, _, key in self.left() if its is design}
            self._leave_out(design, others, f"design {design.name}: {answer.what}")
        elif isinstance(answer, str):
            self._fail(design, job.key, answer)
        else:
            self._finish(design, job.key, answer)

    def _leave_out(self, design: Design, keys: set[RunKey], why: str) -> None:
        self._left_out |= {(design.name, key) for key in keys}
        if why not in self.missing:
            self.missing.append(why)
            self.say(f"left out: {why}")

    def _finish(self, design: Design, key: RunKey, result: Mapping[str, Any]) -> None:
        chosen_by = f"val_{resolve_task(design.task).metrics[0].name}"
        scores = {name: result[name] for name in _NOT_SCORES if isinstance(result.get(name), (int, float))}
        for kind, found in (("", result["metrics"]), *((f"{k}_", result.get(k) or {}) for k in _FLOORS)):
            scores |= {
                f"{kind}{name}": value
                for name, value in found.items()
                if name.startswith("test_") or name == chosen_by
            }
        scores |= _parts_of_test(result.get("tables") or {})
        self.ledgers[design.name].add(key, scores)
        if key.tune:
            self._take_best_tries(design)
        for name in _CHECKPOINTS:
            (self.folder(design, key) / name).unlink(missing_ok=True)

    def _fail(self, design: Design, key: RunKey, error: str) -> None:
        folder = self.folder(design, key)
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_path(folder / FAILED) as temporary:
            temporary.write_text(error + "\n", encoding="utf-8")
        self.say(f"failed: {folder.name}: {error.splitlines()[-1] if error else error}")

    def _has_failed(self, design: Design, key: RunKey) -> bool:
        return (self.folder(design, key) / FAILED).exists()

    def _collect(self) -> None:
        """Scores of runs that were finished when nobody was there to write them down."""
        for design in self.designs:
            for table in design.tables:
                for row in table.rows:
                    for key in self._keys(design, table, row):
                        path = self.folder(design, key) / RESULT
                        if key not in self.ledgers[design.name].runs and path.exists():
                            # Cut, or not what a run writes: it is run again.
                            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
                                self._finish(design, key, json.loads(path.read_text(encoding="utf-8")))

    def _state(self, design: Design, table: Table) -> State:
        ledger = self.ledgers[design.name]
        tries = len(design.tries) if design.tuning(table) is table else 0
        done = [key for key in ledger.runs if key.digest == table.digest]
        done = [key for key in done if key.row in table.rows and (key.tune or key.seed < table.seeds)]
        errors = {}
        for row in table.rows:
            for key in self._keys(design, table, row):
                path = self.folder(design, key) / FAILED
                if key not in ledger.runs and path.exists():
                    errors[path.parent.name] = path.read_text(encoding="utf-8").strip()
        left = len(table.rows) * (table.seeds + tries) - len(done) - len(errors)
        took = [took for key in done if (took := _seconds(ledger.runs[key])) is not None]
        seconds = left * statistics.fmean(took) if took else None
        return State(design.name, table.name, len(done), len(errors), left, seconds, errors)

    def failed_seeds(self, design: Design, table: Table, rows: Iterable[str]) -> set[int]:
        """Seeds of which one of these rows has failed."""
        keys = (RunKey(table.digest, row, "", seed) for row in rows for seed in range(table.seeds))
        runs = self.ledgers[design.name].runs
        return {key.seed for key in keys if key not in runs and self._has_failed(design, key)}

    def predictions(self, design: Design, table: Table, row: str) -> dict[int, Path]:
        """The folders of a row's runs whose predictions are there, by seed."""
        from graphdep.training.evaluation import PREDICTIONS

        folders = {
            seed: self.folder(design, RunKey(table.digest, row, "", seed)) for seed in range(table.seeds)
        }
        best = self._best_try(design, table, row) if design.tuning(table) is table else None
        if best is not None and not (folders[0] / PREDICTIONS).exists():
            folders[0] = self.folder(design, best)
        return {seed: path for seed, path in folders.items() if (path / PREDICTIONS).exists()}


def _seconds(scores: Mapping[str, float]) -> float | None:
    """How long a run took; its epochs alone, where nobody was there to see it end."""
    if "seconds" in scores or "epochs" not in scores or "seconds_per_epoch" not in scores:
        return scores.get("seconds")
    return scores["epochs"] * scores["seconds_per_epoch"]


def _parts_of_test(tables: Mapping[str, Any]) -> dict[str, float]:
    """Scores of parts of the test split, such as ``"test_exact/types/deeper recursion"`` and
    ``"test_f1/distance/3-4"``, of tables whose rows have a name and a score.
    """
    found = {}
    for name, rows in tables.get("test", {}).items():
        for row in rows:
            part = row.get("type", row.get("range"))
            for score in ("exact", "f1"):
                if part is not None and score in row:
                    found[f"test_{score}/{name}/{part}"] = row[score]
    return found
