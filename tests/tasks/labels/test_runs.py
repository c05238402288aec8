from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from graphdep.cli import app
from graphdep.datasets.labels.words import Column
from graphdep.io import read_conllu
from graphdep.training import TrainConfig, load_task, train
from graphdep.training.evaluation import read_predictions
from tests.kit.runs import evaluate_own

SIZES = ("hidden_channels=8", "ff_channels=8", "num_layers=1", "heads=2", "relation_dim=4", "batch_size=2")
SCORES = ("accuracy", "f1", "macro_f1", "exact")
SETS = [part for text in (*SIZES, "lr=0.05", "accelerator=cpu") for part in ("--set", text)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a command, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "150")
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_it_learns_what_a_word_is(tiny, tmp_path):
    settings = {**tiny, "max_epochs": 40, "hidden_channels": 16, "lr": 0.02, "patience": None, "dropout": 0.0}
    result = train(TrainConfig.of("dt", **settings), tmp_path)
    assert evaluate_own(tmp_path / "best.ckpt", "train")["metrics"]["train_accuracy"] > 0.9
    names = {f"{split}_{metric}" for split in ("val", "test") for metric in SCORES}
    assert result["metrics"].keys() >= names
    assert result["floor"].keys() == names | {f"{name}_lookup" for name in names}
    assert sum(row["there"] for row in result["tables"]["test"]["labels"]) == 13
    assert result["data"]["notes"][-1].startswith("test: 13 of 13 words are scored by their upos, 1 with")
    assert result["data"]["examples"]["test"] == 2
    target, prediction, group = read_predictions(tmp_path / "predictions.csv")
    assert np.unique(group).tolist() == [0, 1]  # its sentences
    with open(tmp_path / "predictions.csv", newline="") as file:
        written = list(csv.DictReader(file))
    words = {row["text"]: [one["word"] for one in written if one["text"] == row["text"]] for row in written}
    assert [len(words), *map(len, words.values())] == [2, *np.bincount(group)]
    assert all(text == " ".join(row) for text, row in words.items())
    assert len(target) == result["predictions"] == 13
    assert result["metrics"]["test_accuracy"] == pytest.approx((target == prediction).mean())
    for split in ("val", "test"):
        again = evaluate_own(tmp_path / "best.ckpt", split)
        for kind in ("metrics", "floor"):
            assert again[kind] == {k: v for k, v in result[kind].items() if k.startswith(split)}


def test_a_checkpoint_has_the_names_of_its_labels(tiny, tmp_path):
    train(TrainConfig.of("bilstm", **tiny), tmp_path)
    task, state = load_task(tmp_path / "best.ckpt")
    assert state.labels == sorted(state.labels)
    assert {"NOUN", "VERB", "DET"} < set(state.labels)
    assert task.model.head.lin.out_features == len(state.labels)


def test_ablation_and_comparison_from_the_command_line(run, raw, tmp_path):
    models = ["--models", "transformer,dra,dra@random,dt@parser,bilstm", "--seeds", 2, "--max-epochs", 2]
    places = ["--root", tmp_path / "ud", "--raw-from", raw, "--parser", "chain"]
    done = run("ablate", "--task", "ud-tags", *models, *places, *SETS, "--json")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert [row["name"] for row in summary["rows"]] == models[1].split(",")
    assert not any(row["failed"] for row in summary["rows"])
    # Another parser's trees leave the labels as they are, so that all rows are tested.
    assert [row["against"] is None for row in summary["rows"]] == [True, False, False, False, False]
    assert summary["rows"][1]["against"]["n"] == 13
    folder = tmp_path / "runs" / "ablation_ud-tags"
    table = (folder / "table.md").read_text()
    for text in (
        "| (no skill) | 0.",
        "| (look-up) | 0.",
        "| dra@random |",
        "scored by their upos",
        "macro_f1",
    ):
        assert text in table
    done = run("compare", f"{folder}/ud-tags_dra_seed*", f"{folder}/ud-tags_dt@parser_seed*", "--samples", 50)
    assert done.exit_code == 0, done.stderr
    assert "ud-tags, 13 examples" in done.stdout
    assert "macro_f1" in done.stdout


def test_a_key_of_misc_from_the_command_line(run, marked, tmp_path):
    places = ["--root", tmp_path / "ud", "--raw-from", marked, "--max-epochs", 1, *SETS]
    done = run("train", "--task", "ud-tags", "--model", "dra", "--set", "key=misc:Length", *places)
    assert done.exit_code == 0, done.stderr
    assert "dra, key misc:Length on ud-tags" in done.stdout
    assert "look-up" in done.stdout
    done = run("train", "--task", "ud-tags", "--set", "key=misc:Lenght", *places)
    assert done.exit_code == 2
    assert "(did you mean 'misc:Length'?)" in done.stderr
    done = run("train", "--task", "ud-tags", "--set", "key=tag", *places)
    assert "'key' must be one of upos, xpos, deprel, lemma, feats, feats:KEY, misc:KEY" in done.stderr


@pytest.mark.parametrize(
    ("model", "key"), [("dt", "upos"), ("dt@parser", "misc:Vowel"), ("bilstm", "feats:PronType")]
)
def test_predictions_for_a_file(run, marked, tmp_path, model, key):
    settings = {
        "task": "ud-tags",
        "root": str(tmp_path / "ud"),
        "raw_from": str(marked),
        "accelerator": "cpu",
    }
    settings |= {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "max_epochs": 2}
    absent = {"absent": "No"} if key == "misc:Vowel" else {}
    config = TrainConfig.of(model, **settings, key=key, **absent, parser="chain")
    result = train(config, tmp_path / "run")
    source, output = marked / "en_mini-ud-test.conllu", tmp_path / "out.conllu"
    checkpoint = ["--checkpoint", tmp_path / "run" / "best.ckpt"]
    parser = ["--parser", "chain"] if model == "dt@parser" else []
    done = run("predict", *checkpoint, "--input", source, "--output", output, *parser, "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["words"] == 13
    before, after = read_conllu(source), read_conllu(output)
    column = Column(key, **absent)
    asked = [label for sentence in before for label in column.labels(sentence)]
    found = [label for sentence in after for label in column.labels(sentence)]
    scored = [(label, mine) for label, mine in zip(asked, found) if label is not None]
    right = sum(label == mine for label, mine in scored) / len(scored)
    assert result["metrics"]["test_accuracy"] == pytest.approx(right)
    assert [sentence.head for sentence in after] == [sentence.head for sentence in before]
    assert [sentence.form for sentence in after] == [sentence.form for sentence in before]
    again = run("predict", *checkpoint, "--input", source, *parser, "--batch-size", 1)
    assert again.stdout == output.read_text()
    if parser:
        done = run("predict", *checkpoint, "--input", source)
        assert "only 'bundled' is taken from a checkpoint" in done.stderr


def test_files_that_cannot_be_labelled(run, tiny, tmp_path):
    train(TrainConfig.of("word-average", **{**tiny, "max_epochs": 1}), tmp_path / "run")
    checkpoint = ["--checkpoint", tmp_path / "run" / "best.ckpt", "--input"]
    (tmp_path / "new.csv").write_text("text\nA dog barks\n")
    (tmp_path / "new.conllu").write_text("1\tA\n")
    (tmp_path / "good.conllu").write_text("1\tA\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    done = run("predict", *checkpoint, "new.csv")
    assert "which labels the words of a .conllu or .jsonl file (got 'new.csv')" in done.stderr
    assert "new.conllu:1: " in run("predict", *checkpoint, "new.conllu").stderr
    assert run("predict", *checkpoint, "good.conllu").exit_code == 0
    done = run("predict", *checkpoint, "good.conllu", "--text-columns", "text")
    assert "'text_columns' is for files of texts" in done.stderr
    assert "'truncate' is for files" in run("predict", *checkpoint, "good.conllu", "--truncate").stderr
    done = run("embed", "a text", "--checkpoint", tmp_path / "run" / "best.ckpt")
    assert "gives no sentence vectors but labels of words: see graphdep.WordLabeller" in " ".join(
        done.stderr.split()
    )


def test_what_words_attend_to(run, tiny, tmp_path):
    train(TrainConfig.of("dra", **{**tiny, "max_epochs": 1}), tmp_path / "run")
    attention = ["attention", "--checkpoint", tmp_path / "run" / "best.ckpt", "--parser", "chain", "--json"]
    done = run(*attention, "The dog barks")
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["words"] == ["[ROOT]", "The", "dog", "barks"]
    assert (tmp_path / "attention.png").is_file()
    assert "'texts' must be one text" in run(*attention, "The dog", "barks").stderr
