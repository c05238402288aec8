"""The probing example on trees that are made here."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from graphdep import Sentence
from graphdep.io import write_conllu
from graphdep.training import TrainConfig, train
from tests.kit.tiny_corpora import write_tiny_sick

RESEARCH = Path(__file__).parents[1]
NAMES = ("ann", "bob", "cid", "dan")


def tree(number: int) -> Sentence:
    """``ann saw bob`` or ``ann sees bob``, with some adverbs behind it, each under the one before."""
    past = number % 2 == 0
    adverbs = ["then"] * (number // 2 % 4)
    form = [NAMES[number // 8 % 4], "saw" if past else "sees", NAMES[number // 32 % 4], *adverbs]
    head = [2, 0, *range(2, len(form))]
    deprel = ["nsubj", "root", "obj", *["advmod"] * len(adverbs)]
    feats = ["Number=Sing", f"Tense={'Past' if past else 'Pres'}|VerbForm=Fin", *["_"] * (len(form) - 2)]
    return Sentence(form, head, deprel, feats=feats)


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("probing")
    sizes = {"hidden_channels": 16, "ff_channels": 16, "num_layers": 1, "heads": 2, "max_epochs": 1}
    result = train(TrainConfig.of("dt", **sizes, **write_tiny_sick(folder / "corpus")), folder / "run")
    trees = [tree(number) for number in range(128)]
    for name, part in {"train": trees[:96], "test": trees[96:], "all": trees}.items():
        write_conllu(part, folder / f"{name}.conllu")
    places = {"--train": folder / "train.conllu", "--test": folder / "test.conllu"}
    places |= {"--parser": f"conllu:{folder / 'all.conllu'}", "--cache": folder / "parses.sqlite"}
    return [str(part) for item in {"--checkpoint": result["checkpoint"], **places}.items() for part in item]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable:
    """Runs the script in this process; gives what it printed."""

    def call(*arguments: str) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["probing.py", *arguments])
        runpy.run_path(str(RESEARCH / "probing.py"), run_name="__main__")
        return capsys.readouterr()

    return call


def test_scores_of_every_probe(run: Callable, arguments: list[str]) -> None:
    header, *lines = run(*arguments)[0].splitlines()
    rows = {line[:15].strip(): line[15:].split() for line in lines}
    assert header.split() == ["probe", "classes", "train", "test", "no", "skill", "untrained", "trained"]
    assert list(rows) == ["length", "depth", "tense", "subject number", "voice"]
    assert rows["length"][:4] == ["4", "96", "32", "0.2500"]
    # A verb seen in training or not, and a long sentence or a short one, make other vectors even untrained.
    assert rows["tense"][:4] == ["2", "96", "32", "0.5000"]
    for name in ("length", "depth", "tense"):
        assert all(float(score) > float(rows[name][3]) for score in rows[name][4:])
    assert " ".join(rows["voice"]) == "1 96 32 nothing to tell apart"


def test_a_treebank_has_two_parts(
    run: Callable, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(*arguments[:2], *arguments[4:])
    assert "--train and --test go together" in capsys.readouterr().err
