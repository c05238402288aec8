from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import graphdep
from graphdep import Sentence, SpanClassifier
from graphdep.training import TrainConfig, load_task, train
from graphdep.transforms import DependencyEdges, SelfLoops
from tests.kit.runs import evaluate_own

SIZES = {"hidden_channels": 16, "ff_channels": 16, "num_layers": 1, "heads": 2, "relation_dim": 4}
SIZES |= {"min_freq": 1, "lr": 0.02, "dropout": 0.0}
NOUNS = ("rain", "mud", "wind", "frost", "fire")
PAIRS = [(a, b) for a in NOUNS for b in NOUNS if a != b]
WORDS = [[a, ("makes", "needs")[n % 2], b, "."] for n, (a, b) in enumerate(PAIRS)]
LABELS = [("effect", "cause")[n % 2] for n in range(len(PAIRS))]
SPANS = [[(0, 1), (2, 3)]] * len(PAIRS)
TEXTS = [f"<e1>{one[0]}</e1> {one[1]} <e2>{one[2]}</e2>." for one in WORDS]
TREES = [Sentence(one, [2, 0, 2, 2], ["nsubj", "root", "obj", "punct"]) for one in WORDS]


def new(encoder=None, model=None, **options) -> SpanClassifier:
    own = {"parser": "chain", "device": "cpu", "progress": False, "max_epochs": 1}
    return SpanClassifier(encoder, model, **{**own, **({} if encoder else SIZES), **options})


@pytest.fixture(scope="module")
def fitted() -> SpanClassifier:
    return new(max_epochs=12, batch_size=4, validation_fraction=0.2).fit(WORDS, LABELS, SPANS)


def test_learns_and_predicts(fitted):
    assert fitted.classes_.tolist() == ["cause", "effect"]
    assert fitted.score(WORDS, LABELS, SPANS) == 1
    shares = fitted.predict_proba(WORDS, SPANS)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert fitted.predict(WORDS, SPANS).tolist() == fitted.classes_[shares.argmax(axis=1)].tolist() == LABELS
    assert (fitted.parser_failures, fitted.lost_spans) == (0, 0)
    assert fitted.result_["data"]["examples"] == {"train": 16, "val": 4}
    assert is_classifier(fitted)
    assert graphdep.SpanClassifier is SpanClassifier


def test_tags_characters_and_words_say_the_same(fitted):
    expected = fitted.predict_proba(WORDS, SPANS)
    plain = [
        text.replace("<e1>", "").replace("</e1>", "").replace("<e2>", "").replace("</e2>", "")
        for text in TEXTS
    ]
    ends = [[(0, len(a)), (text.index(b + "."), len(text) - 1)] for text, (a, b) in zip(plain, PAIRS)]
    for sentences, spans in (
        (TEXTS, None),
        (plain, ends),
        (np.array(WORDS), np.array(SPANS)),
        (tuple(WORDS), SPANS),
    ):
        np.testing.assert_allclose(fitted.predict_proba(sentences, spans), expected, atol=1e-6)
    trained = new(max_epochs=12, batch_size=4, validation_fraction=0.2).fit(TEXTS, LABELS)
    np.testing.assert_allclose(trained.predict_proba(TEXTS), expected, atol=1e-6)


def test_trees_are_those_of_the_sentences():
    model = new(max_epochs=2).fit(TREES, LABELS, SPANS)
    assert "own" in model.result_["data"]["notes"][0]
    assert not np.allclose(model.predict_proba(TREES, SPANS), model.predict_proba(WORDS, SPANS))


def test_what_is_not_read_has_no_label(fitted):
    short = copy.deepcopy(fitted).set_params(max_words=2, truncate=True)
    assert short.predict(WORDS[:2], SPANS[:2]).tolist() == [None, None]
    assert short.lost_spans == 2
    assert not short.predict_proba(WORDS[:1], SPANS[:1]).any()
    assert short.score(WORDS, LABELS, SPANS) == 0
    with pytest.raises(ValueError, match=r"'sentences\[0\]': 4 words, more than max_words=2"):
        copy.deepcopy(fitted).set_params(max_words=2).predict(WORDS, SPANS)


def test_long_sentences_are_cut_before_training():
    model = new(max_words=3, truncate=True).fit(TREES, LABELS, SPANS)
    assert model.predict(TREES, SPANS).shape == (20,)
    with pytest.raises(ValueError, match=r"'sentences\[0\]': a span is beyond max_words=2"):
        new(max_words=2, truncate=True).fit(TREES, LABELS, SPANS)


def test_saved_loaded_copied(fitted, tmp_path):
    expected = fitted.predict_proba(WORDS, SPANS)
    fitted.save(tmp_path / "model.ckpt")
    fitted.save_pretrained(tmp_path / "folder")
    loaded = [
        SpanClassifier.load(tmp_path / "model.ckpt", parser="chain", device="cpu", batch_size=3),
        SpanClassifier.from_pretrained(tmp_path / "folder", parser="chain"),
        graphdep.load(tmp_path / "folder", parser="chain"),
        copy.deepcopy(fitted),
        pickle.loads(pickle.dumps(fitted)),
    ]
    for same in loaded:
        assert type(same) is SpanClassifier
        np.testing.assert_allclose(same.predict_proba(WORDS, SPANS), expected, atol=1e-6)
        assert same.classes_.tolist() == fitted.classes_.tolist()
    mine, its = fitted.get_params(), clone(loaded[0]).get_params()
    assert its.pop("model") == "dt"
    changed = {"model", "batch_size", "progress"}
    assert {k: v for k, v in mine.items() if k not in changed} == {
        k: v for k, v in its.items() if k not in changed
    }
    assert load_task(tmp_path / "model.ckpt")[1].config.train.startswith("spans-")
    with pytest.raises(ValueError, match="trained with the parser 'chain'; only 'bundled' is"):
        SpanClassifier.load(tmp_path / "model.ckpt").predict(WORDS, SPANS)


def test_the_same_run_as_that_of_the_command_line(fitted, tmp_path):
    rows = [{"words": w, "spans": s, "label": label} for w, s, label in zip(WORDS, SPANS, LABELS)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    own = {"train": str(path), "val_fraction": 0.2, "root": str(tmp_path / "root"), "parser": "chain"}
    settings = {**own, **SIZES, "accelerator": "cpu", "max_epochs": 12, "batch_size": 4}
    result = train(TrainConfig.of("dt", task="spans", test=str(path), **settings), tmp_path / "run")
    assert result["metrics"].items() >= fitted.result_["metrics"].items()
    assert result["metrics"]["test_accuracy"] == fitted.score(WORDS, LABELS, SPANS)
    loaded = graphdep.load(tmp_path / "run", parser="chain")
    np.testing.assert_allclose(loaded.predict_proba(TEXTS), fitted.predict_proba(TEXTS), atol=1e-6)


def test_a_folder_keeps_what_evaluation_needs(tmp_path):
    model = new(folder=tmp_path, model="bilstm").fit(TEXTS, LABELS)
    assert evaluate_own(model.result_["checkpoint"], "val")["metrics"] == {
        name: value for name, value in model.result_["metrics"].items() if name.startswith("val")
    }


def test_one_span_and_a_label_for_none():
    texts = [text.replace("<e2>", "").replace("</e2>", "") for text in TEXTS]
    model = new(outside="cause", max_epochs=2).fit(texts, LABELS)
    assert model.predict(texts).shape == (20,)
    assert model.result_["config"]["outside"] == "cause"
    with pytest.raises(
        ValueError, match=r"'sentences\[0\]' has 2 marked spans, but the model was trained on 1"
    ):
        model.predict(TEXTS)


def test_in_a_search_of_scikit_learn():
    scores = cross_val_score(new(batch_size=4), TEXTS, LABELS, cv=2)
    assert scores.shape == (2,)


def test_edges_of_ones_own(tmp_path):
    edges = DependencyEdges("both") | SelfLoops()
    model = new(edges=edges, model="transformer").fit(TEXTS, LABELS)
    model.save(tmp_path / "model.ckpt")
    again = SpanClassifier.load(tmp_path / "model.ckpt", edges=edges, parser="chain", device="cpu")
    np.testing.assert_allclose(again.predict_proba(TEXTS), model.predict_proba(TEXTS), atol=1e-6)


@pytest.mark.parametrize(
    ("sentences", "labels", "spans", "error", "message"),
    [
        ("a text", ["x"], None, TypeError, "'sentences' must be a list"),
        ([], [], None, ValueError, "'sentences' is empty"),
        ([3], ["x"], [[(0, 1)]], TypeError, r"'sentences\[0\]' must be a list"),
        ([""], ["x"], None, ValueError, r"'sentences\[0\]' is blank"),
        (["no tag"], ["x"], None, ValueError, r"'sentences\[0\]': a text has <e1>"),
        ([["a"]], ["x"], None, ValueError, r"'spans\[0\]' must be given where sentences are no texts"),
        ([["a", 3]], ["x"], [[(0, 1)]], TypeError, r"'sentences\[0\]\[1\]' must be a string"),
        ([["a"]], ["x"], [], ValueError, "'spans' must have those of each of 1 sentences"),
        ([["a"]], ["x"], ["ab"], TypeError, r"'spans\[0\]' must be a list of \(start, end\)"),
        ([["a"]], ["x"], [[(0, 2)]], ValueError, r"'sentences\[0\]': span 1 reaches beyond the 1 words"),
        (["ab c"], ["x"], [[(1, 2)]], ValueError, "a span begins or ends inside of a word"),
        (TEXTS, LABELS[1:], None, ValueError, "'labels' must have a label for each of 20 sentences"),
        (TEXTS, [1] * 20, None, TypeError, r"'labels\[0\]' must be a string"),
        (TEXTS, ["x"] * 20, None, ValueError, "'labels' must have at least two labels"),
        (TEXTS[:1] * 2, ["x", "y"], None, ValueError, "must be at least two different ones"),
        (
            [TEXTS[0], "<e1>a</e1>"],
            ["x", "y"],
            None,
            ValueError,
            "has 1 marked spans, but 'sentences\\[0\\]' has 2",
        ),
    ],
)
def test_errors_have_the_position(sentences, labels, spans, error, message):
    with pytest.raises(error, match=message):
        new().fit(sentences, labels, spans)


def test_what_is_not_fitted_or_of_another_task(fitted, tmp_path):
    with pytest.raises(NotFittedError):
        new().predict(TEXTS)
    fitted.save(tmp_path / "spans.ckpt")
    with pytest.raises(
        ValueError, match="gives no labels of words but labels of marked spans: see graphdep.SpanClass"
    ):
        graphdep.WordLabeller.load(tmp_path / "spans.ckpt", parser="chain")
    words = graphdep.WordLabeller(parser="chain", device="cpu", progress=False, max_epochs=1, **SIZES)
    words.fit([["a", "b"], ["b", "c"]] * 4, [["x", "y"]] * 8).save(tmp_path / "words.ckpt")
    with pytest.raises(ValueError, match="gives no labels of marked spans but labels of words"):
        SpanClassifier.load(tmp_path / "words.ckpt", parser="chain")
