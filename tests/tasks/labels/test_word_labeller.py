from __future__ import annotations

import copy
import importlib.util
import json
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from torch_geometric.data import Batch

import graphdep
from graphdep import Sentence, WordLabeller
from graphdep.data import mark_words, to_data
from graphdep.training import TrainConfig, load_task, train
from graphdep.transforms import DependencyEdges, SelfLoops
from tests.kit.runs import evaluate_own

SIZES = {"hidden_channels": 16, "ff_channels": 16, "num_layers": 1, "heads": 2, "relation_dim": 4}
SIZES |= {"min_freq": 1, "lr": 0.02, "dropout": 0.0}
NAMES = ("Ann", "Bob", "Cid", "Dan", "Eve")
WORDS = [[a, "sees", b, "sing"] for a in NAMES for b in NAMES if a != b]
LABELS = [["A0", None, "A1", "O"] for _ in WORDS]
MARKS = [1] * len(WORDS)
TREES = [Sentence(words, [2, 0, 2, 2], ["nsubj", "root", "obj", "xcomp"]) for words in WORDS]


def new(encoder=None, model=None, **options) -> WordLabeller:
    own = {"parser": "chain", "device": "cpu", "progress": False, "max_epochs": 1}
    return WordLabeller(encoder, model, **{**own, **({} if encoder else SIZES), **options})


@pytest.fixture(scope="module")
def fitted() -> WordLabeller:
    return new(max_epochs=12, batch_size=4, validation_fraction=0.2).fit(WORDS, LABELS, MARKS)


def test_learns_and_predicts(fitted):
    assert fitted.classes_.tolist() == ["A0", "A1", "O"]
    assert fitted.score(WORDS, LABELS, MARKS) > 0.9
    labels, shares = fitted.predict(WORDS, MARKS), fitted.predict_proba(WORDS, MARKS)
    assert [share.shape for share in shares] == [(4, 3)] * 20
    np.testing.assert_allclose(np.concatenate(shares).sum(axis=1), 1)
    assert labels == [fitted.classes_[share.argmax(axis=1)].tolist() for share in shares]
    assert fitted.result_["data"]["examples"] == {"train": 16, "val": 4}
    assert (fitted.parser_failures, fitted.cut_words) == (0, 0)
    assert graphdep.WordLabeller is WordLabeller
    assert not is_classifier(fitted)  # whose labels would be one a row


def test_probabilities_are_those_of_the_model_on_each_sentence_alone(fitted):
    task, state = fitted._predictor.task, fitted._predictor.state
    words = [["Ann", "sees"], ["unknown"], ["Cid", "sees", "Bob", "sing", "sing"]]
    marks = [1, 0, 0]
    for one, mark, share in zip(words, marks, fitted.predict_proba(words, marks)):
        data = to_data([Sentence.chain(one)], vocab=state.vocab, relations=state.relations)
        mark_words(data, [int(number == mark) for number in range(len(one))])
        with torch.no_grad():
            logits = task(task.edges(Batch.from_data_list([data])))
        expected = logits.double().softmax(dim=1).numpy()[:, [1, 2, 0]]  # the model has O first
        np.testing.assert_allclose(share, expected, atol=1e-6)
    assert not np.allclose(fitted.predict_proba(words[:1], [0])[0], fitted.predict_proba(words[:1], [1])[0])


def test_trees_are_those_of_the_sentences():
    model = new(max_epochs=2).fit(TREES, LABELS)
    assert "own" in model.result_["data"]["notes"][0]
    parsed, chains = model.predict_proba(TREES), model.predict_proba([tree.form for tree in TREES])
    assert model.parser_failures == 0
    assert not np.allclose(parsed[0], chains[0])
    np.testing.assert_allclose(model.predict_proba([*TREES[:1], WORDS[0]])[1], chains[0], atol=1e-6)


@pytest.mark.parametrize("kind", [tuple, np.array, lambda words: np.array(words, dtype=object)])
def test_kinds_of_sequences(fitted, kind):
    assert fitted.predict(kind([kind(words) for words in WORDS]), np.array(MARKS)) == fitted.predict(
        WORDS, MARKS
    )
    assert fitted.score(WORDS, kind([kind(row) for row in [["A0"] * 4] * 20]), MARKS) <= 1


def test_saved_loaded_copied(fitted, tmp_path):
    expected = fitted.predict_proba(WORDS, MARKS)
    fitted.save(tmp_path / "model.ckpt")
    loaded = WordLabeller.load(tmp_path / "model.ckpt", parser="chain", device="cpu", batch_size=3)
    for same in (loaded, copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_allclose(same.predict_proba(WORDS, MARKS), expected, atol=1e-6)
        assert same.classes_.tolist() == fitted.classes_.tolist()
    mine, its = fitted.get_params(), clone(loaded).get_params()
    assert its.pop("model") == "dt"
    changed = {"model", "batch_size", "progress"}
    assert {k: v for k, v in mine.items() if k not in changed} == {
        k: v for k, v in its.items() if k not in changed
    }
    state = load_task(tmp_path / "model.ckpt")[1]
    assert state.config.train.startswith("sentences-")
    with pytest.raises(ValueError, match=r"model.ckpt: trained with the parser 'chain'; only 'bundled' is"):
        WordLabeller.load(tmp_path / "model.ckpt")


def test_the_same_run_as_that_of_the_command_line(fitted, tmp_path):
    rows = [{"words": w, "labels": row, "mark": 1} for w, row in zip(WORDS, LABELS)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    own = {"train": str(path), "val_fraction": 0.2, "root": str(tmp_path / "root"), "parser": "chain"}
    settings = {**own, **SIZES, "accelerator": "cpu", "max_epochs": 12, "batch_size": 4}
    result = train(TrainConfig.of("dt", task="labels", test=str(path), **settings), tmp_path / "run")
    assert result["metrics"].items() >= fitted.result_["metrics"].items()
    assert result["metrics"]["test_accuracy"] == fitted.score(WORDS, LABELS, MARKS)


def test_a_folder_keeps_what_evaluation_needs(tmp_path):
    model = new(folder=tmp_path, model="bilstm").fit(WORDS, LABELS)
    checkpoint = model.result_["checkpoint"]
    assert evaluate_own(checkpoint, "val")["metrics"] == {
        name: value for name, value in model.result_["metrics"].items() if name.startswith("val")
    }
    loaded = WordLabeller.load(checkpoint, parser="chain", device="cpu")
    assert (loaded.encoder, loaded.model) == (None, "bilstm")
    assert clone(loaded).set_params(folder=None).fit(WORDS, LABELS).predict(WORDS) == model.predict(WORDS)


def test_spans_by_a_chain_that_is_learned():
    words = [["Ann", first, last, "sleeps"] for first in NAMES for last in NAMES if first != last]
    labels = [["O", "B-PER", "I-PER", "O"]] * len(words)
    model = new(scheme="bio", crf=True, max_epochs=10).fit(words, labels)
    assert model.predict(words) == labels
    with pytest.raises(ValueError, match=r"'sentences\[1\]': word 1: 'I-PER' must stand behind B-PER"):
        new(scheme="bio").fit(words[:2], [labels[0], ["I-PER", "O", "O", "O"]])


def test_a_search(tmp_path):
    ranges = {"lr": np.logspace(-2, -1, 2), "batch_size": np.array([8]), "model": np.array(["dt", "bilstm"])}
    search = GridSearchCV(new(), ranges, cv=2).fit(WORDS, LABELS)
    assert 0 <= search.best_score_ <= 1
    search.best_estimator_.save(tmp_path / "best.ckpt")
    loaded = WordLabeller.load(tmp_path / "best.ckpt", parser="chain", device="cpu")
    assert loaded.predict(WORDS) == search.best_estimator_.predict(WORDS)


def test_edges_of_ones_own(tmp_path):
    edges = DependencyEdges("both") | SelfLoops()
    model = new(edges=edges).fit(TREES, LABELS)
    expected = model.predict_proba(TREES)
    model.save(tmp_path / "model.ckpt")
    for same in (
        WordLabeller.load(tmp_path / "model.ckpt", edges=edges, parser="chain", device="cpu"),
        pickle.loads(pickle.dumps(model)),
    ):
        np.testing.assert_allclose(same.predict_proba(TREES), expected, atol=1e-6)


@pytest.mark.parametrize("model", ["bert", "bert-dt", None])
def test_pretrained_encoders(tmp_path, model):
    pytest.importorskip("transformers")
    from tests.kit.tiny_encoder import write_tiny_encoder

    encoder = write_tiny_encoder(tmp_path / "encoder")
    fitted = new(encoder, model, max_length=24, word_state="mean").fit(TREES, LABELS, MARKS)
    assert fitted.result_["model"] == (model or "bert-dt")
    expected = fitted.predict_proba(TREES, MARKS)
    fitted.save(tmp_path / "model.ckpt")
    (tmp_path / "encoder" / "model.safetensors").unlink()
    loaded = WordLabeller.load(tmp_path / "model.ckpt", parser="chain", device="cpu")
    np.testing.assert_allclose(loaded.predict_proba(TREES, MARKS), expected, atol=1e-6)
    long = [["Ann", "sees", *["somebody"] * 5]]
    (labels,), (share,) = loaded.predict(long, [1]), loaded.predict_proba(long, [1])
    cut = labels.count(None)
    assert loaded.cut_words == cut > 0
    assert labels[-cut:] == [None] * cut
    assert not share[-cut:].any()
    assert loaded.score(long, [["A0"] * 7], [1]) <= (7 - cut) / 7


@pytest.mark.skipif(importlib.util.find_spec("pybart") is None, reason="needs pybart-nlp")
def test_enhanced_graphs(tmp_path):
    pytest.importorskip("transformers")
    from tests.kit.tiny_encoder import write_tiny_encoder

    encoder = write_tiny_encoder(tmp_path / "encoder")
    model = new(encoder, "bert-dam", max_length=24).fit(TREES, LABELS)
    assert [len(row) for row in model.predict([*TREES[:2], WORDS[0]])] == [4] * 3


def test_long_sentences():
    long = [[*words, "now"] for words in WORDS]
    labels = [[*row, "O"] for row in LABELS]
    with pytest.raises(ValueError, match=r"'sentences\[0\]': 5 words are more than max_words=4: allow more"):
        new(max_words=4).fit(long, labels)
    cut = new(max_words=4, truncate=True).fit(long, labels, MARKS)
    plain = new().fit(WORDS, LABELS, MARKS)
    assert [row[:4] for row in cut.predict(long, MARKS)] == plain.predict(WORDS, MARKS)
    assert {row[4] for row in cut.predict(long, MARKS)} == {None}
    assert cut.cut_words == 20
    assert not cut.predict_proba(long, MARKS)[0][4].any()
    with pytest.raises(ValueError, match=r"'sentences\[0\]': the marked word 4 is beyond max_words=4"):
        cut.predict(long[:1], [4])
    with pytest.raises(ValueError, match="10001 words are more than max_words=10000"):
        plain.predict([["w"] * 10_001], [0])


def test_marks_that_training_had_none_of_are_refused(tmp_path):
    plain = new().fit(WORDS, LABELS)
    plain.save(tmp_path / "plain.ckpt")
    for model in (plain, WordLabeller.load(tmp_path / "plain.ckpt", device="cpu", parser="chain")):
        assert len(model.predict(WORDS[:1])[0]) == 4
        with pytest.raises(ValueError, match=r"'marks\[0\]' is for models that have learned from marks"):
            model.predict(WORDS[:1], [1])


def test_labels_that_were_not_seen_are_wrong(fitted):
    right = fitted.predict(WORDS[:1], MARKS[:1])[0]
    assert fitted.score(WORDS[:1], [right], MARKS[:1]) == 1
    assert fitted.score(WORDS[:1], [["unseen", *right[1:]]], MARKS[:1]) == 0.75
    assert fitted.score(WORDS[:1], [[None, "unseen", *right[2:]]], MARKS[:1]) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="'labels' must have a label for some word"):
        fitted.score(WORDS[:1], [[None] * 4], [1])


def test_a_model_of_marks_asks_for_them(fitted):
    with pytest.raises(
        ValueError, match=r"'marks\[0\]' must be given, the number of the marked word, from 0"
    ):
        fitted.predict(WORDS)
    with pytest.raises(
        ValueError, match=r"'marks\[1\]' must be given.* a mark in every sentence \(got None\)"
    ):
        fitted.predict_proba(WORDS[:2], [1, None])
    some = new().fit([*WORDS, ["so", "it", "is"]], [*LABELS, ["O"] * 3], [*MARKS, None])
    assert some.result_["data"]["marked"]["train"] < some.result_["data"]["examples"]["train"]
    assert len(some.predict([["so", "it"]])[0]) == 2


@pytest.mark.parametrize(
    ("sentences", "marks", "error", "message"),
    [
        ("a b", None, TypeError, "'sentences' must be a list"),
        ([], None, ValueError, "'sentences' is empty"),
        (["a b"], None, TypeError, r"'sentences\[0\]' must be a list \(got str 'a b'\)"),
        ([["a"], []], None, ValueError, r"'sentences\[1\]' is empty: a sentence has at least one word"),
        ([["a", 3]], None, TypeError, r"'sentences\[0\]\[1\]' must be a word \(got int 3\)"),
        ([["a", " "]], None, ValueError, r"'sentences\[0\]\[1\]' is no word"),
        ([["a", "\ud800"]], None, ValueError, r"'sentences\[0\]\[1\]' is no word"),
        ([["a"]], [0, 0], ValueError, r"'marks' must have one for each of 1 sentences \(got 2\)"),
        ([["a"]], [[0]], TypeError, r"'marks\[0\]' must be the number of a word \(got list \[0\]\)"),
        ([["a"]], [1], ValueError, r"'sentences\[0\]': the mark must be a number from 0 to 0 \(got 1\)"),
        ([["a"]], 0, TypeError, "'marks' must be a list"),
        ([Sentence(["a", "b"], [0, 0], ["root"] * 2, multiroot=True)], None, ValueError, "must be one tree"),
    ],
)
def test_what_is_no_sentence(fitted, sentences, marks, error, message):
    with pytest.raises(error, match=message):
        fitted.predict(sentences, marks)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([["x", "y"]], ValueError, r"'labels' must have a list for each of 2 sentences \(got 1\)"),
        ([["x"], ["x", "y"]], ValueError, r"'labels\[0\]' must have a label for each of 2 words \(got 1\)"),
        ([["x", 3], ["x", "y"]], TypeError, r"'labels\[0\]\[1\]' must be a text or None \(got int 3\)"),
        ([["x", ""], ["x", "y"]], ValueError, r"'sentences\[0\]': a label must be a text"),
        ([["x", "y\0"], ["x", "y"]], ValueError, "has a control character"),
        ([["x", "x"], ["x", None]], ValueError, r"'labels' must have at least two labels \(got \['x'\]\)"),
        (["xy", "xy"], TypeError, r"'labels\[0\]' must be a list"),
    ],
)
def test_what_cannot_be_learnt(labels, error, message):
    with pytest.raises(error, match=message):
        new().fit([["a", "b"], ["c", "d"]], labels)


def test_one_sentence_leaves_none_to_validate():
    with pytest.raises(ValueError, match="'sentences' must be at least two different ones"):
        new().fit([["a", "b"]] * 3, [["x", "y"]] * 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden_chanels": 3}, "unknown setting 'hidden_chanels'"),
        ({"task": "ud-tags"}, "'task' is no setting to choose here"),
        ({"model": "bert"}, "model 'bert' needs a pretrained 'encoder'"),
        ({"scheme": "iob"}, "'scheme' must be one of words, bio"),
        ({"batch_size": 0}, "'batch_size' must be at least 1"),
    ],
)
def test_wrong_settings(options, message):
    with pytest.raises(ValueError, match=message):
        new(**options).fit(WORDS, LABELS)


def test_checkpoints_of_other_tasks(tiny, tmp_path):
    with pytest.raises(NotFittedError):
        new().predict(WORDS)
    result = train(TrainConfig.of("dt", **{**tiny, "max_epochs": 1}), tmp_path / "run")
    model = WordLabeller.load(result["checkpoint"], parser="chain", device="cpu")
    assert {"NOUN", "VERB"} < {*model.classes_}
    assert [len(row) for row in model.predict(WORDS[:2])] == [4, 4]
    with pytest.raises(
        ValueError, match=r"'marks\[0\]' is for models that have learned from marks \(got 1\)"
    ):
        model.predict(WORDS[:1], [1])
