"""What writes to disk, on tiny corpora: to be killed, to run out of disk, or to be run twice at once."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from harness import PATIENCE, command, difference, leftovers, program, start, tail, wait, whole

SIZES = {
    "hidden_channels": 8,
    "ff_channels": 8,
    "num_layers": 1,
    "heads": 2,
    "batch_size": 8,
    "accelerator": "cpu",
}


@dataclass
class Work:
    """Something that a process does in a folder.

    Args:
        name: Its name in the table.
        folder: Where all of it is written.
        action: What is done; done again, it goes on.
        result: What is there then, to be compared.
        prepare: Puts into the folder what is needed before. (default: nothing)
        check: What is wrong after a kill, before it is done again; empty where nothing is. (default: nothing)
    """

    name: str
    folder: Path
    action: Callable[[], object]
    result: Callable[[], object]
    prepare: Callable[[], object] = lambda: None
    check: Callable[[], str] = lambda: ""

    def fresh(self) -> None:
        """Makes the folder as it is before."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.prepare()

    def undisturbed(self, log: Path) -> tuple[object, float]:
        """What it gives when nothing is in its way, and the seconds that it takes."""
        self.fresh()
        seconds = whole(self.action, log)
        return self.result(), seconds

    def again(self, log: Path, expected: object) -> tuple[str, str]:
        """The outcome of doing it once more, after whatever has happened."""
        code = wait(start(self.action, log), PATIENCE)
        if code != 0:
            return ("hangs" if code is None else "losses"), f"{self.name}, again: exit {code}: {tail(log)}"
        return self.compared(expected)

    def compared(self, expected: object) -> tuple[str, str]:
        """Whether its result is that of the undisturbed one, and nothing temporary lies beside it."""
        try:
            found = self.result()
        except Exception as error:
            return "losses", f"{self.name} has no result: {error!r}"
        if found != expected:
            return "losses", f"{self.name} gives another result: {difference(expected, found)}"
        left = leftovers(self.folder)
        return ("losses", f"{self.name} left {', '.join(left)}") if left else ("valid", "")


def works(folder: Path) -> list[Work]:
    """All of them, with their corpora in the folder."""
    # Children are forked: what is imported here, they have.
    import graphdep.cli
    import graphdep.training  # noqa: F401

    work = folder / "work"
    return [
        *_parsing(folder, work),
        *_processing(folder, work),
        *training(folder, work),
        _two_devices(folder, work),
        *_tables(folder, work),
        _saving(folder, work),
    ]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _rows(path: Path) -> list[Any]:
    """All rows of all tables of a database."""
    with closing(sqlite3.connect(path)) as database:
        tables = sorted(
            name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
        )
        return [(name, sorted(database.execute(f"SELECT * FROM {name}"), key=repr)) for name in tables]


# -- parsing and corpora ---------------------------------------------------------------------------------


# Texts of the two works; 256 are a shard, and two processes need more than one.
_TEXTS, _MANY_TEXTS = 90, 600


def _parsing(folder: Path, work: Path) -> list[Work]:
    store, output = work / "parses.sqlite", work / "trees.conllu"

    def made(name: str, number: int, *options: object) -> Work:
        texts = folder / f"{number}.txt"
        lines = [f"The {('cat', 'man', 'bird')[n % 3]} {n} saw a dog.\n" for n in range(number)]
        texts.write_text("".join(lines), encoding="utf-8")

        def check() -> str:
            """There is no output, or all of it."""
            there = output.read_text(encoding="utf-8").count("\n\n") if output.exists() else number
            return "" if there == number else f"an output of {there} trees, not of {number}"

        # An output that is there is a user's, unless they say otherwise.
        action = command("parse", texts, "--cache", store, "--output", output, "--overwrite", *options)
        return Work(name, work, action, lambda: (_digest(output), _rows(store)), check=check)

    return [
        made("parse, one process", _TEXTS),
        # Of chains: what two processes do about shards is the same for every parser.
        made("parse, two processes", _MANY_TEXTS, "--workers", 2, "--parser", "chain"),
    ]


def _processing(folder: Path, work: Path) -> list[Work]:
    from tests.kit.tiny_corpora import write_tiny_selection, write_tiny_sst

    sst, pairs = write_tiny_sst(folder / "sst"), write_tiny_selection(folder / "ubuntu")

    def process() -> None:
        from graphdep.datasets import SST

        SST(work, "train", sst["parser"], log=False)

    def store() -> None:
        from graphdep.datasets import Ubuntu

        Ubuntu(work, "test", pairs["parser"], log=False)

    return [
        Work(
            "dataset processing",
            work,
            process,
            lambda: [(path.name, _digest(path)) for path in sorted(work.rglob("*.pt"))],
            lambda: shutil.copytree(Path(sst["root"], "raw"), work / "raw"),
        ),
        Work(
            "pairs on disk",
            work,
            store,
            lambda: [(path.name, _rows(path)) for path in sorted(work.rglob("*.sqlite"))],
            lambda: shutil.copytree(Path(pairs["root"], "raw"), work / "raw"),
        ),
    ]


# -- training, in each family ------------------------------------------------------------------------------


FAMILIES = ("sentences", "dialogues", "selection", "labels", "spans")


def _families(folder: Path) -> dict[str, dict[str, Any]]:
    """The settings of a run of each family."""
    from tests.kit.tiny_corpora import (
        write_tiny_dialogues,
        write_tiny_propbank,
        write_tiny_selection,
        write_tiny_semeval2010,
        write_tiny_sst,
    )

    chain = {"parser": "chain"}
    return {
        "sentences": {"task": "sst", "model": "dt", **write_tiny_sst(folder / "sentences")},
        "dialogues": {
            "task": "dailydialog",
            "model": "transformer",
            "min_freq": 1,
            "limit_generate": 4,
            **write_tiny_dialogues(folder / "dialogues"),
        },
        "selection": {
            "task": "ubuntu",
            "encoder": "transformer",
            **write_tiny_selection(folder / "selection"),
        },
        "labels": {"task": "propbank-ewt", "model": "dt", **write_tiny_propbank(folder / "labels")},
        "spans": {"task": "semeval2010", "model": "dt", **write_tiny_semeval2010(folder / "spans"), **chain},
    }


def _options(settings: dict[str, Any]) -> list[str]:
    """As a command takes them: some settings have options of their own."""
    named = {name: settings[name] for name in ("task", "model", "root", "parser") if name in settings}
    sets = [("--set", f"{name}={value}") for name, value in settings.items() if name not in named]
    return [part for pair in [*((f"--{n}", str(v)) for n, v in named.items()), *sets] for part in pair]


def training(folder: Path, work: Path) -> list[Work]:
    """A run of each family."""
    found = []
    for family, settings in _families(folder).items():
        sizes = {name: value for name, value in SIZES.items() if name not in settings}
        given = _options({**sizes, **settings, "max_epochs": 4})
        action = command("train", *given, "--resume", "--output", work / "run")
        found.append(Work(f"train, {family}", work, action, lambda: runs(work)))
    return found


def _two_devices(folder: Path, work: Path) -> Work:
    """A run of two processes that train one model."""
    settings = {**SIZES, **_families(folder)["sentences"], "precision": "32-true", "dropout": 0.0}
    given = [*_options({**settings, "max_epochs": 4}), "--devices", 2, "--resume", "--output", work / "run"]
    return Work("train, two devices", work, program("train", *given), lambda: runs(work))


def runs(folder: Path) -> list[Any]:
    """What the runs below a folder have found, and the names of their files."""
    found: list[Any] = []
    for path in sorted(folder.rglob("result.json")):
        result, weights = json.loads(path.read_text(encoding="utf-8")), path.parent / "best.ckpt"
        said = {key: result[key] for key in ("metrics", "floor", "epochs", "best_epoch", "config")}
        state = torch.load(weights, weights_only=True)["state_dict"]
        numbers = {name: hashlib.sha256(x.numpy().tobytes()).hexdigest() for name, x in state.items()}
        # A kill between the first best.ckpt and last.ckpt sets the one aside: no checkpoint is ever deleted.
        files = sorted(file.name for file in path.parent.iterdir() if not file.name.startswith("previous"))
        predictions = _digest(path.parent / "predictions.csv")
        found.append(
            (path.parent.name, said, numbers, predictions, files, _values(path.parent / "metrics.csv"))
        )
    return found


def _values(path: Path) -> list[dict[str, str]]:
    """The values of epochs, without how long they took."""
    with open(path, encoding="utf-8", newline="") as file:
        return [{k: v for k, v in row.items() if "seconds" not in k} for row in csv.DictReader(file)]


def _tables(folder: Path, work: Path) -> list[Work]:
    from tests.kit.tiny_corpora import write_tiny_sst

    given = _options({**SIZES, **write_tiny_sst(folder / "table"), "max_epochs": 2})
    own = ("--task", "sst", *given, "--output", work / "table")

    def result() -> object:
        with open(work / "table" / "table.csv", encoding="utf-8", newline="") as file:
            rows = [{k: v for k, v in row.items() if k != "s/epoch"} for row in csv.DictReader(file)]
        return rows, runs(work)

    return [
        Work("ablate", work, command("ablate", "--models", "transformer,dt", "--seeds", 1, *own), result),
        Work(
            "needs-structure",
            work,
            command("needs-structure", "--minutes", 60, "--seeds", 2, *own),
            lambda: runs(work),
        ),
    ]


def _saving(folder: Path, work: Path) -> Work:
    """A model over another one: until it is whole, the folder is refused."""
    from graphdep.training import load_task
    from graphdep.training.hub import write_model_folder

    @cache
    def models() -> list[Any]:
        return _two_models(folder)

    def check() -> str:
        try:
            task, _ = load_task(work / "model")
        except (ValueError, FileNotFoundError):
            return ""
        whole = [_weights(one) for one, _ in models()]
        return "" if _weights(task) in whole else "a model that is half of another one"

    return Work(
        "save_pretrained",
        work,
        lambda: write_model_folder(work / "model", *models()[1], overwrite=True),
        lambda: [(path.name, _digest(path)) for path in sorted((work / "model").iterdir())],
        lambda: write_model_folder(work / "model", *models()[0]),
        check,
    )


def _two_models(folder: Path) -> list[Any]:
    from graphdep.training import TrainConfig, load_task, train
    from tests.kit.tiny_corpora import write_tiny_sst

    settings = {**SIZES, **write_tiny_sst(folder / "saved"), "max_epochs": 1}
    configs = (TrainConfig.of("dt", task="sst", seed=seed, **settings) for seed in (0, 1))
    return [load_task(train(config, folder / f"s{config.seed}")["checkpoint"]) for config in configs]


def _weights(task: Any) -> dict[str, bytes]:
    return {name: x.numpy().tobytes() for name, x in task.state_dict().items()}
