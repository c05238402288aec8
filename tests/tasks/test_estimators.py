"""Laws of the estimators of texts, of words and of marked spans."""

from __future__ import annotations

import copy
import importlib.util
import logging
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from lightning import Callback
from sklearn.base import clone, is_classifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.metrics import get_scorer, log_loss
from sklearn.model_selection import GridSearchCV
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform, Compose

import graphdep
from graphdep import Sentence, SentenceEncoder, SequenceClassifier, SpanClassifier, WordLabeller
from graphdep.data import mark_words, to_data
from graphdep.datasets import SICK
from graphdep.io import write_conllu
from graphdep.parsing import resolver
from graphdep.parsing.parser import ChainParser
from graphdep.sentence import join_sentences
from graphdep.training import TrainConfig, load_task, train
from graphdep.training import estimator as module
from graphdep.training.evaluation import read_predictions
from graphdep.transforms import (
    CompleteEdges,
    DependencyEdges,
    RandomTree,
    RootEdges,
    SelfLoops,
    register_edges,
    resolve,
)
from graphdep.transforms import presets as registry
from graphdep.transforms.presets import UnknownEdgesError
from tests.kit.runs import SIZES, evaluate_own
from tests.kit.tiny_corpora import write_span_rows

SMALL = {**SIZES, "hidden_channels": 16, "ff_channels": 16, "lr": 0.03, "min_freq": 1, "dropout": 0.0}
NAMES = ("Ann", "Bob", "Cid", "Dan", "Eve")
COUPLES = [(a, b) for a in NAMES for b in NAMES if a != b]

ADJECTIVES = {"good": ["fine", "nice"], "bad": ["dull", "awful"], "odd": ["strange", "queer"]}
TEXTS = [
    f"a {w} {thing}" for words in ADJECTIVES.values() for w in words for thing in ("film", "book", "day")
]
CLASSES = [label for label in ADJECTIVES for _ in range(6)]
PAIRS = [(text, "it is so") for text in TEXTS]

WORDS = [[a, "sees", b, "sing"] for a, b in COUPLES]
LABELS = [["A0", None, "A1", "O"] for _ in WORDS]
MARKS = [1] * len(WORDS)
TREES = [Sentence(words, [2, 0, 2, 2], ["nsubj", "root", "obj", "xcomp"]) for words in WORDS]

SENTENCES = [[a, ("makes", "needs")[n % 2], b, "."] for n, (a, b) in enumerate(COUPLES)]
RELATIONS = [("effect", "cause")[n % 2] for n in range(len(COUPLES))]
SPANS = [[(0, 1), (2, 3)]] * len(COUPLES)
TAGGED = [f"<e1>{one[0]}</e1> {one[1]} <e2>{one[2]}</e2> ." for one in SENTENCES]
PARSED = [Sentence(one, [2, 0, 2, 2], ["nsubj", "root", "obj", "punct"]) for one in SENTENCES]


class Kind(NamedTuple):
    """An estimator, its inputs and labels, and a file for the same run."""

    make: Callable[..., Any]
    asked: tuple[Any, ...]
    labels: list[Any]
    classes: list[str]
    task: str
    rows: list[dict[str, Any]]
    settings: dict[str, Any]
    alone: tuple[Any, ...]
    """What it may be asked for without marks or spans, as a search does."""

    def new(self, encoder: str | None = None, model: str | None = None, **options: Any) -> Any:
        own = {"parser": "chain", "device": "cpu", "progress": False, "max_epochs": 1}
        return self.make(encoder or "transformer", model, **{**own, **({} if encoder else SMALL), **options})

    def fit(self, encoder: str | None = None, model: str | None = None, **options: Any) -> Any:
        sentences, *more = self.asked
        return self.new(encoder, model, **options).fit(sentences, self.labels, *more)

    def score(self, model: Any) -> float:
        sentences, *more = self.asked
        return model.score(sentences, self.labels, *more)

    def shares(self, model: Any, asked: tuple[Any, ...] | None = None) -> np.ndarray:
        """Probabilities, one row per text, word or example."""
        found = model.predict_proba(*(self.asked if asked is None else asked))
        return np.concatenate(found) if isinstance(found, list) else found


KINDS = {
    "texts": Kind(
        SequenceClassifier,
        (TEXTS,),
        CLASSES,
        ["bad", "good", "odd"],
        "csv",
        [{"first": text, "label": label} for text, label in zip(TEXTS, CLASSES)],
        {"text_columns": "first", "label_column": "label"},
        (TEXTS,),
    ),
    "words": Kind(
        WordLabeller,
        (WORDS, MARKS),
        LABELS,
        ["A0", "A1", "O"],
        "labels",
        [{"words": words, "labels": row, "mark": 1} for words, row in zip(WORDS, LABELS)],
        {},
        (WORDS,),
    ),
    "spans": Kind(
        SpanClassifier,
        (SENTENCES, SPANS),
        RELATIONS,
        ["cause", "effect"],
        "spans",
        [{"words": w, "spans": s, "label": label} for w, s, label in zip(SENTENCES, SPANS, RELATIONS)],
        {},
        (TAGGED,),
    ),
}
LONG = {"max_epochs": 12, "batch_size": 4, "validation_fraction": 0.2}
texts, words, spans = KINDS.values()
each = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.fixture(scope="module")
def fitted():
    """Each estimator, fitted once."""
    made: dict[str, Any] = {}

    def fitted(kind: Kind) -> Any:
        if kind.task not in made:
            made[kind.task] = kind.fit(**LONG)
        return made[kind.task]

    return fitted


def load(kind: Kind, path: Any, **options: Any) -> Any:
    return kind.make.load(path, **{"parser": "chain", "device": "cpu", **options})


@each
def test_learns_and_predicts(fitted, kind):
    model = fitted(kind)
    assert model.classes_.tolist() == kind.classes
    assert kind.score(model) > 0.9
    shares, labels = kind.shares(model), model.predict(*kind.asked)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    flat = [label for row in labels for label in row] if kind is words else labels.tolist()
    assert flat == model.classes_[shares.argmax(axis=1)].tolist()
    assert sum(model.result_["data"]["examples"].values()) == len(kind.labels)
    assert model.parser_failures == 0
    assert getattr(model, "lost_spans" if kind is spans else "cut_words") == 0
    assert is_classifier(model) == (kind is not words)  # classifiers have one label per row
    assert getattr(graphdep, kind.make.__name__) is kind.make


@each
def test_each_is_answered_as_alone(fitted, kind):
    model = fitted(kind)
    some = tuple(part[:4] for part in kind.asked)
    alone = [kind.shares(model, tuple([part[n]] for part in some)) for n in range(4)]
    np.testing.assert_allclose(kind.shares(model, some), np.concatenate(alone), atol=1e-6)
    odd = {
        "texts": ["unknown", "a a a dull queer day", "a"],
        "words": [["unknown"], ["Cid", *"sing sing".split()]],
    }
    for text in odd.get("texts" if kind is texts else "words" if kind is words else "", []):
        marks = ([0],) if kind is words else ()
        expected = kind.shares(model, ([text], *marks))
        company = ([text, some[0][0]], *(([0, 1],) if kind is words else ()))
        np.testing.assert_allclose(kind.shares(model, company)[: len(expected)], expected, atol=1e-6)


def test_probabilities_of_words_are_those_of_the_model_with_its_mark(fitted):
    model = fitted(words)
    task, state = model._predictor.task, model._predictor.state
    asked, marks = [["Ann", "sees"], ["unknown"], ["Cid", "sees", "Bob", "sing", "sing"]], [1, 0, 0]
    for one, mark, share in zip(asked, marks, model.predict_proba(asked, marks)):
        data = to_data([Sentence.chain(one)], vocab=state.vocab, relations=state.relations)
        mark_words(data, [int(number == mark) for number in range(len(one))])
        with torch.no_grad():
            logits = task(task.edges(Batch.from_data_list([data])))
        expected = logits.double().softmax(dim=1).numpy()[:, [1, 2, 0]]  # O is the first class of the model
        np.testing.assert_allclose(share, expected, atol=1e-6)
    first, second = (model.predict_proba(asked[:1], [mark])[0] for mark in (0, 1))
    assert not np.allclose(first, second)


@each
def test_kinds_of_sequences(fitted, kind):
    model, expected = fitted(kind), kind.shares(fitted(kind))
    asked = kind.asked if kind is not texts else (pd.Series(TEXTS, index=range(5, 23)),)
    for given in (asked, *(tuple(map(make, kind.asked)) for make in (tuple, np.array))):
        np.testing.assert_allclose(kind.shares(model, given), expected, atol=1e-6)
    sentences, *more = kind.asked
    rows = np.array([["A0"] * 4] * 20) if kind is words else np.array(kind.labels)
    assert model.score(sentences, rows, *more) == model.score(sentences, rows.tolist(), *more)


@each
def test_saved_loaded_copied(fitted, kind, tmp_path):
    model, expected = fitted(kind), kind.shares(fitted(kind))
    path = tmp_path / "model.ckpt"
    model.save(path)
    model.save_pretrained(tmp_path / "folder")
    loaded = load(kind, path, batch_size=3)
    others = [
        kind.make.from_pretrained(tmp_path / "folder", parser="chain"),
        graphdep.load(tmp_path / "folder", parser="chain"),
    ]
    for same in (loaded, *others, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert type(same) is kind.make
        np.testing.assert_allclose(kind.shares(same), expected, atol=1e-6)
        assert same.classes_.tolist() == model.classes_.tolist()
    # A clone has the settings of the training.
    mine, its = model.get_params(), clone(loaded).get_params()
    assert its.pop("model") == "dt"
    changed = {"model", "batch_size", "progress", "encoder"}
    assert all(mine[name] == value for name, value in its.items() if name not in changed)
    assert mine.keys() - its.keys() <= {"model", "dropout", "min_freq"}  # settings of its preset
    assert its["encoder"] in (None, "transformer")
    state = load_task(path)[1]
    assert state.config.train.split("-")[0] in ("texts", "sentences", "spans")
    assert (state.config.root, model.result_["checkpoint"]) == (None, None)
    with pytest.raises(
        ValueError, match=r"model.ckpt: trained with the parser 'chain', which is used only if you name it"
    ):
        kind.make.load(path)


@each
def test_the_same_run_as_that_of_the_command_line(fitted, kind, tmp_path):
    model, path = fitted(kind), write_span_rows(tmp_path / "rows.jsonl", kind.rows)
    places = {
        "train": path,
        "test": path,
        "root": str(tmp_path / "root"),
        "parser": "chain",
        "accelerator": "cpu",
    }
    settings = {k: v for k, v in LONG.items() if k != "validation_fraction"} | {"val_fraction": 0.2}
    config = TrainConfig.of("dt", task=kind.task, **places, **{**SMALL, **settings}, **kind.settings)
    result = train(config, tmp_path / "run")
    assert result["metrics"].items() >= model.result_["metrics"].items()
    assert result["metrics"]["test_accuracy"] == kind.score(model)
    loaded = graphdep.load(tmp_path / "run", parser="chain")
    np.testing.assert_allclose(kind.shares(loaded), kind.shares(model), atol=1e-6)
    if kind is texts:
        _, scored, *_ = read_predictions(tmp_path / "run" / "predictions.csv")
        assert model.predict(TEXTS).tolist() == model.classes_[scored].tolist()


@each
def test_a_saved_model_has_the_scores_of_its_fit(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = kind.fit(None, "bilstm", folder="kept")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    model.save("model.ckpt")
    for checkpoint in ("model.ckpt", model.result_["checkpoint"]):
        assert evaluate_own(checkpoint, "val")["metrics"] == model.result_["metrics"]
    loaded = load(kind, model.result_["checkpoint"])
    assert loaded.model == "bilstm"
    sentences, *more = kind.asked
    again = clone(loaded).set_params(folder=None).fit(sentences, kind.labels, *more)
    assert list(again.predict(*kind.asked)) == list(model.predict(*kind.asked))


@each
def test_a_search_over_numbers_of_numpy(kind, tmp_path):
    ranges = {"lr": np.logspace(-2, -2, 1), "num_layers": np.arange(1, 2), "batch_size": np.array([8])}
    ranges |= {"model": np.array(["dt"]), "validation_fraction": np.array([0.2], np.float32)}
    ranges |= {"random_state": np.array([3])}
    search = GridSearchCV(kind.new(folder=tmp_path), ranges, cv=2, error_score="raise")
    best = search.fit(*kind.alone, kind.labels).best_estimator_
    best.save(tmp_path / "best.ckpt")
    loaded = load(kind, tmp_path / "best.ckpt")
    np.testing.assert_allclose(kind.shares(loaded, kind.alone), kind.shares(best, kind.alone), atol=1e-6)
    assert (loaded.settings["lr"], loaded.random_state) == (float(best.settings["lr"]), 3)
    # Two folds and all texts: each fit has its own file.
    assert len([*tmp_path.glob("*-*.jsonl")]) == 3


@each
def test_a_model_is_no_encoder(kind):
    """The name of a model as encoder is an error, without a look at the hub."""
    assert kind.make().encoder is None
    for name in ("dt", "DT"):
        with pytest.raises(
            ValueError, match=f"'encoder' '{name}' is not a folder but a model.*did you mean model='dt'"
        ):
            kind.fit(name)


@pytest.mark.parametrize(
    ("kind", "model", "usual"),
    [
        (texts, "bert-g2g", None),
        (texts, None, "bert-dt"),
        (words, None, "bert-dt"),
        (spans, None, "bert-dt"),
    ],
)
def test_pretrained_encoders(tmp_path, kind, model, usual):
    pytest.importorskip("transformers")
    from tests.kit.tiny_encoder import write_tiny_encoder

    folder = write_tiny_encoder(tmp_path / "encoder")
    fitted = kind.fit(folder, model, max_length=24)
    assert fitted.result_["model"] == (model or usual)
    expected = kind.shares(fitted)
    fitted.save(tmp_path / "model.ckpt")
    (tmp_path / "encoder" / "model.safetensors").unlink()
    for same in (load(kind, tmp_path / "model.ckpt"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_allclose(kind.shares(same), expected, atol=1e-6)
    if kind is texts:
        assert same.cut_words == 0
        same.predict(["word " * 30])
        assert same.cut_words > 0
    elif kind is words:
        long = [["Ann", "sees", *["somebody"] * 5]]
        (labels,), (share,) = same.predict(long, [1]), same.predict_proba(long, [1])
        cut = labels.count(None)
        assert same.cut_words == cut > 0
        assert labels[-cut:] == [None] * cut
        assert not share[-cut:].any()
        assert same.score(long, [["A0"] * 7], [1]) <= (7 - cut) / 7


@pytest.mark.skipif(importlib.util.find_spec("pybart") is None, reason="needs pybart-nlp")
def test_enhanced_graphs_by_pybart(tmp_path, encoder):
    own = [f"{a} and {b} came from {city} ." for a, b in COUPLES[:6] for city in ("Rome", "Ohio")]
    fitted = texts.new(encoder, "bert-dam", parser="bundled", max_length=24).fit(own, [0, 1] * 6)
    assert {"conj:and", "obl:from"} <= {*fitted._predictor.state.relations.learned}
    fitted.save(tmp_path / "model.ckpt")
    loaded = load(texts, tmp_path / "model.ckpt", parser="bundled")
    np.testing.assert_allclose(loaded.predict_proba(own[:2]), fitted.predict_proba(own[:2]), atol=1e-6)


@pytest.mark.parametrize(("kind", "trees"), [(words, TREES), (spans, PARSED)])
def test_trees_are_those_of_the_sentences(kind, trees):
    sentences, *more = kind.asked
    model = kind.new(max_epochs=2).fit(trees, kind.labels, *more)
    assert "own" in model.result_["data"]["notes"][0]
    parsed, chains = kind.shares(model, (trees, *more)), kind.shares(model, (sentences, *more))
    assert not np.allclose(parsed, chains)
    mixed = kind.shares(model, ([trees[0], sentences[1]], *(part[:2] for part in more)))
    half = len(parsed) // len(trees)
    np.testing.assert_allclose(mixed, np.concatenate([parsed[:half], chains[half : 2 * half]]), atol=1e-6)


@each
def test_what_is_not_fitted_or_of_another_task(fitted, kind, tmp_path):
    for call in (
        lambda m: m.predict(*kind.alone),
        lambda m: m.score(*kind.alone, kind.labels),
        lambda m: m.save("x"),
    ):
        with pytest.raises(NotFittedError):
            call(kind.new())
    assert pickle.loads(pickle.dumps(kind.new())).get_params() == kind.new().get_params()
    fitted(kind).save(tmp_path / "model.ckpt")
    for other in KINDS.values():
        if other is not kind:
            message = f"which gives .*, not {other.make.answers}: see .*graphdep.{kind.make.__name__}"
            with pytest.raises(ValueError, match=message):
                load(other, tmp_path / "model.ckpt")


SETTING_ERRORS = [
    ({"hidden_chanels": 3}, "no setting 'hidden_chanels'"),
    ({"task": "sst"}, "'task' cannot be set here"),
    ({"validation_fraction": 1.5}, "'val_fraction' must be at most 1"),
    ({"model": "bert"}, "model 'bert' needs a pretrained 'encoder'"),
    ({"batch_size": 0}, "'batch_size' must be at least 1"),
    ({"max_words": 10**9}, "'max_words' must be at most 1000000"),
    ({"device": "cpo"}, r"'device' must be a device such as 'cpu' or 'cuda' \(got 'cpo'\)"),
    ({"device": 1.5}, r"'device' must be a device .* \(got 1.5\)"),
]


@each
def test_wrong_settings(kind, row_of, tmp_path):
    for options, message in SETTING_ERRORS:
        with row_of(options), pytest.raises(ValueError, match=message):
            kind.fit(**options)
    with pytest.raises(TypeError, match="'parser' must be a string"):
        kind.fit(parser=ChainParser())


T, V = TypeError, ValueError
TWO = Sentence(["a", "b"], [0, 0], ["root"] * 2, multiroot=True)
ASKED_ERRORS = {
    texts.task: [
        (("a text",), T, "'X' must be a list"),
        (([],), V, "'X' is empty"),
        (([3],), T, r"'X\[0\]' must be a text, a list of words, or a parse: .* \(got int 3\)"),
        ((["a", None],), T, r"'X\[1\]' must be a text, .* \(got NoneType None\)"),
        ((TREES[0],), T, "'X' must be a list, even for a single text"),
        (([["a", "b c"]],), V, r"'X\[0\]\[1\]' has white space"),
        ((["a", ["b", 3]],), T, r"'X\[1\]\[1\]' must be a string"),
        ((["a", []],), V, r"'X\[1\]' is empty"),
        (([[TREES[0], "b"]],), T, r"'X\[0\]\[1\]' takes graphdep.Sentence"),
        (([TWO],), V, r"'X\[0\]' must have one root per sentence"),
        (([{"words": ["a", "b"], "head": [0, 0], "deprel": ["root"] * 2}],), V, r"^X\[0\]: words \[1, 2\]"),
        ((["a", [TREES[0], {"words": ["a"]}]],), V, r"^X\[1\]\[1\]: no 'head'"),
        ((["a", " "],), V, r"'X\[1\]' is blank: a text has at least one word"),
        ((["a", "\ud800"],), V, r"'X\[1\]' has half a character"),
        (([("a", "b")],), V, r"'X\[0\]' must be a single text, as in training"),
        (([("a", "b", "c")],), V, r"'X\[0\]' must be a text or a pair of texts \(got 3 of them\)"),
        ((np.array([["a"], ["b"]]),), V, r"'X' must be texts, \[n\], or pairs .* \(got shape \(2, 1\)\)"),
        ((np.zeros((2, 2, 2)),), V, r"got shape \(2, 2, 2\)"),
    ],
    words.task: [
        (("a b",), T, "'sentences' must be a list"),
        (([],), V, "'sentences' is empty"),
        ((["a b"],), T, r"'sentences\[0\]' must be a list of words or a parse \(got str 'a b'\)"),
        (([["a"], []],), V, r"'sentences\[1\]' is empty: there must be at least one word"),
        (([["a", 3]],), T, r"'sentences\[0\]\[1\]' must be a string \(got int 3\)"),
        (([["a", " "]],), V, r"'sentences\[0\]\[1\]' is"),
        (([["a", "\ud800"]],), V, r"'sentences\[0\]\[1\]' has half"),
        (([["a"]], [0, 0]), V, r"'marks' must have 1 value, one for each of the sentences \(got 2\)"),
        (([["a"]], [[0]]), T, r"'marks\[0\]' must be the number of a word \(got list \[0\]\)"),
        (([["a"]], [1]), V, r"'sentences\[0\]': the mark must be a number from 0 to 0 \(got 1\)"),
        (([["a"]], 0), T, "'marks' must be a list"),
        (([TWO],), V, "must have one root"),
        ((WORDS,), V, r"'marks\[0\]' must be the number of a word, from 0"),
        (
            (WORDS[:2], [1, None]),
            V,
            r"'marks\[1\]' must be the number of a word, .* in every sentence \(got None\)",
        ),
        (([["w"] * 10_001], [0]), V, "10001 words are more than max_words=10000"),
    ],
    spans.task: [
        (("a text",), T, "'sentences' must be a list"),
        (([],), V, "'sentences' is empty"),
        (([3], [[(0, 1)]]), T, r"'sentences\[0\]' must be a text, a list of words, or a parse"),
        (([""],), V, r"'sentences\[0\]' is blank"),
        ((["no tag"],), V, r"'sentences\[0\]': no tag <e1> in the text"),
        (([["a"]],), V, r"'spans\[0\]' must be given unless sentences are texts"),
        (([["a", 3]], [[(0, 1)]]), T, r"'sentences\[0\]\[1\]' must be a string"),
        (([["a"]], []), V, "'spans' must have 1 value, one for each of the sentences"),
        (([["a"]], ["ab"]), T, r"'spans\[0\]' must be a list \(got str 'ab'\)"),
        (([["a"]], [[(0, 2)]]), V, r"'sentences\[0\]': span 1 reaches beyond the 1 word \("),
        ((["<e1>a</e1>"],), V, r"'sentences\[0\]' has 1 marked span, but the model was trained on 2"),
    ],
}
FIT_ERRORS = {
    texts.task: [
        (([("a", "b"), ("a", " ")],), [0, 1], V, r"'X\[1\]\[1\]' is blank"),
        ((["a", ("a", "b")],), [0, 1], V, r"'X\[1\]' must be a single text, as the first \(got a pair"),
        ((["a", "b"],), [0], V, r"'y' must have 2 values, one for each of the texts \(got 1\)"),
        ((["a", "b"],), [1, 1], V, r"'y' must have at least two labels \(got \[1\]\)"),
        ((["a", "b"],), [1, "1"], T, r"'y\[1\]' must be a text or a number as 'y\[0\]', int 1 \(got str"),
        ((["a", "b"],), [1, True], T, r"'y\[1\]' .* \(got bool True\)"),
        ((["a", "b"],), ["x", None], T, r"'y\[1\]' .* \(got NoneType None\)"),
        ((["a", "b"],), ["x", ""], V, r"'y\[1\]' is blank"),
        ((["a", "b"],), ["x", "x\0"], V, r"'y\[1\]' has a control character or half"),
        ((["a", "b"],), [0.5, 0.7], V, "continuous"),
        ((["a", "b"],), [[0, 1], [1, 0]], T, r"'y\[0\]' must be a text or a number \(got list"),
        ((["a", "b"],), "ab", T, "'y' must be a list"),
    ],
    words.task: [
        (
            (WORDS[:2],),
            LABELS[:1],
            V,
            r"'labels' must have 2 values, one for each of the sentences \(got 1\)",
        ),
        ((WORDS[:1],), [["x"]], V, r"'labels\[0\]' must have 4 values, one for each of the words \(got 1\)"),
        (([["a", "b"]],), [["x", 3]], T, r"'labels\[0\]\[1\]' must be a text or None \(got int 3\)"),
        (([["a", "b"]],), [["x", ""]], V, r"'sentences\[0\]': a label must be a text"),
        (([["a", "b"]],), [["x", "y\0"]], V, "has a control character"),
        ((WORDS,), [["x", None, "x", "x"]] * 20, V, r"'labels' must have at least two labels \(got \['x'\]"),
        (([["a", "b"]],), ["xy"], T, r"'labels\[0\]' must be a list"),
        (([["a", "b"]] * 3,), [["x", "y"]] * 3, V, "'sentences' must have at least two different examples"),
    ],
    spans.task: [
        ((TAGGED,), RELATIONS[1:], V, r"'labels' must have 20 values, one for each of the sentences"),
        ((TAGGED,), [1] * 20, T, r"'labels\[0\]' must be a string"),
        ((TAGGED,), ["x"] * 20, V, "'labels' must have at least two labels"),
        ((TAGGED[:1] * 2,), ["x", "y"], V, "must have at least two different examples"),
        (([TAGGED[0], "<e1>a</e1>"],), ["x", "y"], V, r"has 1 marked span, but 'sentences\[0\]' has 2"),
    ],
}


@each
def test_errors_have_the_position(fitted, kind, row_of):
    for asked, error, message in ASKED_ERRORS[kind.task]:
        with row_of(asked), pytest.raises(error, match=message):
            fitted(kind).predict(*asked)
    for asked, labels, error, message in FIT_ERRORS[kind.task]:
        with row_of((asked, labels)), pytest.raises(error, match=message):
            kind.new().fit(asked[0], labels, *asked[1:])


# ---------------------------------------------------------------------------- what one of them has alone


def test_settings_are_arguments():
    model = texts.new(max_epochs=7)
    assert model.get_params()["max_epochs"] == 7
    assert clone(model).get_params() == model.get_params()
    model.set_params(max_epochs=2, batch_size=9, dropout=0.1)
    assert (model.batch_size, model.settings["max_epochs"], model.settings["dropout"]) == (9, 2, 0.1)


def test_pairs_by_the_shape_of_the_texts(tmp_path):
    model = texts.new(None, "transformer", folder=tmp_path / "kept").fit(PAIRS, CLASSES)
    expected = model.predict_proba(PAIRS)
    for pairs in (np.array(PAIRS), pd.DataFrame(PAIRS, columns=["a", "b"])):
        np.testing.assert_array_equal(model.predict_proba(pairs), expected)
    for lists in ([list(pair) for pair in PAIRS], [["so", "it"]]):  # lists are words, not pairs
        with pytest.raises(ValueError, match=r"'X\[0\]"):
            model.predict_proba(lists)
    (checkpoint,) = (tmp_path / "kept").glob("csv_transformer_seed0_*/best.ckpt")
    assert model.result_["checkpoint"] == str(checkpoint)
    np.testing.assert_array_equal(load(texts, checkpoint).predict_proba(PAIRS), expected)


@pytest.mark.parametrize("labels", [[0, 1] * 9, [True, False] * 9, [0.0, 2.0] * 9, ["1", " x"] * 9])
def test_classes_keep_their_kind(tmp_path, labels):
    model = texts.new(None, "word-average").fit(TEXTS, labels)
    assert model.classes_.tolist() == sorted(set(labels))
    model.save(tmp_path / "model.ckpt")
    for mine in (model, load(texts, tmp_path / "model.ckpt"), pickle.loads(pickle.dumps(model))):
        assert type(mine.predict(TEXTS[:1]).tolist()[0]) is type(labels[0])
        assert mine.classes_.dtype == np.array(labels).dtype


def test_random_state_and_a_column_of_labels():
    states = (1, 1, np.random.RandomState(1), 2)
    runs = [texts.fit(None, "word-average", random_state=state, validation_fraction=0.2) for state in states]
    first, *others = (model.predict_proba(TEXTS) for model in runs)
    assert [np.array_equal(first, other) for other in others] == [True, False, False]
    assert runs[0].result_["data"]["digest"] != runs[3].result_["data"]["digest"]  # other validation texts
    for column in (np.array(CLASSES)[:, None], pd.DataFrame({"label": CLASSES})):
        with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
            model = texts.new(None, "word-average", random_state=1, validation_fraction=0.2).fit(
                TEXTS, column
            )
        np.testing.assert_array_equal(model.predict_proba(TEXTS), first)


def test_what_texts_attend_to(fitted, tmp_path):
    asked, model = ["a fine film", "unknown"], fitted(texts)
    maps = model.attention(asked)
    assert [shown.words for shown in maps] == [["[ROOT]", *text.split()] for text in asked]
    model.save(tmp_path / "model.ckpt")
    for text, shown in zip(asked, maps):
        alone = graphdep.attention_map(tmp_path / "model.ckpt", text, parser="chain")
        assert torch.equal(shown.alpha, alone.alpha)
    with pytest.raises(ValueError, match=r"'X\[0\]' must be a single text"):
        model.attention(PAIRS)
    with pytest.raises(NotFittedError):
        texts.new().attention(asked)


def test_checkpoints_of_other_tasks(trained):
    folder, _ = trained("sick-e", "dt", max_epochs=2)
    model = load(texts, folder / "best.ckpt")
    assert tuple(model.classes_) == tuple(sorted(SICK.labels)) != SICK.labels
    pairs = [("ann sees bob", "bob sees ann"), ("ann sees bob", "ann runs"), ("bob runs", "so what")]
    answers = ["NEUTRAL", "CONTRADICTION", "ENTAILMENT"]
    # By hand, with the class order of the corpus.
    logits = model._outputs(pairs, "{}{}".format).double()
    own = torch.nn.functional.cross_entropy(logits, torch.tensor([SICK.labels.index(x) for x in answers]))
    assert get_scorer("neg_log_loss")(model, pairs, answers) == pytest.approx(-own.item())
    assert log_loss(answers, model.predict_proba(pairs)) == pytest.approx(own.item())
    assert model.predict(pairs).tolist() == [SICK.labels[number] for number in logits.argmax(dim=1)]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.predict_proba(pairs), model.predict_proba(pairs), atol=1e-6)
    with pytest.raises(ValueError, match=r"'X\[0\]' must be a pair of texts, as in training \(got a s"):
        model.predict(["ann sees bob"])
    folder, _ = trained("sick-r", "word-average")
    with pytest.raises(ValueError, match="best.ckpt: trained on the task 'sick-r', which has no classes"):
        load(texts, folder / "best.ckpt")
    folder, _ = trained("ud-tags", "word-average")
    model = load(words, folder / "best.ckpt")
    assert {"NOUN", "VERB"} < {*model.classes_}
    with pytest.raises(
        ValueError, match=r"'marks\[0\]' is for models that were trained with marks \(got 1\)"
    ):
        model.predict(WORDS[:1], [1])


def test_labels_that_were_not_seen_are_wrong(fitted):
    model = fitted(texts)
    right = model.predict(TEXTS[:2]).tolist()
    assert model.score(TEXTS[:2], [right[0], "unseen"]) == 0.5
    assert model.score(TEXTS[:2], [right[0], "unseen"], sample_weight=[3, 1]) == 0.75
    model = fitted(words)
    (right,) = model.predict(WORDS[:1], MARKS[:1])
    assert model.score(WORDS[:1], [["unseen", *right[1:]]], MARKS[:1]) == 0.75
    assert model.score(WORDS[:1], [[None, "unseen", *right[2:]]], MARKS[:1]) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="'labels' must have a label for at least one word"):
        model.score(WORDS[:1], [[None] * 4], [1])


def test_long_texts_are_refused_with_their_place_before_anything_is_parsed(monkeypatch, tmp_path):
    long, new = [*TEXTS[:-1], TEXTS[-1] + " indeed"], partial(texts.new, None, "word-average")
    with monkeypatch.context() as patch:
        patch.setattr(ChainParser, "parse", lambda *args: pytest.fail("parsed"))
        with pytest.raises(ValueError, match=r"'X\[17\]' has more than max_words=3 words"):
            new(max_words=3).fit(long, CLASSES)
        with pytest.raises(ValueError, match=r"'X\[2\]\[1\]' has more than max_words=3 words"):
            new(max_words=3).fit([*PAIRS[:2], ("a", "b c d e")], ["x", "y", "x"])
        with pytest.raises(ValueError, match=r"'X\[0\]' has more than max_words=10000 words"):
            new().fit(["word " * 10_001, "b"], [0, 1])
    cut = {"max_words": 3, "truncate": True}
    model, plain = new(**cut).fit(long, CLASSES), new().fit(TEXTS, CLASSES)
    np.testing.assert_array_equal(model.predict_proba(long), plain.predict_proba(TEXTS))
    with pytest.raises(ValueError, match=r"'X\[17\]' has more than max_words=3 words"):
        model.set_params(truncate=False).predict(long)
    model.save(tmp_path / "model.ckpt")
    loaded = load(texts, tmp_path / "model.ckpt")
    assert {key: loaded.get_params()[key] for key in cut} == cut


def test_long_sentences_are_cut_before_training_and_have_no_label_there(fitted):
    long, labels = [[*sentence, "now"] for sentence in WORDS], [[*row, "O"] for row in LABELS]
    with pytest.raises(
        ValueError, match=r"'sentences\[0\]': 5 words are more than max_words=4: raise the limit"
    ):
        words.new(max_words=4).fit(long, labels)
    cut = words.new(**LONG, max_words=4, truncate=True).fit(long, labels, MARKS)
    assert [row[:4] for row in cut.predict(long, MARKS)] == fitted(words).predict(WORDS, MARKS)
    assert {row[4] for row in cut.predict(long, MARKS)} == {None}
    assert cut.cut_words == 20
    assert not cut.predict_proba(long, MARKS)[0][4].any()
    with pytest.raises(ValueError, match=r"'sentences\[0\]': the marked word 4 is beyond max_words=4"):
        cut.predict(long[:1], [4])
    short = copy.deepcopy(fitted(spans)).set_params(max_words=2, truncate=True)
    assert short.predict(SENTENCES[:2], SPANS[:2]).tolist() == [None, None]
    assert short.lost_spans == 2
    assert not short.predict_proba(SENTENCES[:1], SPANS[:1]).any()
    assert spans.score(short) == 0
    with pytest.raises(ValueError, match=r"'sentences\[0\]': 4 words, more than max_words=2"):
        copy.deepcopy(fitted(spans)).set_params(max_words=2).predict(SENTENCES, SPANS)
    assert spans.fit(max_words=3, truncate=True).predict(*spans.asked).shape == (20,)
    with pytest.raises(ValueError, match=r"'sentences\[0\]': a span is beyond max_words=2"):
        spans.fit(max_words=2, truncate=True)


def test_words_in_bio_and_marks_of_some_sentences():
    rows = [["Ann", first, last, "sleeps"] for first, last in COUPLES]
    labels = [["O", "B-PER", "I-PER", "O"]] * len(rows)
    model = words.new(scheme="bio", crf=True, max_epochs=10, batch_size=4).fit(rows, labels)
    assert model.predict(rows) == labels
    with pytest.raises(ValueError, match=r"'sentences\[1\]': word 1: 'I-PER' is invalid here in IOB2"):
        words.new(scheme="bio").fit(rows[:2], [labels[0], ["I-PER", "O", "O", "O"]])
    with pytest.raises(ValueError, match="'scheme' must be one of words, bio"):
        words.fit(scheme="iob")
    with pytest.raises(ValueError, match=r"'marks\[0\]' is for models that were trained with marks"):
        model.predict(rows[:1], [1])
    some = words.new().fit([*WORDS, ["so", "it", "is"]], [*LABELS, ["O"] * 3], [*MARKS, None])
    assert some.result_["data"]["marked"]["train"] < some.result_["data"]["examples"]["train"]
    assert len(some.predict([["so", "it"]])[0]) == 2


def test_tags_characters_and_words_say_the_same(fitted):
    model, expected = fitted(spans), spans.shares(fitted(spans))
    plain = [" ".join(one) for one in SENTENCES]
    ends = [[(0, len(a)), (text.index(b + " ."), len(text) - 2)] for text, (a, b) in zip(plain, COUPLES)]
    arrays = [[np.array(span) for span in one] for one in SPANS]
    for asked in ((TAGGED, None), (plain, ends), (np.array(SENTENCES), np.array(SPANS)), (SENTENCES, arrays)):
        np.testing.assert_allclose(model.predict_proba(*asked), expected, atol=1e-6)
    trained = spans.new(**LONG).fit(TAGGED, RELATIONS)
    np.testing.assert_allclose(trained.predict_proba(TAGGED), expected, atol=1e-6)
    one = [text.replace("<e2>", "").replace("</e2>", "") for text in TAGGED]
    single = spans.new(outside="cause").fit(one, RELATIONS)
    assert single.predict(one).shape == (20,)
    assert single.result_["config"]["outside"] == "cause"


def test_the_label_of_a_span_is_in_the_next_sentence(tmp_path):
    """Edges connect trees, and all ways to give several sentences are equal."""
    facts = [(a, b, verb) for a in NAMES[:2] for b in NAMES for verb in ("hums", "naps")]
    pairs = [
        [
            Sentence(
                [name, verb, "."], [2, 0, 2], ["nsubj", "root", "punct"], misc=["_", "SpaceAfter=No", "_"]
            )
            for name, verb in ((a, "sings"), (b, own))
        ]
        for a, b, own in facts
    ]
    write_conllu([sentence for pair in pairs for sentence in pair], tmp_path / "trees.conllu")
    tagged = [f"<e1>{a}</e1> sings. {b} {verb}." for a, b, verb in facts]
    labels = [verb for *_, verb in facts]
    options = {"max_epochs": 8, "batch_size": 4, "num_layers": 2}
    model = spans.new(model="dt", parser=f"conllu:{tmp_path / 'trees.conllu'}", **options).fit(tagged, labels)
    assert model.score(tagged, labels) == 1
    assert "2 of 2 examples with several sentences" in model.result_["data"]["notes"][-1]
    expected, ends = model.predict_proba(tagged), [[(0, 1)]] * len(facts)
    texts = [text.replace("<e1>", "").replace("</e1>", "") for text in tagged]
    whole = [join_sentences(pair, roots="all") for pair in pairs]
    in_words = [[tree.form for tree in pair] for pair in pairs]
    for sentences, own in [(texts, [[(0, 3)]] * len(facts)), (pairs, ends), (whole, ends), (in_words, ends)]:
        np.testing.assert_allclose(model.predict_proba(sentences, own), expected, atol=1e-6)
    again = spans.new(model="dt", num_layers=2, batch_size=4).fit(pairs, labels, ends)
    assert "2 of 2 examples with several sentences" in again.result_["data"]["notes"][-1]
    short = copy.deepcopy(model).set_params(max_words=3, truncate=True)
    assert len({*short.predict(in_words, ends)}) == 1  # the second sentence is not read


def test_batches_are_bounded_by_pairs(fitted, monkeypatch):
    model, sizes = fitted(texts), []
    original = type(model._predictor.task).forward

    def forward(self, batch):
        sizes.append((batch.num_graphs, batch.num_nodes))
        return original(self, batch)

    monkeypatch.setattr(type(model._predictor.task), "forward", forward)
    monkeypatch.setattr(module, "BATCH_PAIRS", 4 * 11**2)
    asked = [f"{'word ' * 10} {number}" for number in range(5)] + [f"a {number}" for number in range(30)]
    expected = model.predict_proba([asked[0], asked[-1]])
    sizes.clear()
    np.testing.assert_allclose(model.predict_proba(asked)[[0, -1]], expected, atol=1e-6)
    assert sum(number for number, _ in sizes) == 35
    assert max(nodes**2 / number for number, nodes in sizes) <= 4 * 11**2
    assert len(sizes) >= 3


def test_a_saved_model_is_evaluated_on_a_file(fitted, tmp_path):
    fitted(texts).save(tmp_path / "model.ckpt")
    path = tmp_path / "texts.csv"
    path.write_text("body,sort\n" + "".join(f"{text},{label}\n" for text, label in zip(TEXTS, CLASSES)))
    settings = {"train": str(path), "test": str(path), "root": str(tmp_path / "root")}
    columns = {"text_columns": "body", "label_column": "sort"}
    result = evaluate_own(tmp_path / "model.ckpt", settings=settings | columns)
    assert result["metrics"]["test_accuracy"] == texts.score(fitted(texts))
    with pytest.raises(FileNotFoundError, match=r"no file texts-\w+.jsonl, which is 'train'"):
        evaluate_own(tmp_path / "model.ckpt", "val", settings={"root": str(tmp_path / "root")})


class Ends(Callback):
    """Records the epochs."""

    def __init__(self) -> None:
        self.epochs: list[int] = []

    def on_train_epoch_end(self, trainer, pl_module) -> None:
        self.epochs.append(trainer.current_epoch)


def test_history_callbacks_and_devices_by_other_names():
    seen = Ends()
    model = texts.fit(None, "word-average", max_epochs=3, callbacks=[seen], device=torch.device("cpu"))
    assert seen.epochs == [0, 1, 2]
    assert [row["epoch"] for row in model.history_] == [1, 2, 3]
    best = model.history_[model.result_["best_epoch"] - 1]
    assert best["val_loss"] == pytest.approx(model.result_["metrics"]["val_loss"])
    assert (model.result_["device"], clone(model).get_params()["device"]) == ("cpu", torch.device("cpu"))


class Counted(ChainParser):
    """Records the texts of all its objects."""

    texts: ClassVar[list[str]] = []

    def parse_texts(self, texts):
        Counted.texts += texts
        return super().parse_texts(texts)


@pytest.mark.parametrize("named", [True, False])
def test_fits_of_a_search_share_their_parses(tmp_path, monkeypatch, named):
    monkeypatch.setitem(resolver._PARSERS, "chain", (Counted, "none"))
    monkeypatch.setattr(Counted, "texts", [])
    own = [f"{text} {number} {named}" for number, text in enumerate(TEXTS)]
    new = partial(texts.new, None, "word-average", **({"cache": tmp_path / "parses.sqlite"} if named else {}))
    GridSearchCV(new(), {"lr": [0.01, 0.02]}, cv=2, refit=False).fit(own, CLASSES)
    fits = [text for text in Counted.texts if text in own]
    # Without a file for the cache, only texts of predictions are parsed again.
    assert len(fits) == (len(own) if named else len(own) + 2 * len(own))
    before = len(Counted.texts)
    clone(new()).fit(own, CLASSES)
    assert len(Counted.texts) == before


def test_progress_goes_to_stderr_when_asked(capsys, monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    logging.getLogger("graphdep").setLevel(logging.WARNING)
    texts.new(None, "word-average").fit([f"{text} quietly" for text in TEXTS], CLASSES)
    assert capsys.readouterr() == ("", "")
    texts.new(None, "word-average", progress=True).fit([f"{text} loudly" for text in TEXTS], CLASSES)
    out, err = capsys.readouterr()
    assert (out, "epoch   1/1" in err, "Processing" in err) == ("", True, True)


# ------------------------------------------------------------------------------------ edges of one's own


def both():
    return DependencyEdges("both") | SelfLoops()


def forget() -> None:
    """Removes registered edges, as in another process."""
    registry._own.clear()


def with_edges(edges, **options):
    return texts.new(edges=edges, **options).fit(TEXTS, CLASSES)


@pytest.mark.usefixtures("no_own_edges")
class TestOwnEdges:
    @each
    def test_saved_and_loaded_with_the_same_edges(self, kind, tmp_path):
        fitted, path = kind.fit(edges=both()), tmp_path / "model.ckpt"
        made = fitted._predictor.task.edges
        assert made.transforms[0] is fitted.edges  # and types, which DT needs
        assert fitted.result_["own_edges"]["edges"] == fitted.result_["config"]["edges"]
        assert fitted.result_["config"]["edges"].startswith("(DependencyEdges(towards='both'")
        expected = kind.shares(fitted)
        fitted.save(path)
        known, pickled = load(kind, path), pickle.dumps(fitted)
        assert known.edges is fitted.edges
        assert "edges" not in known.settings
        forget()
        np.testing.assert_allclose(kind.shares(pickle.loads(pickled)), expected, atol=1e-6)
        changed = pickle.loads(pickled).set_params(edges="dra")  # has no effect before the next fit
        assert changed.get_params()["edges"] == "dra"
        np.testing.assert_allclose(kind.shares(pickle.loads(pickle.dumps(changed))), expected, atol=1e-6)
        forget()
        with pytest.raises(UnknownEdgesError, match=r"model.ckpt: edges .* not known here: give the same"):
            load(kind, path)
        with pytest.raises(
            ValueError, match="model.ckpt: 'edges' must be those of the training, .*Dep.*got .Self"
        ):
            load(kind, path, edges=SelfLoops())
        with pytest.raises(TypeError, match="'edges' must be a name or a transform"):
            load(kind, path, edges=3)
        edges = both()
        given = load(kind, path, edges=edges)
        assert given.edges is edges
        np.testing.assert_allclose(kind.shares(given), expected, atol=1e-6)
        sentences, *more = kind.asked
        again = clone(given).fit(sentences, kind.labels, *more)
        assert again.result_["own_edges"] == fitted.result_["own_edges"]
        if kind is texts:
            vectors = SentenceEncoder(path, edges=both(), parser="chain", device="cpu").transform(TEXTS)
            assert vectors.shape == (18, 16)

    def test_a_transform_of_a_preset_is_the_preset_and_others_give_others(self):
        preset, made = (with_edges(edges) for edges in ("dt-related", resolve("dt-related")))
        np.testing.assert_array_equal(preset.predict_proba(TEXTS), made.predict_proba(TEXTS))
        assert preset.result_["config"]["edges"] == "dt-related"
        tree = with_edges(Compose([RandomTree(seed=0), RootEdges() | SelfLoops()]))
        assert not np.allclose(tree.predict_proba(TEXTS), made.predict_proba(TEXTS))

    def test_on_a_pretrained_encoder(self, encoder, tmp_path):
        model = texts.fit(encoder, "bert", edges=both(), max_length=32)
        assert repr(edges := model._predictor.task.edges).startswith("((DependencyEdges(towards='both'")
        assert "SpecialEdges" in repr(edges)  # [CLS], which is read, must see the words
        model.save(tmp_path / "model.ckpt")
        forget()
        loaded = load(texts, tmp_path / "model.ckpt", edges=both())
        np.testing.assert_allclose(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS), atol=1e-6)

    def test_other_edges_that_differ_only_on_long_texts_are_refused(self, tmp_path):
        with_edges(Window(20)).save(tmp_path / "model.ckpt")
        load(texts, tmp_path / "model.ckpt", edges=Window(20))
        for width in (30, 300):
            with pytest.raises(
                ValueError, match=r"must be those of the training, 'Window\(\) .*code, options and"
            ):
                load(texts, tmp_path / "model.ckpt", edges=Window(width))

    def test_registered_edges_are_saved_by_name(self, tmp_path):
        register_edges("both", both)
        with_edges("both").save(tmp_path / "model.ckpt")
        assert load_task(tmp_path / "model.ckpt")[1].config.edges == "both"
        assert load(texts, tmp_path / "model.ckpt").edges == "both"
        forget()
        with pytest.raises(UnknownEdgesError, match="'both' are not known here: import the module"):
            load(texts, tmp_path / "model.ckpt")

    def test_a_search_over_edges(self):
        search = GridSearchCV(texts.new(), {"edges": ["dra", both()]}, cv=2, refit=False, error_score="raise")
        assert len(search.fit(TEXTS, CLASSES).cv_results_["params"]) == 2

    @pytest.mark.parametrize(
        ("edges", "options", "error", "message"),
        [
            (3, {}, TypeError, r"'edges' must be a name or a transform \(got int\)"),
            ("drat", {}, ValueError, "no edges 'drat'"),
            (
                CompleteEdges("example"),
                {"model": "lstm"},
                ValueError,
                "'edges' must be given for encoder='transformer'",
            ),
            ("os:system", {}, ValueError, "'edges' must be one of"),
        ],
    )
    def test_wrong_edges(self, edges, options, error, message):
        with pytest.raises(error, match=message):
            texts.fit(edges=edges, **options)


class Window(BaseTransform):
    """A transform whose repr lacks its width."""

    def __init__(self, width: int) -> None:
        self.width = width

    def forward(self, data):
        near = (torch.arange(data.num_nodes)[:, None] - torch.arange(data.num_nodes)).abs() <= self.width
        data.edge_index = (near & (data.batch[:, None] == data.batch)).nonzero().T.contiguous()
        return data
