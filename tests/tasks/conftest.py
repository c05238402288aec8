"""Tiny corpora of all families, settings of short runs on them, and runs that tests share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from graphdep.cli import app
from graphdep.tasks import family_of, resolve_task
from graphdep.tasks.selection.settings import MATCHING_ENCODERS
from graphdep.training import TrainConfig, train
from tests.kit.runs import SHORT, SIZES
from tests.kit.tiny_corpora import (
    tiny_span_rows,
    write_span_rows,
    write_tiny_aspects,
    write_tiny_conll04,
    write_tiny_csv,
    write_tiny_dialogues,
    write_tiny_glue,
    write_tiny_propbank,
    write_tiny_selection,
    write_tiny_semeval2010,
    write_tiny_tags,
)
from tests.kit.tiny_encoder import write_tiny_encoder

UD = Path(__file__).parents[2] / "datasets" / "mini" / "ud" / "raw"
NAMES = ("Ann", "Bob", "Cid", "Dan", "Eve")
WRITERS: dict[str, Callable[[Path], dict[str, str]]] = {
    "propbank-ewt": write_tiny_propbank,
    "semeval2010": write_tiny_semeval2010,
    "conll04": write_tiny_conll04,
    "aspects": write_tiny_aspects,
    "dailydialog": write_tiny_dialogues,
    "ubuntu": write_tiny_selection,
    "csv": write_tiny_csv,
    "post-train": write_tiny_selection,
    "cola": write_tiny_glue,
    "rte": write_tiny_glue,
    "ud-tags": lambda folder: {"root": str(folder), "raw_from": str(UD)},
}
# The largest number of pieces of an example, too small for some examples.
PIECES = {"propbank-ewt": 24, "semeval2010": 26, "ubuntu": 32}


@pytest.fixture(scope="session")
def raw() -> Path:
    """The files of the tiny treebank."""
    return UD


@pytest.fixture(scope="session")
def marked(tmp_path_factory) -> Path:
    """The same with MISC ``Vowel=Yes`` at words that begin with a vowel, and ``Length`` at short words."""
    return write_tiny_tags(UD, tmp_path_factory.mktemp("marked"))


@pytest.fixture(scope="session")
def encoder(tmp_path_factory) -> str:
    """The folder of a tiny pretrained encoder."""
    pytest.importorskip("transformers")
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(scope="session")
def role_rows() -> list[dict[str, Any]]:
    """Rows about who sees whom, with the verb marked."""
    return [
        {"words": [a, "sees", b], "labels": ["A0", "O", "A1"], "mark": 1, "id": f"{a}{b}"}
        for a in NAMES
        for b in NAMES
        if a != b
    ]


@pytest.fixture(scope="session")
def places(tmp_path_factory, corpus, opinions, role_rows) -> Callable[[str], dict[str, Any]]:
    """Settings with the files of the tiny corpus of a task."""
    made: dict[str, dict[str, Any]] = {"sick-e": corpus, "sick-r": corpus, "sst": opinions}

    def places(task: str) -> dict[str, Any]:
        if task not in made:
            folder = tmp_path_factory.mktemp(task)
            if task in WRITERS:
                made[task] = WRITERS[task](folder)
            else:
                rows = {"labels": role_rows, "spans": tiny_span_rows(trees=True)}[task]
                files = {name: write_span_rows(folder / f"{name}.jsonl", rows) for name in ("train", "test")}
                made[task] = {**files, "root": str(folder / "root"), "parser": "chain"}
        return made[task]

    return places


@pytest.fixture(scope="session")
def settings_of(places, request) -> Callable[..., dict[str, Any]]:
    """Settings of a short run on a task, with or without the tiny pretrained encoder."""

    def settings_of(task: str, pretrained: bool = False) -> dict[str, Any]:
        own = {**places(task), **SHORT, "task": task}
        if task in ("semeval2010", "conll04", "aspects"):
            own |= {"parser": "chain"}
        if task == "post-train":
            return {**own, "encoder": request.getfixturevalue("encoder"), "max_length": 40}
        if task == "ubuntu":
            own |= {**SIZES, "encoder": "transformer", "num_layers": 2, "max_length": PIECES[task]}
            del own["relation_dim"]
        elif task == "dailydialog":
            own |= {**SIZES, "context_layers": 1, "decoder_layers": 1, "warmup_steps": 2, "min_freq": 1}
            del own["relation_dim"]
        elif not pretrained:
            own |= {**SIZES, "min_freq": 1}
        if not pretrained:
            return own
        own |= {"encoder": request.getfixturevalue("encoder"), "lr": 0.01}
        return own if task == "ubuntu" else {**own, "arcs": "basic", "max_length": PIECES.get(task, 40)}

    return settings_of


@pytest.fixture(scope="session")
def config_of(settings_of) -> Callable[..., TrainConfig]:
    """Settings of a short run of a model, with changes."""

    def config_of(task: str, model: str, **others: Any) -> TrainConfig:
        preset = family_of(task).config(task).models[model.partition("@")[0]].overrides
        settings = settings_of(task, task == "post-train" or (model.startswith("bert") and task != "ubuntu"))
        if preset.get("encoder") in MATCHING_ENCODERS:
            # At this rate of learning, images of 50 words saturate on short texts, and all scores are equal.
            settings |= {"encoder": preset["encoder"], "image_words": 8}
        if "objective" in preset:
            settings["max_length"] = 48
        made = TrainConfig.of(model, **{**settings, **others})
        if not made.reads_constituents or "parser" in others:
            return made
        return made.replace(
            parser="bundled", **({"trees": "parser"} if resolve_task(task).gold_trees else {})
        )

    return config_of


@pytest.fixture(scope="session")
def trained(config_of, tmp_path_factory) -> Callable[..., tuple[Path, dict[str, Any]]]:
    """A short run that tests share: its folder, which they do not change, and its result."""
    made: dict[str, tuple[Path, dict[str, Any]]] = {}

    def trained(task: str, model: str, **others: Any) -> tuple[Path, dict[str, Any]]:
        config = config_of(task, model, **others)
        key = json.dumps(config.to_dict(), sort_keys=True)
        if key not in made:
            folder = tmp_path_factory.mktemp("run")
            made[key] = folder, train(config, folder)
        return made[key]

    return trained


@pytest.fixture
def run(tmp_path, monkeypatch) -> Callable[..., Any]:
    """Runs a command, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def row_of() -> Callable[[object], Any]:
    """Adds the row of a table to an error."""

    @contextmanager
    def row_of(value: object) -> Iterator[None]:
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:
            raise AssertionError(f"{value}: {error}") from error

    return row_of
