"""Relations are learned from training trees of any scheme, and kept from the file to the prediction."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from graphdep import RelationVocab, Sentence, SpanClassifier
from graphdep.io import read_conllu, write_conllu
from graphdep.tasks import resolve_task
from graphdep.training import TrainConfig, load_splits, load_task, train
from graphdep.training.config import setting_texts
from graphdep.vocab.relations import RELATIONS
from tests.kit.runs import evaluate_own
from tests.kit.tiny_corpora import LABEL_SCHEMES, relation_rows, tiny_span_rows, write_span_rows

SMALL = {"hidden_channels": 16, "ff_channels": 16, "num_layers": 1, "heads": 2, "relation_dim": 8}
LEARNS = {**SMALL, "max_epochs": 6, "lr": 0.01}
FOREIGN = {"nsubj": "SBJ", "obj": "OBJ", "amod": "NMOD"}
UD_SENTENCE = Sentence(["a", "b", "c"], [2, 0, 2], ["nsubj", "root", "obj"])


def foreign(labels: list[str]) -> list[str]:
    return [FOREIGN.get(label, label) for label in labels]


def sentences(rows: list[dict]) -> tuple[list[Sentence], list, list[str]]:
    trees = [Sentence(row["words"], row["head"], row["deprel"]) for row in rows]
    return trees, [row["spans"] for row in rows], [row["label"] for row in rows]


@pytest.fixture(scope="module")
def conll08(tmp_path_factory):
    """A run by the command line on labels of CoNLL-2008: its folder, and its output."""
    from typer.testing import CliRunner

    from graphdep.cli import app

    folder = tmp_path_factory.mktemp("conll08")
    for name, size in (("train", 400), ("test", 100)):
        write_span_rows(folder / f"{name}.jsonl", relation_rows("conll08", size, len(name)))
    settings = [f"--set={name}={value}" for name, value in LEARNS.items()]
    files = ["--train", folder / "train.jsonl", "--test", folder / "test.jsonl", "--root", folder / "root"]
    command = ["train", "--task", "spans", "--model", "dt", *files, "--output", folder / "run", *settings]
    done = CliRunner().invoke(app, [str(part) for part in command])
    assert done.exit_code == 0, done.output
    return folder, done.output


def test_relations_of_another_scheme_are_learned_by_command_line(conll08, run):
    folder, printed = conll08
    said = "3 labels learned from the training trees; 33% of the arcs are in Universal Dependencies' table"
    assert printed.index(f"relations: {said}") < printed.index("epoch")
    result = json.loads((folder / "run" / "result.json").read_text())
    assert result["data"]["relations"] == said
    assert result["metrics"]["test_accuracy"] > 0.97 > 0.7 > result["floor"]["test_accuracy_lookup"]
    assert evaluate_own(folder / "run" / "best.ckpt")["metrics"]["test_accuracy"] > 0.97
    rows = relation_rows("conll08", 50, seed=3)
    given = write_span_rows(folder / "new.jsonl", rows)
    command = ["predict", "--checkpoint", folder / "run" / "best.ckpt", "--input", given]
    done = run(*command, "--output", "out.jsonl")
    assert done.exit_code == 0, done.output
    found = [json.loads(line)["prediction"] for line in Path("out.jsonl").read_text().splitlines()]
    assert sum(a == row["label"] for a, row in zip(found, rows)) > 0.97 * 50


@pytest.mark.parametrize("scheme", [scheme for scheme in LABEL_SCHEMES if scheme != "conll08"])
def test_relations_of_each_scheme_are_learned_in_python(scheme):
    model = SpanClassifier(device="cpu", progress=False, **LEARNS)
    trees, spans, labels = sentences(relation_rows(scheme, 400, seed=5))
    model.fit(trees, labels, spans=spans)
    trees, spans, labels = sentences(relation_rows(scheme, 100, seed=4))
    assert (model.predict(trees, spans=spans) == labels).mean() > 0.97


@pytest.mark.parametrize("setting", [{"relations": "ud"}, {"labels": False}], ids=str)
def test_without_the_labels_of_another_scheme_there_is_nothing_to_learn(setting, conll08, tmp_path):
    folder, _ = conll08
    files = {name: str(folder / f"{name}.jsonl") for name in ("train", "test")}
    config = TrainConfig.of(
        "dt", task="spans", root=str(tmp_path), **files, **{**LEARNS, "max_epochs": 3}, **setting
    )
    assert train(config, tmp_path / "run")["metrics"]["test_accuracy"] < 0.7


FAMILIES = [
    ("sick-e", "dt"),
    ("rte", "dt"),
    ("sick-e", "bert-dt"),
    ("csv", "dt"),
    ("spans", "dt"),
    ("labels", "dt"),
    ("dailydialog", "transformer-dra"),
    ("ubuntu", "bert-sia"),
    ("post-train", "bert-fp"),
]


@pytest.fixture
def foreign_config(config_of, places, tmp_path):
    """Settings of a run whose trees have foreign labels, from a parser or in the rows."""

    def config(task: str, model: str, **settings) -> TrainConfig:
        own = places({"csv": "sick-e", "post-train": "ubuntu"}.get(task, task))
        root = {"root": str(tmp_path / "root")}
        if task in ("spans", "labels"):
            rows = tiny_span_rows(trees=True)
            for number, row in enumerate(rows):
                row["deprel"] = foreign(row["deprel"])
                row["labels"] = ["even", "odd"] * 2 if number % 2 else ["odd", "even"] * 2
            files = {name: write_span_rows(tmp_path / f"{name}.jsonl", rows) for name in ("train", "test")}
            return config_of(task, model, **files, **root, **settings)
        trees = read_conllu(own["parser"].removeprefix("conllu:"))
        foreigners = [Sentence(tree.form, tree.head, foreign(tree.deprel)) for tree in trees]
        write_conllu(foreigners, tmp_path / "trees.conllu")
        parser = {"parser": f"conllu:{tmp_path / 'trees.conllu'}"}
        if task == "csv":
            rows = [{"text": tree.text, "label": tree.form[0]} for tree in trees]
            files = {name: write_span_rows(tmp_path / f"{name}.jsonl", rows) for name in ("train", "test")}
            columns = {"text_columns": "text", "label_column": "label"}
            return config_of(task, model, **files, **columns, **root, **parser, **settings)
        raw = {"raw_from": str(Path(own["root"], "raw", *(["ubuntu-v1"] if "ubuntu" in own["root"] else [])))}
        return config_of(task, model, **raw, **root, **parser, **settings)

    return config


@pytest.mark.parametrize(("task", "model"), FAMILIES, ids=str)
def test_every_family_learns_hands_on_and_keeps_relations(task, model, foreign_config, tmp_path):
    config = foreign_config(task, model)
    splits = load_splits(config)
    relations = splits.relations
    assert set(relations.learned) == {"SBJ", "OBJ"} | ({"NMOD"} if task in ("spans", "labels") else set())
    assert relations.used == ["root"]
    assert all(dataset.relations == relations for dataset in splits.datasets.values())
    assert splits.describe()["relations"].startswith(f"{len(relations.learned) + 1} labels learned")
    again = load_splits(config)  # from processed files
    assert (again.relations, again.describe()) == (relations, splits.describe())
    assert again.digest() == splits.digest() != load_splits(config.replace(relations="ud")).digest()
    train(config, tmp_path / "run", splits=splits)
    assert load_task(tmp_path / "run" / "best.ckpt")[1].relations == relations


@pytest.mark.parametrize(("task", "model"), FAMILIES[:1] + FAMILIES[4:5] + FAMILIES[7:8], ids=str)
def test_how_relations_are_chosen_is_a_setting(task, model, foreign_config, config_of):
    plain = load_splits(foreign_config(task, model, relations="ud"))
    assert plain.relations == RelationVocab()
    (note,) = [note for note in plain.describe()["notes"] if note.startswith("test: ") and "unknown" in note]
    assert "have unknown labels, read as 'dep'" in note
    assert load_splits(config_of(task, model)).relations == RelationVocab()
    learned = load_splits(config_of(task, model, relations="learned")).relations
    assert learned.learned == []
    assert {"nsubj", "root", "obj"} <= {*learned.used}


def test_the_setting_has_the_words_of_the_option():
    (row,) = [
        row for row in setting_texts(TrainConfig.of_task("spans"), "spans", "dt") if row.name == "relations"
    ]
    assert row.default == "auto"
    assert TrainConfig.of_task("spans").marks["relations"]["choices"] == RELATIONS


@pytest.mark.parametrize("task", ["sick-e", "ubuntu"])
def test_a_split_that_is_loaded_alone(task, foreign_config, caplog):
    config = foreign_config(task, "dt" if task == "sick-e" else "bert-sia")
    corpus, splits = resolve_task(task).corpus, load_splits(config)
    where = {"root": config.root, "parser": config.parser}
    with caplog.at_level(logging.WARNING, "graphdep"):
        alone = corpus(**where, split="val", vocab=splits.vocab)
    assert alone.relations == RelationVocab()
    assert "relations=train.relations" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.WARNING, "graphdep"):
        given = corpus(**where, split="val", vocab=splits.vocab, relations=splits.relations)
        without = corpus(**where, split="val")
    assert given.relations == without.relations == splits.relations
    assert not caplog.text
    with pytest.raises(ValueError, match="'relations' must be one of auto, ud, learned"):
        corpus(**where, split="val", relations="own")


def test_trees_of_another_scheme_are_refused(conll08, run, caplog, tmp_path):
    folder, _ = conll08
    checkpoint = folder / "run" / "best.ckpt"
    model = SpanClassifier.load(checkpoint, parser="bundled")
    trees, spans, _ = sentences(relation_rows("conll08", 20, seed=1))
    with caplog.at_level(logging.WARNING, "graphdep"):
        model.predict(trees, spans=spans)
    assert not caplog.text
    with caplog.at_level(logging.WARNING, "graphdep"):
        model.predict([*trees, UD_SENTENCE], spans=[*spans, [(0, 1)]])
    assert "2 of 63 arcs (3%) have unknown labels, read as 'dep': nsubj (1), obj (1)" in caplog.text
    with pytest.raises(
        ValueError,
        match="the labels of the trees are not those .* 2 of 3 arcs .* labels of its training .such as",
    ):
        model.predict([UD_SENTENCE], spans=[[(0, 1)]])
    words = write_span_rows(tmp_path / "words.jsonl", [{"words": ["Ann", "sees", "Bob"], "spans": [[0, 1]]}])
    done = run("predict", "--checkpoint", checkpoint, "--input", words, "--parser", "bundled")
    assert done.exit_code == 2
    assert "--parser" in done.output
    assert "train on parsed trees (--set trees=parser)" in " ".join(done.output.split())
    ud = write_span_rows(tmp_path / "ud.jsonl", relation_rows("ud", 20, seed=1))
    with pytest.raises(ValueError, match="the labels of the trees are not those"):
        evaluate_own(checkpoint, settings={"test": ud})
    done = run("predict", "--checkpoint", checkpoint, "--input", words, "--parser", "chain")
    assert done.exit_code == 0  # all labels are dep


def test_labels_that_no_model_reads_are_not_checked(conll08, tmp_path):
    folder, _ = conll08
    files = {name: str(folder / f"{name}.jsonl") for name in ("train", "test")}
    options = {**SMALL, "max_epochs": 1, "accelerator": "cpu", "limit_train": 20}
    config = TrainConfig.of("dt", task="spans", root=str(tmp_path), **files, **options, labels=False)
    train(config, tmp_path / "run")
    model = SpanClassifier.load(tmp_path / "run" / "best.ckpt", parser="bundled")
    assert len(model.predict([UD_SENTENCE], spans=[[(0, 1)]])) == 1
