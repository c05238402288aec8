"""The floor of an encoder that is not trained, where it can be seen what it must be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.kit.tiny_corpora import write_tiny_glue
from tests.kit.tiny_encoder import write_tiny_encoder

pytest.importorskip("transformers")
Run = Callable[..., CompletedProcess[str]]


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_tiny_encoder(tmp_path_factory.mktemp("letters"))


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of each dialogue the second turn is the first one once more."""
    folder = tmp_path_factory.mktemp("dialogues")
    for number, split in enumerate(("train", "validation", "test")):
        turns = [f"word{word} word{word + 12} word{24 + number}" for word in range(12)]
        lines = [f"{turn} __eou__ {turn} __eou__\n" for turn in turns]
        (folder / f"dialogues_{split}.txt").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.mark.parametrize("pool", ["mean", "cls"])
def test_the_nearest_candidate_is_the_first(example: Run, encoder, dialogues, tmp_path, pool) -> None:
    where = ("--root", tmp_path, "--raw-from", dialogues, "--encoder", encoder)
    out = example("frozen_floor.py", "--task", "dailydialog-selection", "--pool", pool, *where).stdout
    pools, chance, cosine = out.splitlines()
    assert pools == "12 test pools"
    assert chance.startswith("no skill: R10@1 0.100")
    assert cosine.startswith(f"cosine ({pool}): R10@1 1.000")


@pytest.mark.parametrize(("task", "metric"), [("qqp", "f1"), ("mnli", "accuracy")])
def test_pairs_have_features_and_a_cosine(example: Run, letters, tmp_path, task, metric) -> None:
    root = write_tiny_glue(tmp_path)["root"]
    out = example("frozen_floor.py", "--task", task, "--root", root, "--encoder", letters).stdout
    sizes, *lines = out.splitlines()
    assert sizes == "22 training examples, 10 test examples"
    assert lines[0].startswith(f"no skill: {metric} ")
    assert lines[1].startswith(f"frozen, features (mean): {metric} ")
    assert lines[2].startswith(f"frozen, cosine (mean): {metric} ")
    assert len(lines) == 3


def test_a_single_sentence_has_no_cosine(example: Run, letters, tmp_path) -> None:
    root = write_tiny_glue(tmp_path)["root"]
    out = example("frozen_floor.py", "--task", "cola", "--root", root, "--encoder", letters).stdout
    assert [line.split(":")[0] for line in out.splitlines()[1:]] == ["no skill", "frozen, features (mean)"]
