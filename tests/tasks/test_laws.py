"""Laws of runs, for families, models and settings that Hypothesis draws."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from lightning import Callback

import graphdep
from graphdep.io.files import BEST
from graphdep.parsing import BundledParser
from graphdep.tasks import family_of
from graphdep.testing import assert_same_batch
from graphdep.training import TrainConfig, evaluate, load_splits, load_task, read_checkpoint, train
from graphdep.training.config import CONTROLS
from graphdep.training.evaluation import PREDICTIONS
from graphdep.training.hub import write_model_folder
from graphdep.training.settings import PARSED
from graphdep.transforms.presets import PRESETS
from tests.kit.tiny_corpora import read_tiny_treebank

TASKS = ("sick-e", "csv", "cola", "dailydialog", "ubuntu", "post-train", "ud-tags", "propbank-ewt", "labels")
TASKS += ("semeval2010", "aspects", "conll04")
SETTINGS: dict[str, tuple[Any, ...]] = {
    "batch_tokens": (40, 90),
    "batch_pieces": (60, 200),
    "num_workers": (1,),
    "val_every": (2,),
    "warmup_steps": (4,),
    "frozen": (True,),
    "edges": tuple(PRESETS),
    "position_embedding": (False,),
    "norm_first": (True,),
    "dropout": (0.0, 0.3),
    "crf": (True,),
    "form": ("spans",),
    "word_state": ("first", "mean"),
    "readout": ("top", "mean", "pair"),
    "path": (True,),
}
PLACES = ("root", "parser", "train", "val", "test", "raw_from")


class Run(NamedTuple):
    """A task, a model, perhaps with a control, and settings."""

    task: str
    model: str
    settings: dict[str, Any]


@st.composite
def runs(draw: st.DrawFn, tasks: tuple[str, ...]) -> Run:
    task = draw(st.sampled_from(tasks))
    model = draw(st.sampled_from([*family_of(task).config(task).models]))
    # Rows of a user's own need not have the trees of @gold.
    control = draw(st.sampled_from(["", "", *(f"@{name}" for name in CONTROLS if name != "gold")]))
    own = {name: st.sampled_from(values) for name, values in SETTINGS.items()}
    return Run(task, model + control, draw(st.fixed_dictionaries({}, optional=own)))


# One of each family and kind of batches.
ALWAYS = (
    Run("csv", "dt@random", {"num_workers": 1, "dropout": 0.3}),
    Run("sick-e", "transformer", {"batch_tokens": 40, "val_every": 2}),
    Run("sick-e", "bert-frozen", {"batch_pieces": 60}),
    Run("cola", "bert-dam", {"batch_pieces": 60}),
    Run("dailydialog", "dialogbert", {}),
    Run("dailydialog", "transformer-dra", {"batch_tokens": 60, "warmup_steps": 4}),
    Run("ubuntu", "bert-ums-sia", {}),
    Run("ubuntu", "bert-ss-da-sia", {}),
    Run("ubuntu", "bert-spider-sia", {}),
    Run("post-train", "bert-fp", {}),
    Run("ud-tags", "dt", {}),
    Run("labels", "dt", {}),
    Run("propbank-ewt", "dt", {"form": "spans", "crf": True}),
    Run("semeval2010", "dt@random", {"path": True, "batch_tokens": 40}),
)


def drawn(*tasks: str) -> Callable[[Any], Any]:
    """Runs a test with the runs of ALWAYS and with drawn ones of the tasks."""

    def decorate(test: Any) -> Any:
        test = given(run=runs(tasks))(test)
        for run in ALWAYS:
            test = example(run)(test) if run.task in tasks else test
        test.drawn_from = tasks
        few, phases = (
            settings.default.max_examples // 8,
            (Phase.explicit, Phase.generate),
        )  # to shrink is slow
        fixtures = [HealthCheck.function_scoped_fixture]
        return settings(max_examples=few, phases=phases, suppress_health_check=fixtures)(test)

    return decorate


COUNTS: Counter[str] = Counter()
"""Drawn controls and settings of the running law, and those that models or tasks refuse."""


@pytest.fixture(autouse=True)
def accepted(request) -> Iterator[None]:
    """Fails a law of whose drawn controls and settings less than a third is accepted."""
    COUNTS.clear()
    yield
    if hasattr(request.function, "drawn_from"):
        assert COUNTS["refused"] < COUNTS["drawn"] * 2 / 3, COUNTS


@pytest.fixture(scope="session")
def settled(config_of) -> Callable[..., Run]:
    """A run of some validated epochs, without the control and the settings that its model or task refuses."""

    def allowed(*names: str, **own: Any) -> bool:
        try:
            config = config_of(*names, max_epochs=2, **own)
            config.task_family.task_class.make_edges(config)
        except ValueError:
            return False
        return True

    def settled(run: Run, epochs: int = 1, **others: Any) -> Run:
        model = run.model if allowed(run.task, run.model) else run.model.partition("@")[0]
        kept: dict[str, Any] = {}
        for name, value in run.settings.items():
            kept |= {name: value} if allowed(run.task, model, **kept, **{name: value}) else {}
        refused = (model != run.model) + len(run.settings) - len(kept)
        assert not (refused and run in ALWAYS), run
        COUNTS.update(drawn=("@" in run.model) + len(run.settings), refused=refused)
        return Run(run.task, model, {**kept, "max_epochs": epochs * kept.get("val_every", 1), **others})

    return settled


def test_each_drawn_setting_is_accepted_by_some_model(settled):
    for name, value in ((name, value) for name, values in SETTINGS.items() for value in values):
        runs = (*ALWAYS, Run("ud-tags", "lisa", {}))
        asked = (run._replace(settings={name: value}) for run in runs)
        assert any(name in settled(run).settings for run in asked), (name, value)


@pytest.fixture
def from_raw(settled, config_of, tmp_path_factory) -> Callable[..., TrainConfig]:
    """The settings of a run with a folder of its own, in which only the raw files are."""

    def from_raw(run: Run, **others: Any) -> TrainConfig:
        task, model, own = settled(run, num_workers=0)
        config, root = config_of(task, model, **own), tmp_path_factory.mktemp("root")
        if Path(config.root, "raw").exists():
            shutil.copytree(Path(config.root, "raw"), root / "raw")
        return config.replace(root=str(root), **others)

    return from_raw


def batches(config: TrainConfig) -> Iterator[Any]:
    splits = load_splits(config)
    for split in splits.datasets:
        loader = splits.loader(split, config, shuffle=split == "train")
        for epoch in range(2 if split == "train" else 1):
            order = loader.batch_sampler.sampler
            if hasattr(order, "set_epoch"):
                order.set_epoch(epoch)
            yield from loader


def assert_same(first: list[Any], again: list[Any]) -> None:
    assert len(first) > 2
    for one, other in zip(first, again, strict=True):
        assert_same_batch(one, other)


@drawn(*TASKS)
def test_batches_are_the_same_from_workers_and_from_what_was_read_before(from_raw, run):
    """From raw files in one process, and from processed files with two workers."""
    config = from_raw(run)
    assert_same([*batches(config)], [*batches(config.replace(num_workers=2))])


@drawn(*TASKS)
def test_batches_are_the_same_with_parses_from_the_cache(from_raw, run):
    config = from_raw(run, parser="bundled")
    first = [*batches(config)]
    shutil.rmtree(Path(config.root, "processed"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BundledParser, "parse_items", lambda *_: pytest.fail("asked again"))
        assert_same(first, [*batches(config)])


class Keep(Callback):
    """Copies the folder at the start of an epoch, as a kill would leave it."""

    def __init__(self, epoch: int, kept: Path) -> None:
        self.epoch, self.kept = epoch, kept

    def on_train_epoch_start(self, trainer, pl_module):
        if trainer.current_epoch == self.epoch:
            shutil.copytree(trainer.default_root_dir, self.kept)


@pytest.mark.usefixtures("last_stays")
@drawn(*TASKS)
def test_a_resumed_run_is_the_uninterrupted_one(settled, config_of, tmp_path_factory, run):
    (task, model, own), folder = settled(run, epochs=2), tmp_path_factory.mktemp("runs")
    config = config_of(task, model, **own)
    splits = load_splits(config)
    whole, resumed = folder / "whole", folder / "resumed"
    expected = train(config, whole, splits=splits, callbacks=[Keep(config.val_every, resumed)])
    found = train(config, resumed, splits=splits, resume=True)
    for key in ("metrics", "floor", "tables", "epochs", "best_epoch"):
        assert found.get(key) == expected.get(key), key
    assert (resumed / PREDICTIONS).read_bytes() == (whole / PREDICTIONS).read_bytes()
    for file in ("last.ckpt", BEST):
        mine, other = (read_checkpoint(folder / file)["state_dict"] for folder in (resumed, whole))
        assert mine.keys() == other.keys()
        assert all(torch.equal(mine[weight], other[weight]) for weight in mine), file


@pytest.fixture(scope="session")
def finished(settled, config_of, trained) -> Callable[[Run], tuple[Path, TrainConfig, dict[str, Any]]]:
    """The folder, the settings and the result of a run."""

    def finished(run: Run) -> tuple[Path, TrainConfig, dict[str, Any]]:
        task, model, own = settled(run, num_workers=0)
        folder, result = trained(task, model, **own)
        return folder, config_of(task, model, **own), result

    return finished


@drawn(*TASKS)
def test_a_saved_model_is_the_model(finished, tmp_path_factory, run):
    folder, config, result = finished(run)
    (task, state), saved = load_task(folder), tmp_path_factory.mktemp("saved")
    write_model_folder(saved, task, state)
    again, kept = load_task(saved)
    weights = again.state_dict()
    assert all(torch.equal(weights.pop(name), weight) for name, weight in task.state_dict().items())
    assert not weights
    assert {**state.state_dict(), "config": None} == {**kept.state_dict(), "config": None}
    places = {name: value for name in PLACES if (value := getattr(config, name, None)) is not None}
    scores = evaluate(saved, settings=places)["metrics"]
    assert scores == {name: value for name, value in result["metrics"].items() if name.startswith("test")}


def ask_for_classes(model, rows, *_):
    texts = [tuple(row[name] for name in row if name.startswith("text")) for row in rows]
    found = model.predict([pair[0] if len(pair) == 1 else pair for pair in texts[::-1]])
    return found.tolist()[::-1], [row["prediction_label"] or None for row in rows]


def ask_for_labels(model, rows, config, _):
    if config.task == "labels":
        lines = [json.loads(line) for line in Path(config.test).read_text().splitlines()]
        found = model.predict(*([line[key] for line in lines] for key in ("words", "mark")))
    else:
        trees, parsed = read_tiny_treebank(config.raw_from, "test"), config.trees in ("parser", *PARSED)
        found = model.predict([tree.form for tree in trees] if parsed else trees)
    return [label for one in found for label in one], [row["prediction_label"] or None for row in rows]


def ask_for_responses(model, _, config, folder):
    rows = [json.loads(line) for line in (folder / "responses-test.jsonl").read_text().splitlines()]
    return model.respond([row["context"] for row in rows]), [[row["response"]] for row in rows]


def ask_for_ranks(model, rows, config, _):
    lines = Path(config.root, "raw", "ubuntu-v1", "test.txt").read_text().splitlines()
    given = [line.split("\t") for line in lines]
    pools = [given[start : start + 10] for start in range(0, len(given), 10)]
    found, expected = [], []
    for pool, row in zip(pools, rows, strict=True):
        answer = model.rank(pool[0][1:-1], [candidate[-1] for candidate in pool])
        best, second = sorted(answer.scores)[:-3:-1]
        if best - second > 1e-5:  # rounding, which depends on the batch, decides between equal scores
            found.append(float(pool[answer.ranking[0]][0]))
            expected.append(float(row["prediction"]))
    return found, expected


ASK = {"sentence": ask_for_classes, "spans": ask_for_classes, "labels": ask_for_labels}
ASK |= {"dialogue": ask_for_responses, "selection": ask_for_ranks}


@drawn(*(task for task in TASKS if task not in ("post-train", "propbank-ewt")))
def test_a_run_predicts_what_is_predicted_of_it_later(finished, run):
    """In batches of another size, of texts and classes in another order."""
    folder, config, _ = finished(run)
    model = graphdep.load(folder, parser=config.parser, batch_size=3)
    with open(folder / PREDICTIONS, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found, expected = ASK[family_of(run.task).name](model, rows, config, folder)
    assert found == expected
