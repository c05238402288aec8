from __future__ import annotations

import json
import re

import pytest

from graphdep.training import TrainConfig, train
from tests.kit import tiny_corpora

SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 2, "heads": 2}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """A run of ``dt`` and one of ``transformer``."""
    corpus = tiny_corpora.write_tiny_sst(tmp_path_factory.mktemp("sst"))
    found = []
    for model in ("dt", "transformer"):
        config = TrainConfig.of(model, task="sst", max_epochs=1, accelerator="cpu", **corpus, **SIZES)
        found.append(train(config, tmp_path_factory.mktemp("run"))["checkpoint"])
    return found


def page_of(path):
    html = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])


def test_a_page_of_one_model(run, checkpoints, tmp_path):
    text = ("--text", "ann likes bob", "--parser", "chain", "--edges", "dra")
    done = run("explore", "--checkpoint", checkpoints[0], *text)
    assert done.exit_code == 0, done.stderr
    assert "3 words, 2 layers, 1 side -> page.html" in done.stderr
    page = page_of(tmp_path / "page.html")
    assert [node["text"] for node in page["nodes"]] == ["[ROOT]", "ann", "likes", "bob"]
    assert page["about"] == "dt, trained on sst"
    [side] = page["sides"]
    assert [edges["name"] for edges in side["edges"]] == ["dt", "dra"]
    [answer] = side["answers"]
    assert answer["kind"] == "classes"
    assert sum(share for _, share in answer["rows"]) == pytest.approx(1)


def test_two_models_and_the_parse_against_a_random_tree(run, checkpoints, tmp_path):
    (tmp_path / "text.txt").write_text("ann likes bob\n")
    two = ("--checkpoint", checkpoints[0], "--checkpoint", checkpoints[1])
    done = run("explore", *two, "--input", "text.txt", "--parser", "chain", "--output", "a.html")
    assert done.exit_code == 0, done.stderr
    assert [side["name"] for side in page_of(tmp_path / "a.html")["sides"]] == ["dt", "transformer"]
    one = ("--checkpoint", checkpoints[0], "--against", "random", "--text", "ann likes bob")
    done = run("explore", *one, "--parser", "chain", "--output", "b.html")
    assert done.exit_code == 0, done.stderr
    sides = page_of(tmp_path / "b.html")["sides"]
    assert [side["name"] for side in sides] == ["the parse", "a random tree"]
    assert sides[0]["governor"] == [-1, 0, 1, 2]


def test_on_which_edges_the_answer_depends(run, checkpoints, tmp_path):
    text = ("--text", "ann likes bob", "--parser", "chain", "--explain", "gradient")
    done = run("explore", "--checkpoint", checkpoints[0], *text)
    assert done.exit_code == 0, done.stderr
    maps = page_of(tmp_path / "page.html")["sides"][0]["maps"]
    assert [one["name"] for one in maps if one["kind"] == "mask"] == ["gradient"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output", "a.gif", "--text", "a"], "'output' must end in .html"),
        ([], "give the example by --text or by --input"),
        (["--text", "a", "--input", "b"], "one of the two"),
        (["--text", "a", "--against", "chain"], "'against' must be 'random'"),
        (["--text", "a", "--parser", "chain", "--explain", "shap"], "'explain' must be one of gradient, gnn"),
        (
            ["--text", "a", "--parser", "chain", "--edges", "dra,constituents"],
            "'edges' 'constituents' read constituents, and 'dt' was trained without",
        ),
        (["--text", "a", "--candidate", "b", "--parser", "chain"], "'candidates' are for response selection"),
    ],
)
def test_errors(run, checkpoints, arguments, message):
    done = run("explore", "--checkpoint", checkpoints[0], *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_two_of_the_same_model_are_called_by_their_folders(checkpoints):
    from pathlib import Path

    from graphdep import explore

    page = explore(checkpoints[0], "ann likes bob", against=checkpoints[0], parser="chain")
    folder = Path(checkpoints[0]).parent.name
    assert [side.name for side in page.sides] == [f"dt ({folder})"] * 2
    named = explore(checkpoints[0], "ann likes bob", parser="chain", names=["mine"], masks={})
    assert named.sides[0].name == "mine"
