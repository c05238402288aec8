"""The example of own edges: an ablation of own texts that is stopped goes on, to the same table."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from graphdep.training.checkpoint import RunCheckpoint
from graphdep.transforms import presets as registry

SCRIPT = Path(__file__).parents[2] / "examples" / "own_edges.py"
SIZES = ("hidden_channels=8", "ff_channels=8", "num_layers=1", "heads=2", "relation_dim=4", "lr=0.05")


@pytest.fixture
def texts(tmp_path):
    """Settings that name two files of texts."""
    for name, size in (("train", 24), ("test", 12)):
        words = [("fine", "dull")[number % 2] for number in range(size)]
        rows = [(f"a {word} {'very ' * (i % 5)}film", word == "fine") for i, word in enumerate(words)]
        with open(tmp_path / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows([("text", "good"), *rows])
    files = [f"{name}={tmp_path / name}.csv" for name in ("train", "test")]
    return [*files, "text_columns=text", "label_column=good", f"root={tmp_path / 'data'}", "parser=chain"]


@pytest.fixture
def run(example, texts, monkeypatch):
    """Runs the example in a folder, as in a process of its own."""

    def call(folder: Path) -> str:
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        monkeypatch.setattr(registry, "_own", {})
        own = ("max_epochs=2", "batch_size=8", "accelerator=cpu")
        return example(SCRIPT.name, *texts, *SIZES, *own).stdout

    return call


def rows(table: str) -> list[list[str]]:
    """The cells but for the seconds of an epoch."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-2]] for line in lines]


@pytest.mark.slow
def test_a_stopped_ablation_goes_on_where_it_was(run, tmp_path, monkeypatch):
    expected = run(tmp_path / "whole")
    ended = RunCheckpoint.on_train_epoch_end
    epochs = []

    def stopped(self, *args):
        ended(self, *args)
        epochs.append(self.folder)
        if len(epochs) == 5:  # the first of the third run
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunCheckpoint, "on_train_epoch_end", stopped)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "stopped")
    folder = tmp_path / "stopped" / "runs" / "own_edges"
    finished = {path: path.stat().st_mtime_ns for path in folder.rglob("result.json")}
    assert len(finished) == 2
    assert len({path.parent for path in folder.rglob("*.ckpt")}) == 3

    trained = []

    def counted(self, *args):
        ended(self, *args)
        trained.append(self.folder)

    with monkeypatch.context() as patch:
        patch.setattr(RunCheckpoint, "on_train_epoch_end", counted)
        table = run(tmp_path / "stopped")
    assert len(trained) == 9 * 2 - 5
    assert all(path.stat().st_mtime_ns == time for path, time in finished.items())
    assert not {path.parent for path in finished} & {*trained}
    assert rows(table) == rows(expected)

    names = ["transformer", "dra", "window"]
    assert [cells[0] for cells in rows(table)[4:]] == names
    interval = re.compile(r"[+-]0\.\d{4} \[[+-]\d\.\d{4}, [+-]\d\.\d{4}\]|same predictions")
    assert [bool(interval.fullmatch(cells[2])) for cells in rows(table)[4:]] == [False, True, True]
    assert "along `((Window(size=2) | RootEdges(scope='utterance')) | SelfLoops" in table


def test_the_window_is_what_it_says(monkeypatch):
    from runpy import run_path

    from graphdep import Sentence, to_data

    monkeypatch.setattr(registry, "_own", {})
    window = run_path(str(SCRIPT))["Window"]
    data = to_data([Sentence.chain(list("abcde")), Sentence.chain(["a"]), Sentence.chain(["a", "b"])])
    place = {node: (utterance, word) for node, (utterance, word) in enumerate(zip(data.utterance, data.word))}
    for size in (1, 2, 9):
        pairs = set(map(tuple, window(size)(data.clone()).edge_index.T.tolist()))
        words = [node for node in place if place[node][1] >= 0]
        expected = {
            (s, t)
            for s in words
            for t in words
            if place[s][0] == place[t][0] and 0 < abs(place[s][1] - place[t][1]) <= size
        }
        assert pairs == expected


def test_it_stays_short():
    lines = [line for line in SCRIPT.read_text().partition('"""\n\nimport')[2].splitlines() if line.strip()]
    assert len(lines) <= 30
