from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from graphdep.tasks import resolve_task
from graphdep.training import TrainConfig, load_splits, load_task, train
from graphdep.training.ablation import ablate
from graphdep.training.table import markdown
from tests.kit.runs import evaluate_own

SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4}
SHORT = {"max_epochs": 2, "batch_size": 4, "lr": 0.05, "accelerator": "cpu", "min_freq": 1}
NAMES = ("Ann", "Bob", "Cid", "Dan", "Eve", "Flo")


def roles(first: str, second: str, verb: str = "sees") -> dict[str, object]:
    labels = ["A0", "O", "A1"]
    return {"words": [first, verb, second], "labels": labels, "mark": 1}


ROWS = [roles(a, b) for a in NAMES for b in NAMES if a != b]
TREE = {"head": [2, 0, 2], "deprel": ["nsubj", "root", "obj"]}


def write(path: Path, rows=ROWS) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def settings(tmp_path) -> dict[str, object]:
    places = {"train": write(tmp_path / "train.jsonl"), "root": str(tmp_path / "root")}
    return {**places, **SIZES, **SHORT, "parser": "chain"}


def config(settings, model="dt", **others) -> TrainConfig:
    return TrainConfig.of(model, **{"task": "labels", **settings, **others})


def test_roles_are_learned(tmp_path, settings):
    longer = {"test": write(tmp_path / "test.jsonl", ROWS[::3]), "max_epochs": 15, "patience": None}
    result = train(config(settings, **longer, hidden_channels=16, dropout=0.0), tmp_path / "run")
    assert result["metrics"]["test_f1"] > 0.9
    names = {
        f"{split}_{name}" for split in ("val", "test") for name in ("accuracy", "f1", "macro_f1", "exact")
    }
    assert names < set(result["metrics"])
    assert result["floor"].keys() == names | {f"{name}_lookup" for name in names}
    # A chain's ways from the verb tell the words before and behind apart.
    assert result["floor"]["test_f1_lookup"] == 1.0
    assert "or where training has no mark, of each word form" in result["signature"]["f1"]
    assert "train: 81 of 81 words are scored; val is 3 of the 30 sentences" in result["data"]["notes"][0]
    assert load_task(result["checkpoint"])[1].labels == ["O", "A0", "A1"]
    again = evaluate_own(result["checkpoint"], "test")
    assert again["metrics"] == {k: v for k, v in result["metrics"].items() if k.startswith("test")}
    moved = shutil.move(longer["test"], tmp_path / "moved.jsonl")
    assert (
        train(
            config(settings, **{**longer, "test": str(moved)}, hidden_channels=16, dropout=0.0),
            tmp_path / "run",
            resume=True,
        )
        == result
    )


def test_without_a_test_file(tmp_path, settings):
    result = train(config(settings), tmp_path / "run")
    assert not [name for name in result["metrics"] if name.startswith("test")]
    with pytest.raises(ValueError, match=r"its settings have no split 'test': give it \(--test FILE\)"):
        evaluate_own(result["checkpoint"])
    summary = ablate("labels", ["dt", "transformer"], [0], tmp_path / "runs", settings=settings)
    assert summary["compared"] == "val"
    assert all(name.startswith("val_") for row in summary["rows"] for name in row["metrics"])
    assert "(validation)" in markdown(summary)


def test_a_label_that_training_does_not_have_is_wrong(tmp_path, settings):
    checkpoint = train(config(settings), tmp_path / "run")["checkpoint"]
    rows = [{"words": ["Ann", "sees", "Bob"], "labels": ["A7", None, "A8"], "mark": 1}]
    scored = evaluate_own(checkpoint, settings={"test": write(tmp_path / "new.jsonl", rows)})
    assert (scored["metrics"]["test_accuracy"], scored["metrics"]["test_exact"]) == (0.0, 0.0)
    assert scored["tables"]["test"]["labels"][0]["label"] == "(unknown)"


@pytest.mark.parametrize("settle", [{"crf": True}, {"decode": "viterbi"}])
def test_spans(tmp_path, settings, settle):
    path = tmp_path / "names.conll"
    path.write_text("".join(f"{a} B-PER\n{b} I-PER\nsleeps O\n\n" for a in NAMES for b in NAMES if a != b))
    own = {"train": str(path), "test": str(path), "scheme": "bio", "max_epochs": 8}
    result = train(config(settings, **own, **settle), tmp_path / "run")
    assert result["metrics"]["test_f1"] > 0.5
    assert "labels are spans, right if first word, last word and label are" in result["signature"]["f1"]
    assert [row["label"] for row in result["tables"]["test"]["labels"]] == ["PER"]


def test_a_treebank(tmp_path, settings, raw):
    files = {name: str(raw / f"en_mini-ud-{name}.conllu") for name in ("train", "test")}
    own = config({**settings, **files}, key="feats:PronType", trees="gold")
    assert own.label == "dt, trees gold, key feats:PronType"
    result = train(own, tmp_path / "run")
    assert result["data"]["parser"] == "gold"
    assert "look-up" in result["signature"]["accuracy"]


def test_own_trees_are_asked_for_where_they_are_not(tmp_path, settings):
    with pytest.raises(ValueError, match=r"train.jsonl:\d+: the sentence has no tree of its own"):
        train(config(settings, trees="gold"), tmp_path / "run")
    rows = [row | TREE for row in ROWS]
    own = config(settings, train=write(tmp_path / "trees.jsonl", rows), parser="bundled")
    notes = train(own, tmp_path / "run")["data"]["notes"]
    assert "27 examples have a tree of their own; 27 examples have a marked word" in notes[0]


def test_an_ablation(tmp_path, settings):
    own = {**settings, "test": write(tmp_path / "test.jsonl", ROWS[::3]), "max_epochs": 1}
    summary = ablate("labels", ["transformer", "dt@random", "bilstm"], [0], tmp_path / "runs", settings=own)
    assert [row["n"] for row in summary["rows"]] == [1, 1, 1]
    assert [row["against"] is None for row in summary["rows"]] == [True, False, False]


def test_what_it_is_called(settings):
    assert config(settings).label == "dt"
    assert config(settings, "bilstm").splits == ("train", "val")
    assert config(settings, test="x.jsonl").splits == ("train", "val", "test")
    assert config(settings, train="elsewhere.jsonl").differences(config(settings)) == []
    assert config(settings, scheme="bio").digest() != config(settings).digest()
    assert config(settings).named() == {
        "train": settings["train"],
        "root": settings["root"],
        "parser": "chain",
    }
    assert resolve_task("labels").kind == config(settings).kind == "own-labels"
    assert config(settings).family == "labels"


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ({"train": None}, r"task 'labels' needs 'train' \(--train\), which is not given"),
        ({"raw_from": "x"}, r"'raw_from' is for corpora, not for task 'labels' \(got 'x'\)"),
        ({"data_seed": 3}, r"'data_seed' is for generated data"),
        ({"form": "spans"}, r"'form' is not for task 'labels'"),
        ({"scheme": "iob"}, r"'scheme' must be one of words, bio \(got 'iob'\)"),
        ({"key": "xpos"}, r"'key' is for .conllu and .spacy files \(got 'xpos'\)"),
        ({"absent": "none"}, "'absent' is for .conllu and .spacy files"),
        ({"val_fraction": 2.0}, "'val_fraction' must be at most 1"),
        ({"max_words": 0}, "'max_words' must be at least 1"),
    ],
)
def test_wrong_settings(settings, others, message):
    with pytest.raises(ValueError, match=message):
        config(settings, **others)


def test_other_tasks_have_no_files_of_ones_own():
    with pytest.raises(ValueError, match="unknown setting 'scheme'"):
        TrainConfig.of("dt", task="ud-tags", scheme="bio")


def test_a_key_of_marks_is_for_trees(settings):
    with pytest.raises(ValueError, match=r"'mark_key' is for .conllu files \(got 'misc:Mark'\)"):
        config(settings, mark_key="misc:Mark")
    with pytest.raises(ValueError, match=r"'mark_key' must be feats:KEY or misc:KEY \(got 'Mark'\)"):
        config(settings, train="a.conllu", mark_key="Mark")
    plain = config(settings, train="a.conllu")
    assert plain.digest() != plain.replace(mark_key="misc:Mark").digest()


def test_some_of_the_examples_validate_and_test(tmp_path, settings):
    test = write(tmp_path / "test.jsonl", ROWS)
    whole = config(settings, test=test, max_epochs=1)
    some = whole.replace(limit_eval=7)
    assert whole.digest() == config(settings, test=test, max_epochs=1, limit_eval=None).digest()
    assert some.about_data == "at most 7 examples of val and test"
    result = train(some, tmp_path / "run")
    assert result["data"]["examples"] == {"train": 27, "val": 3, "test": 7}
    assert result["data"]["notes"][-1] == "test: 7 of 30 examples, spread over the split (limit_eval)"
    assert "test: 21 of 21 words are scored" in " ".join(result["data"]["notes"])
    assert result["predictions"] == 21
    again = evaluate_own(result["checkpoint"], "test")
    assert again["metrics"] == {k: v for k, v in result["metrics"].items() if k.startswith("test")}
    assert {k: v for k, v in result["floor"].items() if k.startswith("test")} == again["floor"]
    part, all_of_it = load_splits(some)["test"], load_splits(whole)["test"]
    forms = [tuple(data.input_ids.tolist()) for data in all_of_it]
    places = [forms.index(tuple(data.input_ids.tolist())) for data in part]
    assert places == sorted(set(places))
    bounds = [0, 4, 8, 12, 17, 21, 25, 30]  # one of each seventh
    assert all(low <= place < high for low, place, high in zip(bounds, places, bounds[1:]))
    assert load_splits(whole.replace(limit_eval=30)).digest() == load_splits(whole).digest()
