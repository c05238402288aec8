"""Runs of all families: they learn, and their checkpoints give the reported scores."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from sklearn.metrics import precision_recall_fscore_support

from graphdep.tasks import family_of, resolve_task
from graphdep.training import (
    TrainConfig,
    compare_runs,
    evaluate,
    load_splits,
    load_task,
    needs_structure,
    train,
)
from graphdep.training.ablation import ablate
from graphdep.training.evaluation import read_predictions
from graphdep.training.hub import write_model_folder
from graphdep.training.table import csv_rows, markdown, table_cells
from graphdep.visualization.attention import parser_for
from tests.kit.runs import SHORT, SIZES, check_again, evaluate_own
from tests.kit.tiny_corpora import tiny_span_rows, write_span_rows, write_tiny_csv

BRACKETS = {"parser": "bundled"}
SPANS = {"form": "spans"}
FEW = {"limit_train": 16}
RUNS = [
    ("sick-e", "bert-dam-linked", {}),
    ("sick-e", "bert", {"edges": "constituents", **BRACKETS}),
    ("ud-tags", "dt", {"batch_size": 2}),
    ("ud-tags", "transformer", {"edges": "dam", "trees": "parser", **BRACKETS}),
    ("propbank-ewt", "dt", {"crf": True}),
    ("propbank-ewt", "dt", SPANS),
    ("propbank-ewt", "bilstm", {**SPANS, "crf": True}),
    ("propbank-ewt", "gate@noisy-40", {}),
    ("propbank-ewt", "bilstm", {"scaffold": 0.5}),
    ("propbank-ewt", "tree@parser", {"scaffold": 1.0, "crf": True, **SPANS}),
    ("propbank-ewt", "dt@rerooted", {}),
    ("semeval2010", "bert-dt@rerooted", {}),
    ("propbank-ewt", "bert-dt", {**SPANS, "decode": "viterbi", "word_state": "mean"}),
    ("semeval2010", "bert-dam-basic", {}),
    ("semeval2010", "bert", {"edges": "constituents", **BRACKETS}),
    ("conll04", "bilstm", {"readout": "top", "path": True}),
    ("aspects", "dra", {}),
    ("ubuntu", "bert-sia", {}),
    ("ubuntu", "bert-ums-sia", {"readout": "pair", **FEW}),
    ("ubuntu", "bert-spider", {"readout": "mean", **FEW}),
    ("ubuntu", "smn", FEW),
    ("dailydialog", "transformer-dra", {}),
    ("dailydialog", "transformer-dra-bpe", {"pieces": 280}),
]
OF_WORDS = [row for row in RUNS if row[0] not in ("sick-e", "ubuntu", "dailydialog")]
SCORES = ("accuracy", "f1", "macro_f1", "exact")
# Only the last epoch is validated, and is kept.
LONG = {"lr": 0.03, "hidden_channels": 16, "dropout": 0.0, "keep": "last", "max_epochs": 15, "val_every": 15}
SLOW = {**LONG, "max_epochs": 24, "val_every": 24}
SELECTION = {**LONG, "max_epochs": 30, "val_every": 30, "hidden_channels": 32, "ff_channels": 32}
SELECTION |= {"batch_size": 12, "lr": 0.01}
DIALOGUE = {**LONG, "max_epochs": 30, "val_every": 30, "hidden_channels": 32, "lr": 0.01}
LEARNED = [
    ("sst", "bert-dt", {"max_epochs": 12, "lr": 0.02, "dropout": 0.0}, "test_accuracy", 0.7),
    ("ud-tags", "dt", {**SLOW, "batch_size": 2}, "train_accuracy", 0.9),
    ("propbank-ewt", "dt", {**SLOW, **SPANS, "crf": True}, "test_f1", 0.9),
    ("labels", "dt", LONG, "test_f1", 0.9),
    ("aspects", "dt", {**LONG, "readout": "top", "batch_size": 4}, "test_accuracy", 0.9),
    ("spans", "dt", {**LONG, "batch_size": 4, "readout": "top", "path": True}, "test_accuracy", 0.9),
    ("ubuntu", "bert-sia", SELECTION, "test_MRR", 0.55),
    ("dailydialog", "transformer-dra", DIALOGUE, "test_bleu2_method1", 0.9),
]


def learned(trained, task, **others):
    """The folder, result and checkpoint of a run that has learned a task."""
    model, options = next((model, options) for name, model, options, *_ in LEARNED if name == task)
    folder, result = trained(task, model, **options, **others)
    return folder, result, folder / "best.ckpt"


@pytest.mark.parametrize(("task", "model", "options"), RUNS, ids=str)
def test_a_run_is_scored_again_from_its_checkpoint(trained, task, model, options):
    folder, result = trained(task, model, **options)
    check_again(folder, result)
    made, _ = load_task(folder / "best.ckpt")
    target, prediction, _, digest = read_predictions(folder / "predictions.csv")
    assert digest is not None
    assert len({*digest}) > 1
    for metric in resolve_task(task).metrics:
        assert metric(prediction, target) == pytest.approx(result["metrics"][f"test_{metric.name}"])
    assert len(target) == result["predictions"]
    assert result["parameters"] == sum(p.numel() for p in made.parameters() if p.requires_grad)
    assert (folder / "predictions.csv").read_text().count("\n") == 1 + len(target)


@pytest.mark.parametrize(("task", "model", "options", "score", "least"), LEARNED, ids=str)
def test_a_task_is_learned(trained, task, model, options, score, least):
    folder, result = trained(task, model, **options)
    split = score.partition("_")[0]
    scores = result["metrics"] if split == "test" else evaluate_own(folder / "best.ckpt", split)["metrics"]
    assert scores[score] > least
    if score in result["floor"]:
        assert least > result["floor"][score]
    check_again(folder, result)


@pytest.mark.parametrize(("task", "model", "options"), OF_WORDS, ids=str)
def test_scores_floors_and_tables_of_labels(trained, task, model, options):
    folder, result = trained(task, model, **options)
    names = {f"{split}_{metric}" for split in ("val", "test") for metric in SCORES}
    assert result["metrics"].keys() == names | {"val_loss", "test_loss"}
    floors = {f"_{floor}" for floor in family_of(task).floors}
    assert result["floor"].keys() == names | {name + floor for name in names for floor in floors}
    made, state = load_task(folder / "best.ckpt")
    lin = getattr(made.model.head, "lin", None)
    assert lin is None or lin.out_features == len(state.labels)
    target, prediction, *_ = read_predictions(folder / "predictions.csv")
    rows = result["tables"]["test"]["labels"]
    assert sum(row["there"] for row in rows) == (target != 0).sum()
    right, both = (sum(row[a] + row[b] for row in rows) / 2 for a, b in (("right",) * 2, ("there", "found")))
    assert result["metrics"]["test_f1"] == pytest.approx(right / both if both else 0)
    if task == "propbank-ewt":
        assert result["floor"]["test_f1"] == 0
        assert {row["label"] for row in rows} <= {"ARG0", "ARG1", "ARGM-NEG"}
        for name in ("distance", "length"):
            assert sum(part["words"] for part in result["tables"]["test"][name]) > 0
        assert (made.chain is not None) == bool({"crf", "decode"} & options.keys())
    if task == "semeval2010":
        (note,) = (note for note in result["data"]["notes"] if note.startswith("test"))
        assert "examples without words of a span, counted as wrong" in note
        lost = int(note.split("; ")[-1].removeprefix("test: ").split()[0])
        assert (prediction == -2).sum() == lost > 0


def test_words_stand_beside_their_predictions(trained):
    folder, result, _ = learned(trained, "ud-tags")
    assert result["data"]["notes"][-1].startswith("test: 13 of 13 words are scored by their upos, 1 with")
    group = read_predictions(folder / "predictions.csv").group
    assert np.unique(group).tolist() == [0, 1]  # the numbers of its sentences
    with open(folder / "predictions.csv", newline="") as file:
        written = list(csv.DictReader(file))
    words = {row["text"]: [one["word"] for one in written if one["text"] == row["text"]] for row in written}
    assert [len(words), *map(len, words.values())] == [2, *np.bincount(group)]
    assert all(text == " ".join(row) for text, row in words.items())
    labels = load_task(folder / "best.ckpt")[1].labels
    assert labels == sorted(labels)
    assert {"NOUN", "VERB", "DET"} < {*labels}


@pytest.mark.parametrize(
    ("task", "columns"),
    [("sick-e", ["text_1", "text_2"]), ("sst", ["text"]), ("rte", ["text_1", "text_2"]), ("sick-r", None)],
)
def test_texts_and_names_of_labels_stand_beside_numbers(trained, config_of, task, columns):
    folder, result = trained(task, "word-average")
    splits = load_splits(config_of(task, "word-average"))
    with open(folder / "predictions.csv", newline="", encoding="utf-8") as file:
        rows, test = list(csv.DictReader(file)), splits["test"]
    labels = [] if task == "sick-r" else list(map(str, test.labels))
    texts = columns or ["text_1", "text_2"]
    named = ["target_label", "prediction_label"] if labels else []
    table = result.get("tables", {"test": {"labels": []}})["test"]["labels"]
    assert bool(table) == bool(labels)
    if table:
        answers = [[row[name] for row in rows] for name in named]
        names = [row["label"] for row in table]
        expected = precision_recall_fscore_support(*answers, labels=names, zero_division=0)
        for name, column in zip(("precision", "recall", "f1", "there"), expected):
            np.testing.assert_allclose([row[name] for row in table], column)
    assert [*rows[0]] == ["example", "target", "prediction", "digest", *named, *texts]
    for row, data in zip(rows, test, strict=True):
        if labels:
            assert row["target_label"] == labels[int(row["target"])] == labels[int(data.y)]
            assert row["prediction_label"] == labels[int(row["prediction"])]
        # The known words of the texts are those of the graph.
        words = " ".join(row[name] for name in texts).lower().split()
        known = [word for word in words if word in splits.vocab]
        found = [splits.vocab.words[i] for i in data.input_ids.tolist() if splits.vocab.words[i] in words]
        assert found == known


def test_labels_of_ones_own_in_words(trained):
    _, result, checkpoint = learned(trained, "labels")
    # In a chain, the paths from the verb tell words before it from words after it.
    assert result["floor"]["test_f1_lookup"] == 1.0
    assert "or without marks in training of each word form" in result["signature"]["f1"]
    assert "train: 54 of 54 words are scored" in result["data"]["notes"][0]
    assert "; 2 of the 20 training sentences, drawn with seed 0" in result["data"]["notes"][1]
    assert load_task(checkpoint)[1].labels == ["O", "A0", "A1"]


# ---------------------------------------------------------------------------------- files of one's own


@pytest.fixture
def own(settings_of, tmp_path):
    """Settings of runs on the user's own files; a test file is optional."""

    def own(task: str, test: bool | str = False, **others: object) -> TrainConfig:
        if task.startswith("csv"):
            settings = {"task": task, **write_tiny_csv(tmp_path), **SIZES, **SHORT}
        else:
            settings = {**settings_of(task), "root": str(tmp_path / "root")}
            for name in ("train", "test"):
                settings[name] = str(shutil.copy(str(settings[name]), tmp_path / f"{name}.jsonl"))
        if test is not True:
            settings["test"] = test or None
        return TrainConfig.of(**{"model": "dt", **settings, **others})

    return own


@pytest.mark.parametrize("task", ["csv", "labels", "spans"])
def test_without_a_test_file_there_is_no_test_score(own, tmp_path, task):
    config = own(task)
    result = train(config, tmp_path / "run")
    assert not [name for name in result["metrics"] if name.startswith("test")]
    assert train(config, tmp_path / "run", resume=True) == result  # the run is finished
    check_again(tmp_path / "run", result)
    with pytest.raises(ValueError, match=r"its settings have no split 'test': give it \(--test FILE\)"):
        evaluate_own(result["checkpoint"])
    later = own(task, test=True)
    scores = evaluate_own(result["checkpoint"], settings={"test": later.test})["metrics"]
    with_test = train(later, tmp_path / "other")
    assert scores == {name: value for name, value in with_test["metrics"].items() if name.startswith("test")}
    moved = shutil.move(str(later.test), tmp_path / f"moved{Path(str(later.test)).suffix}")
    assert train(later.replace(test=str(moved)), tmp_path / "other", resume=True) == with_test
    # A model that is handed on needs the file of the split alone.
    write_model_folder(tmp_path / "model", *load_task(result["checkpoint"]))
    Path(str(config.train)).unlink()
    places = {"root": str(tmp_path / "elsewhere"), "parser": config.parser}
    alone = [evaluate(tmp_path / "model", s, settings={**places, s: str(moved)}) for s in ("test", "val")]
    assert [(one["floor"], one["metrics"]) for one in alone] == [
        ({}, {name.replace("test", split): value for name, value in scores.items()})
        for split in ("test", "val")
    ]


@pytest.mark.parametrize("task", ["csv", "spans"])
def test_the_parser_gives_each_text_one_tree_if_asked(own, task):
    config = own(task, one_sentence=True)
    assert load_splits(config).describe()["parser"] == "chain/1/one-sentence"
    assert parser_for(config, "chain").fingerprint == "chain/1/one-sentence"


@pytest.mark.parametrize("task", ["labels", "spans"])
def test_a_label_that_training_does_not_have_is_wrong(own, trained, tmp_path, task):
    _, _, checkpoint = learned(trained, task)
    if task == "labels":
        rows = [{"words": ["Ann", "sees", "Bob"], "labels": ["A7", None, "A8"], "mark": 1}]
    else:
        rows = [{**row, "label": "unheard"} for row in tiny_span_rows()]
    new = write_span_rows(tmp_path / "new.jsonl", rows)
    scored = evaluate_own(checkpoint, settings={"test": new})
    assert [scored["metrics"][f"test_{name}"] for name in SCORES] == [0, 0, 0, 0]
    names = ["A7", "A8"] if task == "labels" else ["unheard"]
    some = "2 with 2 labels" if task == "labels" else f"{len(rows)} examples with 1 label"
    assert scored["tables"]["test"]["labels"][0]["label"] == f"(unknown: {str(names)[1:-1]})"
    told = f"{some} that training does not have ({str(names)[1:-1]}), counted as wrong, in macro_f1 as one"
    assert told in " ".join(scored["data"]["notes"])
    train(own(task, test=new), tmp_path / "run")
    with open(tmp_path / "run" / "predictions.csv", newline="") as file:
        assert sorted({row["target_label"] for row in csv.DictReader(file)}) == names
    with pytest.raises(ValueError, match=r"no label of val is a label of train \(got '(A7|unheard)'"):
        train(own(task, val=str(new)), tmp_path / "neither")
    if task == "spans":
        bare = write_span_rows(tmp_path / "bare.jsonl", [{**row, "label": None} for row in rows])
        with pytest.raises(ValueError, match=r"train.jsonl \(test\): the examples have no labels"):
            evaluate_own(checkpoint, settings={"test": bare})


@pytest.mark.parametrize("task", ["labels", "spans"])
def test_own_trees_are_asked_for_where_they_are_not(own, role_rows, tmp_path, task):
    bare = tmp_path / "bare.jsonl"
    rows = tiny_span_rows() if task == "spans" else role_rows
    write_span_rows(bare, rows)
    with pytest.raises(ValueError, match=r"bare.jsonl:\d+: the sentence has no gold tree"):
        load_splits(own(task, trees="gold", train=str(bare)))
    tree = {"head": [2, 0, 2], "deprel": ["nsubj", "root", "obj"]}
    if task == "labels":
        trees = write_span_rows(tmp_path / "trees.jsonl", [row | tree for row in rows])
        notes = load_splits(own(task, train=trees, parser="bundled")).describe()["notes"]
        assert "18 examples have a tree of their own; 18 examples have a marked word" in notes[0]
    else:  # own trees are used with any parser
        assert load_splits(own(task))["train"][0].governor_index.tolist() == [0, 2, 0, 4, 2]
        assert load_splits(own(task, trees="gold")).describe()["parser"] == "gold"


@pytest.mark.parametrize("task", ["labels", "spans"])
def test_models_on_parsed_trees_do_not_read_those_of_the_files(own, run, role_rows, tmp_path, task):
    size, words = (4, tiny_span_rows()) if task == "spans" else (3, role_rows)
    tree = {"head": [*range(2, size + 1), 0], "deprel": ["dep"] * (size - 1) + ["root"]}
    rows = [row | tree | {"edges": [[1, 1, "arc"]]} for row in words]
    file = write_span_rows(tmp_path / "trees.jsonl", rows)
    given, chain = [0, *range(2, size + 1), 0], [0, *range(size)]
    for model, heads in {"dt": given, "dt@parser": chain, "dt@random-labels-parsed": chain}.items():
        data = load_splits(own(task, model=model, train=file))["train"]
        assert data[0].governor_index.tolist() == heads, model
        assert bool(data.describe().get("own_trees")) == (heads == given), model
    data = load_splits(own(task, model="dam@parser", arcs="own", train=file))["train"]
    assert "arc" in data.arc_labels
    checkpoint = train(own(task, model="dt@parser", train=file), tmp_path / "run")["checkpoint"]
    said = ["--parser", "chain", "--output", "out.jsonl", "--json"]
    told = run("predict", "--checkpoint", checkpoint, "--input", file, *said)
    assert json.loads(told.stdout)["parsed"] == len(rows), told.stderr


@pytest.mark.parametrize("task", ["labels", "spans"])
def test_a_model_of_phrases_asks_for_constituents(own, role_rows, tmp_path, task):
    tree = {"head": [2, 0, 2], "deprel": ["nsubj", "root", "obj"]}
    rows = tiny_span_rows(trees=True) if task == "spans" else [row | tree for row in role_rows]
    phrases = [row | {"constituents": [["S", 0, 3]]} for row in rows]
    files = [write_span_rows(tmp_path / f"{n}.jsonl", each) for n, each in enumerate([rows, phrases])]
    of = {"model": "constituents", "parser": "bundled"}
    advice = r"0.jsonl:\d+: the tree has no constituents, .* \(--set trees=parser\)"
    with pytest.raises(ValueError, match=advice):
        load_splits(own(task, **of, train=files[0]))
    assert load_splits(own(task, **of, train=files[0], trees="parser"))["train"][0].phrase_index.numel()
    assert load_splits(own(task, **of, train=files[1]))["train"][0].phrase_index.tolist()


def test_labels_of_a_treebank_of_ones_own(own, raw):
    files = {name: str(raw / f"en_mini-ud-{name}.conllu") for name in ("train", "test")}
    config = own("labels", **files, key="feats:PronType", trees="gold")
    assert config.label == "dt, trees gold, key feats:PronType"
    assert load_splits(config).describe()["parser"] == "gold"
    assert "look-up" in config.signatures()["accuracy"]


def test_limit_eval_selects_from_the_whole_split(own, tmp_path):
    whole = own("labels", test=True)
    some = whole.replace(limit_eval=7)
    assert whole.digest() == own("labels", test=True, limit_eval=None).digest()
    assert some.about_data == "at most 7 examples of val and test"
    result = train(some, tmp_path / "run")
    assert result["data"]["examples"] == {"train": 18, "val": 2, "test": 7}
    assert result["data"]["notes"][-1] == "test: 7 of 20 examples, spread over the split (limit_eval)"
    assert "test: 21 of 21 words are scored" in " ".join(result["data"]["notes"])
    assert result["predictions"] == 21
    check_again(tmp_path / "run", result)
    part, all_of_it = load_splits(some)["test"], load_splits(whole)["test"]
    forms = [tuple(data.input_ids.tolist()) for data in all_of_it]
    places = [forms.index(tuple(data.input_ids.tolist())) for data in part]
    assert places == sorted(set(places))
    bounds = [0, 2, 5, 8, 11, 14, 17, 20]  # one of each of seven parts
    assert all(low <= place < high for low, place, high in zip(bounds, places, bounds[1:]))
    assert load_splits(whole.replace(limit_eval=20)).digest() == load_splits(whole).digest()


def test_one_span_of_ones_own(own, tmp_path):
    one = write_span_rows(tmp_path / "one.jsonl", tiny_span_rows(num_spans=1))
    result = train(own("spans", train=one, test=one), tmp_path / "run")
    assert result["data"]["num_spans"] == {"train": 1, "val": 1, "test": 1}
    with pytest.raises(ValueError, match=r"'path' needs two spans, but examples of one.jsonl have one"):
        load_splits(own("spans", train=one, path=True))
    two = write_span_rows(tmp_path / "two.jsonl", tiny_span_rows())
    with pytest.raises(
        ValueError, match=r"two.jsonl \(test\): the number of spans .* must be 1, .*\(got 2\)"
    ):
        load_splits(own("spans", train=one, test=two))


def test_tables_with_tags(own, tmp_path):
    path = tmp_path / "own.tsv"
    rows = [f"<e1>{a}</e1> {v} <e2>{b}</e2>\t{v}" for a in "ABC" for b in "DEF" for v in ("eats", "sees")]
    path.write_text("\n".join(["body\trelation", *rows]) + "\n")
    columns = {"text_columns": "body", "label_column": "relation", "outside": "sees"}
    config = own("spans", train=str(path), test=str(path), **columns, **{**LONG, "batch_size": 4})
    result = train(config, tmp_path / "run")
    assert result["metrics"]["test_f1"] > 0.9
    assert [row["label"] for row in result["tables"]["test"]["labels"]] == ["eats"]
    with pytest.raises(ValueError, match=r"'outside' must be one of the labels of training, eats, sees"):
        train(config.replace(outside="none"), tmp_path / "other")


@pytest.mark.parametrize(("outside", "main", "last"), [(None, "accuracy", "f1"), ("none", "f1", "accuracy")])
def test_a_negative_label_makes_f1_the_main_metric(own, tmp_path, outside, main, last):
    rows = write_span_rows(tmp_path / "rows.jsonl", tiny_span_rows())
    settings = own("spans", train=rows, val=rows, test=rows, outside=outside, max_epochs=2).to_dict()
    settings = {name: value for name, value in settings.items() if name not in ("task", "model", "seed")}
    shown = Console(file=io.StringIO(), width=200)
    table = ablate("spans", ["transformer", "dt"], [0], tmp_path, settings=settings, console=shown)
    assert f"val_{main} " in shown.file.getvalue()
    header, _ = table_cells(table)
    assert [name for name in header if name[:4] in ("test", "val_")] == [
        *(f"test_{main}", "test_macro_f1", f"test_{last}", f"val_{main}")
    ]
    assert table["rows"][1]["against"]["metric"] == main
    runs = [str(path.parent) for path in sorted(tmp_path.glob("*/predictions.csv"))]
    assert next(iter(compare_runs(*runs, samples=100)["metrics"])) == main


def test_evaluation_on_a_file_with_other_columns_and_classes(own, tmp_path):
    config = own("csv")
    checkpoint = train(config, tmp_path / "run")["checkpoint"]
    same = evaluate_own(checkpoint, settings={"test": config.train})["metrics"]
    rows = [row.split(",") for row in Path(str(config.train)).read_text().splitlines()[1:]]
    other = write_span_rows(tmp_path / "other.jsonl", [{"body": text, "sort": label} for text, label in rows])
    given = {"train": other, "test": other, "text_columns": "body", "label_column": "sort"}
    assert evaluate_own(checkpoint, settings=given)["metrics"] == same
    with pytest.raises(ValueError, match=r"'text_columns' must name as many .* 1 \(got 'body, sort'\)"):
        evaluate_own(checkpoint, settings={**given, "text_columns": "body, sort"})
    three = tmp_path / "three.csv"
    three.write_text(Path(str(config.train)).read_text() + "so what,odd\n")
    with pytest.raises(ValueError, match=r"three.csv:18: 'label' is not a class of the training file.*'odd'"):
        evaluate_own(checkpoint, settings={"test": str(three)})
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("text,label\nfine a,good\nfine b,good\n")
    scored = evaluate_own(checkpoint, settings={"train": str(fewer), "test": str(fewer)})
    assert scored["floor"]["test_accuracy"] == 1.0


def test_three_classes_of_pairs_and_numbers(own, tmp_path):
    rows = [{"a": f"one {i}", "b": "two", "y": i % 3} for i in range(12)]
    pairs = write_span_rows(tmp_path / "pairs.jsonl", rows)
    config = own("csv", train=pairs, text_columns="a, b", label_column="y")
    assert config.num_texts == 2
    task, state = load_task(train(config, tmp_path / "run")["checkpoint"])
    assert task.model.head.lin_out.out_features == 3
    assert state.labels == [0, 1, 2]
    numbers = own(
        "csv-regression", train=pairs, test=pairs, text_columns="a", label_column="y", val_fraction=0.3
    )
    result = train(numbers, tmp_path / "numbers")
    assert {"test_mse", "test_pearson", "test_spearman"} < set(result["metrics"])
    assert result["floor"]["test_mse"] > 0
    assert load_task(result["checkpoint"])[1].labels is None
    check_again(tmp_path / "numbers", result)


@pytest.mark.parametrize("split", ["test", "val"])
def test_an_ablation_is_of_the_test_file_or_of_what_validates(tmp_path, split):
    given = {**write_tiny_csv(tmp_path), **SIZES, **SHORT} | (
        {} if split == "test" else {"test": None, "val_fraction": 0.4}
    )
    summary = ablate("csv", ["transformer", "word-average"], [0], tmp_path / "runs", settings=given)
    assert [row["n"] for row in summary["rows"]] == [1, 1]
    assert summary["compared"] == split
    against = summary["rows"][1]["against"]
    scores = [row["metrics"][f"{split}_{against['metric']}"]["values"] for row in summary["rows"]]
    assert against["difference"] == pytest.approx(scores[1][0] - scores[0][0])
    report = markdown(summary)
    assert ("they are too good" in report) == (split == "val")
    assert ("(validation)" in report.splitlines()[0]) == (split == "val")
    assert f"{split}_accuracy" in report.splitlines()[2]
    assert f"{split}_accuracy" in csv_rows(summary)
    folders = [str(Path(row["checkpoints"][0]).parent) for row in summary["rows"]]
    assert compare_runs(*folders)["n"] == against["n"]
    if split == "val":
        with pytest.raises(ValueError, match=r"a test split, but 'csv' has none here: give it \(--test"):
            needs_structure("csv", tmp_path / "runs", settings=given)


def test_what_validates_is_that_of_its_seed_and_names_of_classes_are_part_of_a_run(own, tmp_path):
    digests = {
        (seed, val_seed): load_splits(own("csv", seed=seed, val_seed=val_seed)).digest()
        for seed in (0, 1)
        for val_seed in (0, 1)
    }
    assert digests[0, 0] == digests[1, 0] != digests[0, 1]
    other = tmp_path / "other.csv"
    other.write_text(Path(str(own("csv").train)).read_text().replace("good", "great"))
    assert load_splits(own("csv", train=str(other))).digest() != digests[0, 0]


# ------------------------------------------------------------------------------- tables and comparisons


def test_a_table_of_tags(settings_of, tmp_path):
    models = ["transformer", "dra@random", "dt@parser", "bilstm"]
    settings = {**settings_of("ud-tags"), "parser": "chain"}
    del settings["task"]
    summary = ablate("ud-tags", models, [0, 1], tmp_path, settings=settings)
    assert not any(row["failed"] for row in summary["rows"])
    # Labels do not depend on the parser, so all rows can be compared.
    assert [row["against"] is None for row in summary["rows"]] == [True, False, False, False]
    assert summary["rows"][1]["against"]["n"] == 13
    table = markdown(summary)
    for text in (
        "| (no skill) | 0.",
        "| (look-up) | 0.",
        "| dra@random |",
        "scored by their upos",
        "macro_f1",
    ):
        assert text in table
    seeds = {model: [str(f) for f in sorted(tmp_path.glob(f"ud-tags_{model}_seed*"))] for model in models}
    compared = compare_runs(seeds["bilstm"], seeds["dt@parser"], samples=50)
    for name, row in compared["metrics"].items():
        results = [json.loads(Path(f, "result.json").read_text())["metrics"] for f in seeds["dt@parser"]]
        assert row["score_b"] == pytest.approx(sum(result[f"test_{name}"] for result in results) / 2)
    assert [*compared["metrics"]] == ["accuracy", "macro_f1"]


def test_a_table_and_a_comparison_of_roles_from_the_command_line(run, places, tmp_path):
    sets = (
        "hidden_channels=8",
        "ff_channels=8",
        "num_layers=1",
        "heads=2",
        "relation_dim=4",
        "accelerator=cpu",
    )
    sets = [f"--set={text}" for text in (*sets, "form=spans", "crf=true")]
    options = ["--models", "bilstm,dt@random", "--seeds", 1, "--max-epochs", 1]
    done = run(
        "ablate",
        "--task",
        "propbank-ewt",
        *options,
        "--root",
        places("propbank-ewt")["root"],
        *sets,
        "--json",
    )
    assert done.exit_code == 0, done.stderr
    summary = json.loads(done.stdout)
    assert [row["against"] is None for row in summary["rows"]] == [True, False]
    folder = tmp_path / "runs" / "ablation_propbank-ewt"
    table = (folder / "table.md").read_text()
    for text in (
        "| (look-up) | 0.",
        "# PropBank on EWT, form spans, crf=True",
        "--set form=spans",
        "spans are right if",
        "the 9 sentences of the test split",
    ):
        assert text in table
    sides = [f"{folder}/propbank-ewt_{model}_seed*" for model in ("bilstm", "dt@random")]
    done = run("compare", *sides, "--samples", 50, "--json")
    assert done.exit_code == 0, done.stderr
    assert {*json.loads(done.stdout)["metrics"]} == {"f1", "macro_f1"}
    assert family_of("cogs").compared("cogs") == "groups of test examples"
    assert family_of("semeval2010").compared("semeval2010") == "test examples"


def test_the_official_score_is_compared_without_direction_too(settings_of, tmp_path):
    settings = {**settings_of("semeval2010"), "direction": False}
    del settings["task"]
    summary = ablate("semeval2010", ["bilstm", "dt"], [0], tmp_path, settings=settings)
    assert [row["against"] is None for row in summary["rows"]] == [True, False]
    for model in ("bilstm", "dt"):
        (folder,) = tmp_path.glob(f"semeval2010_{model}_seed0_*")
        result = json.loads((folder / "result.json").read_text())
        target, prediction, *_ = read_predictions(folder / "predictions.csv")
        metric = family_of("semeval2010").tasks["semeval2010"].metrics[0]
        assert metric(prediction, target) == pytest.approx(result["metrics"]["test_macro_f1"])
        assert {row["label"] for row in result["tables"]["test"]["labels"]} == {"Cause-Effect"}


@pytest.mark.parametrize(
    ("task", "rows"),
    [
        ("sick-e", {"word-average": {}, "dt": {}, "bert-dam-linked": {}}),
        ("semeval2010", {"bilstm": {}, "bert-dam-basic": {}}),
        ("ud-tags", {"dt": {}, "bert": {}}),
        ("ubuntu", {"bert-sia": FEW, "smn": FEW}),
    ],
)
def test_examples_are_the_same_to_all_models(config_of, task, rows):
    """Splits of words, pieces and other trees are comparable; a part of a split is not."""
    first, options = next(iter(rows.items()))
    made = [load_splits(config_of(task, model, **own)) for model, own in rows.items()]
    made.append(load_splits(config_of(task, first, **options, parser="bundled")))
    comparable = family_of(task).task_class.comparable
    assert all(comparable(made[0], splits) for splits in made)
    if task != "ubuntu":
        assert not comparable(made[0], made[0].limited(1))


def test_rows_of_words_and_of_pieces_are_compared(trained, config_of):
    """Even if rows of pieces lose some words."""
    rows = {
        "bilstm": ("bilstm", {**SPANS, "crf": True}),
        "bert": ("bert-dt", {**SPANS, "decode": "viterbi", "word_state": "mean"}),
        "heads": ("gate@noisy-40", {}),
    }
    runs = {name: trained("propbank-ewt", model, **options) for name, (model, options) in rows.items()}
    assert runs["bert"][1]["data"]["cut_words"]["test"] > 0
    assert (read_predictions(runs["bert"][0] / "predictions.csv")[1] == -2).any()
    compared = compare_runs(str(runs["bilstm"][0]), str(runs["bert"][0]), samples=20)
    score = runs["bert"][1]["metrics"]["test_f1"]
    assert compared["metrics"]["f1"]["score_b"] == pytest.approx(score)
    with pytest.raises(ValueError, match="these are not the same examples"):
        compare_runs(str(runs["bilstm"][0]), str(runs["heads"][0]), samples=20)
    splits = {
        name: load_splits(config_of("propbank-ewt", model, **options))
        for name, (model, options) in rows.items()
    }
    comparable = family_of("propbank-ewt").task_class.comparable
    assert comparable(splits["bilstm"], splits["bert"])
    assert not comparable(splits["bilstm"], splits["heads"])


# ---------------------------------------------------------------------------------------- single points


def test_decoding_can_change_in_evaluation(trained):
    folder, result = trained("propbank-ewt", "dt", **SPANS)
    again = evaluate_own(folder / "best.ckpt", settings={"decode": "viterbi"})
    assert again["floor"] == {k: v for k, v in result["floor"].items() if k.startswith("test")}
    assert again["metrics"]["test_loss"] == result["metrics"]["test_loss"]
    assert again["metrics"]["test_accuracy"] != result["metrics"]["test_accuracy"]


def test_evaluation_of_selection_takes_other_edges_and_regimes(trained):
    _, result, path = learned(trained, "ubuntu")
    near = [
        evaluate_own(path, settings={"max_sum": 0, "direction": side})["metrics"]["test_loss"]
        for side in ("ancestors", "descendants")
    ]
    assert near[0] != near[1]  # with max_sum=0 only the direction matters
    chain = evaluate_own(path, settings={"trees": "chain", "ties": "pessimistic"})
    assert result["metrics"]["test_loss"] not in (*near, chain["metrics"]["test_loss"])
    assert "ties=pessimistic" in chain["signature"]["R10@1"]
    with pytest.raises(ValueError, match="'sia_edges' cannot be None"):
        evaluate_own(path, settings={"sia_edges": None})


def test_agreement_with_its_other_test_split(settings_of, tmp_path):
    raw, root = tmp_path / "raw", str(tmp_path / "agreement")
    shutil.copytree(Path(__file__).parents[2] / "datasets" / "mini" / "agreement" / "raw", raw)
    for name in ("train", "dev", "gen"):
        path = raw / f"tense_bracket.{name}"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:60]))
    shutil.copy(raw / "tense_bracket.dev", raw / "tense_bracket.test")
    settings = {**settings_of("ud-tags"), "task": "agreement", "root": root, "raw_from": str(raw)}
    result = train(TrainConfig.of("dt-nopos", **{**settings, "max_epochs": 2}), tmp_path / "run")
    assert result["best_epoch"] == 2  # keep=last
    assert result["metrics"]["test_accuracy"] == result["metrics"]["test_exact"]  # one verb per sentence
    assert {row["label"] for row in result["tables"]["test"]["labels"]} <= {"singular", "plural"}
    other = evaluate_own(result["checkpoint"], "test-indist")
    assert other["metrics"]["test-indist_accuracy"] == result["metrics"]["val_accuracy"]  # the same sentences
    assert other["tables"]["test-indist"] == result["tables"]["val"]
    with pytest.raises(ValueError, match="test-indist"):
        evaluate_own(result["checkpoint"], "test-mismatched")


OWN_EDGES = """
from torch_geometric.transforms import Compose
from graphdep.transforms import RerootedTree, resolve

def rerooted(max_distance=2, implicit=False):
    return Compose([RerootedTree(), resolve("dt", max_distance=max_distance)])
"""


@pytest.mark.usefixtures("no_own_edges")
@pytest.mark.parametrize(
    ("task", "model", "edges"),
    [
        ("semeval2010", "transformer", "graphdep.transforms:SpanPathEdges"),
        ("aspects", "dt", "own_span_edges:rerooted"),
    ],
)
def test_edges_that_read_marks(run, places, tmp_path, task, model, edges):
    (tmp_path / "own_span_edges.py").write_text(OWN_EDGES)
    sets = [f"--set={text}" for text in ("hidden_channels=8", "ff_channels=8", "num_layers=1", "heads=2")]
    root = ["--root", places(task)["root"], "--edges", edges, "--json"]
    options = ["--model", model, "--max-epochs", 1, "--output", tmp_path / "run", "--parser", "chain"]
    done = run("train", "--task", task, *options, *root, *sets)
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    done = run("evaluate", "--checkpoint", tmp_path / "run" / "best.ckpt", *root, "--set", "parser=chain")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["metrics"] == {k: v for k, v in result["metrics"].items() if k.startswith("test")}
    assert told["tables"]["test"] == result["tables"]["test"]


@pytest.mark.usefixtures("no_own_edges")
def test_edges_that_read_marks_on_a_pretrained_encoder(config_of, tmp_path):
    from graphdep.transforms import SpanPathEdges, register_edges

    register_edges("way", SpanPathEdges)
    config = config_of("semeval2010", "bert", edges="way", max_length=48)
    check_again(tmp_path, train(config, tmp_path))


@pytest.mark.parametrize(
    ("task", "model", "options", "text"),
    [
        ("ud-tags", "dt", {"batch_size": 2}, "The dog barks"),
        ("aspects", "dra", {}, "The <e1>dog</e1> barks"),
    ],
)
def test_what_words_attend_to(run, trained, tmp_path, task, model, options, text):
    folder, _ = trained(task, model, **options)
    attention = ["attention", "--checkpoint", folder / "best.ckpt", "--parser", "chain", "--json"]
    attention.append("--overwrite")
    done = run(*attention, text)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["words"] == ["[ROOT]", "The", "dog", "barks"]
    assert (tmp_path / "attention.png").is_file()
    assert "'texts' must be one text" in run(*attention, "The dog", "barks").stderr
