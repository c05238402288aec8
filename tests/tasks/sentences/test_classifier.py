from __future__ import annotations

import copy
import importlib.util
import logging
import pickle
from typing import ClassVar

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

import graphdep
from graphdep import RelationVocab, Sentence, SequenceClassifier, to_data
from graphdep.datasets import SICK
from graphdep.parsing import resolver
from graphdep.parsing.parser import ChainParser
from graphdep.training import TrainConfig, load_task, train
from graphdep.training import estimator as _asking
from graphdep.training.evaluation import read_predictions
from tests.kit.runs import evaluate_own
from tests.kit.tiny_corpora import write_tiny_sick
from tests.kit.tiny_encoder import write_tiny_encoder

SIZES = {"hidden_channels": 8, "ff_channels": 8, "num_layers": 1, "heads": 2, "relation_dim": 4, "lr": 0.05}
WORDS = {"good": ["fine", "nice"], "bad": ["dull", "awful"], "odd": ["strange", "queer"]}
TEXTS = [
    f"a {word} {thing}" for words in WORDS.values() for word in words for thing in ("film", "book", "day")
]
LABELS = [label for label in WORDS for _ in range(6)]
CUT = {"max_words": 3, "truncate": True}
PAIRS = [(text, "it is so") for text in TEXTS]


def new(encoder: str = "transformer", model: str | None = None, **options) -> SequenceClassifier:
    own = {"parser": "chain", "device": "cpu", "progress": False, "max_epochs": 1}
    return SequenceClassifier(
        encoder, model, **{**own, **(SIZES if encoder == "transformer" else {}), **options}
    )


@pytest.fixture(scope="module")
def fitted() -> SequenceClassifier:
    return new(max_epochs=12, validation_fraction=0.2).fit(TEXTS, LABELS)


def test_learns_and_predicts(fitted):
    assert fitted.classes_.tolist() == ["bad", "good", "odd"]
    assert fitted.score(TEXTS, LABELS) > 0.8
    probabilities = fitted.predict_proba(TEXTS)
    assert probabilities.shape == (18, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert fitted.predict(TEXTS).tolist() == fitted.classes_[probabilities.argmax(axis=1)].tolist()
    assert fitted.result_["data"]["examples"] == {"train": 14, "val": 4}
    assert (fitted.parser_failures, fitted.cut_words) == (0, 0)
    assert is_classifier(fitted)
    assert graphdep.SequenceClassifier is SequenceClassifier


def test_probabilities_are_those_of_the_model_on_each_text_alone(fitted):
    task, state = fitted._predictor.task, fitted._predictor.state
    texts = ["a fine film", "unknown", "a a a dull queer day"]
    for text, row in zip(texts, fitted.predict_proba(texts)):
        data = to_data([Sentence.chain(text.split())], vocab=state.vocab, relations=RelationVocab())
        with torch.no_grad():
            expected = task.model(task.edges(Batch.from_data_list([data]))).softmax(dim=1)[0]
        np.testing.assert_allclose(row, expected.numpy(), atol=1e-6)


def test_what_texts_attend_to(fitted, tmp_path):
    texts = ["a fine film", "unknown"]
    maps = fitted.attention(texts)
    assert [shown.words for shown in maps] == [["[ROOT]", *text.split()] for text in texts]
    fitted.save(tmp_path / "model.ckpt")
    for text, shown in zip(texts, maps):
        alone = graphdep.attention_map(tmp_path / "model.ckpt", text, parser="chain")
        assert torch.equal(shown.alpha, alone.alpha)
    with pytest.raises(ValueError, match=r"'X\[0\]' must be a single text"):
        fitted.attention(PAIRS)
    with pytest.raises(NotFittedError):
        new().attention(texts)


@pytest.mark.parametrize(
    "texts",
    [np.array(TEXTS), pd.Series(TEXTS, index=range(5, 23)), tuple(TEXTS), np.array(TEXTS, dtype=object)],
)
def test_kinds_of_sequences(fitted, texts):
    assert fitted.predict(texts).tolist() == fitted.predict(TEXTS).tolist()
    assert fitted.score(texts, pd.Series(LABELS)) == fitted.score(TEXTS, np.array(LABELS))


def test_pairs_by_the_shape_of_the_texts(tmp_path):
    model = new("transformer", "transformer", max_epochs=1, folder=tmp_path / "kept").fit(PAIRS, LABELS)
    expected = model.predict_proba(PAIRS)
    for pairs in (np.array(PAIRS), pd.DataFrame(PAIRS, columns=["a", "b"]), [list(pair) for pair in PAIRS]):
        np.testing.assert_array_equal(model.predict_proba(pairs), expected)
    swapped = model.predict_proba([(second, first) for first, second in PAIRS])
    assert swapped.shape == expected.shape
    (checkpoint,) = (tmp_path / "kept").glob("csv_transformer_seed0_*/best.ckpt")
    assert model.result_["checkpoint"] == str(checkpoint)
    np.testing.assert_array_equal(
        SequenceClassifier.load(checkpoint, parser="chain", device="cpu").predict_proba(PAIRS), expected
    )


@pytest.mark.parametrize("labels", [[0, 1] * 9, [True, False] * 9, [0.0, 2.0] * 9, ["1", " x"] * 9])
def test_classes_keep_their_kind(tmp_path, labels):
    model = new().fit(TEXTS, labels)
    assert model.classes_.tolist() == sorted(set(labels))
    model.save(tmp_path / "model.ckpt")
    loaded = SequenceClassifier.load(tmp_path / "model.ckpt", parser="chain", device="cpu")
    for mine in (model, loaded, pickle.loads(pickle.dumps(model))):
        assert type(mine.predict(TEXTS[:1]).tolist()[0]) is type(labels[0])
        assert mine.classes_.dtype == np.array(labels).dtype


def test_saved_loaded_copied(fitted, tmp_path):
    expected = fitted.predict_proba(TEXTS)
    fitted.save(tmp_path / "model.ckpt")
    loaded = SequenceClassifier.load(tmp_path / "model.ckpt", parser="chain", device="cpu", batch_size=3)
    for same in (loaded, copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_allclose(same.predict_proba(TEXTS), expected, atol=1e-6)
        assert same.classes_.tolist() == fitted.classes_.tolist()
    # A copy of it trains as it was trained.
    mine, its = fitted.get_params(), clone(loaded).get_params()
    assert its.pop("model") == "dt"
    changed = {"model", "batch_size", "progress"}
    assert {k: v for k, v in mine.items() if k not in changed} == {
        k: v for k, v in its.items() if k not in changed
    }
    state = load_task(tmp_path / "model.ckpt")[1]
    assert state.config.train.startswith("texts-")
    assert (state.config.root, fitted.result_["checkpoint"]) == (None, None)
    assert state.labels == ["bad", "good", "odd"]
    with pytest.raises(
        ValueError, match=r"model.ckpt: trained with the parser 'chain'; only 'bundled' is taken"
    ):
        SequenceClassifier.load(tmp_path / "model.ckpt")


def test_the_same_run_as_that_of_the_command_line(fitted, tmp_path):
    rows = zip(TEXTS, LABELS)
    path = tmp_path / "texts.csv"
    path.write_text("first,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    own = {"train": str(path), "text_columns": "first", "label_column": "label", "val_fraction": 0.2}
    settings = {
        **SIZES,
        "parser": "chain",
        "root": str(tmp_path / "root"),
        "accelerator": "cpu",
        "max_epochs": 12,
    }
    config = TrainConfig.of("dt", task="csv", test=str(path), **own, **settings)
    result = train(config, tmp_path / "run")
    assert result["metrics"].items() >= fitted.result_["metrics"].items()
    _, scored, _ = read_predictions(tmp_path / "run" / "predictions.csv")
    assert fitted.predict(TEXTS).tolist() == fitted.classes_[scored].tolist()


def test_random_state():
    runs = [new(random_state=state).fit(TEXTS, LABELS) for state in (1, 1, np.random.RandomState(1), 2)]
    first, *others = (model.predict_proba(TEXTS) for model in runs)
    assert [np.array_equal(first, other) for other in others] == [True, False, False]
    assert runs[0].result_["data"]["digest"] != runs[3].result_["data"]["digest"]  # others validate


def test_settings_are_arguments():
    model = new(max_epochs=7)
    assert model.get_params()["max_epochs"] == 7
    assert clone(model).get_params() == model.get_params()
    model.set_params(max_epochs=2, batch_size=9, dropout=0.1)
    assert (model.batch_size, model.settings["max_epochs"], model.settings["dropout"]) == (9, 2, 0.1)


def test_a_search_over_numbers_of_numpy(tmp_path):
    ranges = {"lr": np.logspace(-2, -1, 2), "num_layers": np.arange(1, 2), "batch_size": np.array([8])}
    ranges |= {"model": np.array(["dt"]), "validation_fraction": np.array([0.2], np.float32)}
    ranges |= {"random_state": np.array([3]), "relation_attention": np.array([True])}
    search = GridSearchCV(new(folder=tmp_path), ranges, cv=2).fit(TEXTS, LABELS)
    best = search.best_estimator_
    best.save(tmp_path / "best.ckpt")
    loaded = SequenceClassifier.load(tmp_path / "best.ckpt", parser="chain", device="cpu")
    np.testing.assert_allclose(loaded.predict_proba(TEXTS), best.predict_proba(TEXTS), atol=1e-6)
    assert (loaded.settings["lr"], loaded.random_state) == (float(best.settings["lr"]), 3)
    # Two folds and all texts: no fit has written over another one's.
    assert len([*tmp_path.glob("texts-*.jsonl")]) == 3


@pytest.mark.parametrize(
    ("model", "texts"), [("bert", TEXTS), ("bert-dt", PAIRS), ("bert-g2g", TEXTS), (None, PAIRS)]
)
def test_pretrained_encoders(tmp_path, texts, model):
    pytest.importorskip("transformers")
    encoder = write_tiny_encoder(tmp_path / "encoder")
    fitted = new(encoder, model, max_length=20).fit(texts, LABELS)
    assert fitted.result_["model"] == (model or "bert-dam-basic")
    expected = fitted.predict_proba(texts)
    fitted.save(tmp_path / "model.ckpt")
    (tmp_path / "encoder" / "model.safetensors").unlink()
    loaded = SequenceClassifier.load(tmp_path / "model.ckpt", parser="chain", device="cpu")
    np.testing.assert_allclose(loaded.predict_proba(texts), expected, atol=1e-6)
    assert (
        pickle.loads(pickle.dumps(fitted)).predict(texts[:2]).tolist() == fitted.predict(texts[:2]).tolist()
    )
    fitted.predict([texts[0]])
    assert fitted.cut_words == 0
    fitted.predict(["word " * 30] if texts is TEXTS else [("word " * 30, "so")])
    assert fitted.cut_words > 0


@pytest.mark.skipif(importlib.util.find_spec("pybart") is None, reason="needs pybart-nlp")
def test_enhanced_graphs_by_pybart(tmp_path):
    pytest.importorskip("transformers")
    pairs = [(a, b) for a in ("Ann", "Bob", "Eve") for b in ("Cid", "Dan")]
    texts = [f"{a} and {b} came from {city} ." for a, b in pairs for city in ("Rome", "Ohio")]
    encoder = write_tiny_encoder(tmp_path / "encoder")
    fitted = new(encoder, "bert-dam", parser="bundled", max_length=20).fit(texts, [0, 1] * 6)
    assert {"conj:and", "obl:from"} <= {*fitted._predictor.state.relations.learned}
    fitted.save(tmp_path / "model.ckpt")
    loaded = SequenceClassifier.load(tmp_path / "model.ckpt", parser="bundled", device="cpu")
    np.testing.assert_allclose(loaded.predict_proba(texts[:2]), fitted.predict_proba(texts[:2]), atol=1e-6)


def test_checkpoints_of_other_tasks(tmp_path):
    corpus = write_tiny_sick(tmp_path / "corpus")
    settings = {**corpus, **SIZES, "max_epochs": 1, "accelerator": "cpu"}
    result = train(TrainConfig.of("dt", task="sick-e", **settings), tmp_path / "e")
    model = SequenceClassifier.load(result["checkpoint"], parser="chain", device="cpu")
    assert tuple(model.classes_) == tuple(sorted(SICK.labels)) != SICK.labels
    pairs = [("ann sees bob", "bob sees ann"), ("ann sees bob", "ann runs"), ("bob runs", "so what")]
    answers = ["NEUTRAL", "CONTRADICTION", "ENTAILMENT"]
    # By hand: the model has the corpus' order of classes.
    logits = model._outputs(pairs, "{}{}".format).double()
    own = torch.nn.functional.cross_entropy(logits, torch.tensor([SICK.labels.index(x) for x in answers]))
    assert get_scorer("neg_log_loss")(model, pairs, answers) == pytest.approx(-own.item())
    assert log_loss(answers, model.predict_proba(pairs)) == pytest.approx(own.item())
    assert model.predict(pairs).tolist() == [SICK.labels[number] for number in logits.argmax(dim=1)]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.predict_proba(pairs), model.predict_proba(pairs), atol=1e-6)
    assert model.predict([("ann sees bob", "bob sees ann")])[0] in model.classes_
    with pytest.raises(
        ValueError, match=r"'X\[0\]' must be a pair of texts, as the model was trained on \(got a s"
    ):
        model.predict(["ann sees bob"])
    result = train(TrainConfig.of("dt", task="sick-r", **settings), tmp_path / "r")
    with pytest.raises(ValueError, match="best.ckpt: trained on the task 'sick-r', which has no classes"):
        SequenceClassifier.load(result["checkpoint"], parser="chain")


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("a text", TypeError, "'X' must be a list"),
        ([], ValueError, "'X' is empty"),
        ([3], TypeError, r"'X\[0\]' must be a string \(got int 3\)"),
        (["a", None], TypeError, r"'X\[1\]' must be a string \(got NoneType None\)"),
        (["a", " "], ValueError, r"'X\[1\]' is blank: a text has at least one word"),
        (["a", "\ud800"], ValueError, r"'X\[1\]' has half a character"),
        ([("a", "b"), ("a", "")], ValueError, r"'X\[0\]' must be a single text, as the model was trained on"),
        ([("a", "b", "c")], ValueError, r"'X\[0\]' must be a text or a pair of texts \(got 3 of them\)"),
        (
            np.array([["a"], ["b"]]),
            ValueError,
            r"'X' must be texts, \[n\], or pairs .* \(got shape \(2, 1\)\)",
        ),
        (np.zeros((2, 2, 2)), ValueError, r"got shape \(2, 2, 2\)"),
    ],
)
def test_what_is_no_text_is_refused(fitted, X, error, message):
    with pytest.raises(error, match=message):
        fitted.predict(X)


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        ([("a", "b"), ("a", " ")], [0, 1], ValueError, r"'X\[1\]\[1\]' is blank"),
        (
            ["a", ("a", "b")],
            [0, 1],
            ValueError,
            r"'X\[1\]' must be a single text as the first is \(got a pair",
        ),
        (["a", "b"], [0], ValueError, r"'y' must have a label for each of 2 texts \(got 1\)"),
        (["a", "b"], [1, 1], ValueError, r"'y' must have at least two classes \(got \[1\]\)"),
        (
            ["a", "b"],
            [1, "1"],
            TypeError,
            r"'y\[1\]' must be a text or a number as 'y\[0\]', int 1 \(got str '1'",
        ),
        (["a", "b"], [1, True], TypeError, r"'y\[1\]' .* \(got bool True\)"),
        (["a", "b"], ["x", None], TypeError, r"'y\[1\]' .* \(got NoneType None\)"),
        (["a", "b"], ["x", ""], ValueError, r"'y\[1\]' is blank"),
        (["a", "b"], ["x", "x\0"], ValueError, r"'y\[1\]' has a control character or half"),
        (["a", "b"], [0.5, 0.7], ValueError, "continuous"),
        (["a", "b"], [[0, 1], [1, 0]], TypeError, r"'y\[0\]' must be a text or a number \(got list"),
        (["a", "b"], "ab", TypeError, "'y' must be a list"),
    ],
)
def test_what_cannot_be_learnt_is_refused(X, y, error, message):
    with pytest.raises(error, match=message):
        new().fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden_chanels": 3}, "unknown setting 'hidden_chanels'"),
        ({"task": "sst"}, "'task' is no setting to choose here"),
        ({"validation_fraction": 1.5}, "'val_fraction' must be at most 1"),
        ({"model": "bert"}, "model 'bert' needs a pretrained 'encoder'"),
        ({"batch_size": 0}, "'batch_size' must be at least 1"),
        ({"device": "cpo"}, r"'device' must be a device such as 'cpu' or 'cuda' \(got 'cpo'\)"),
        ({"device": 1.5}, r"'device' must be a device .* \(got 1.5\)"),
    ],
)
def test_wrong_settings(options, message):
    with pytest.raises(ValueError, match=message):
        new(**options).fit(TEXTS, LABELS)


def test_a_label_that_was_not_seen_counts_as_wrong(fitted):
    right = fitted.predict(TEXTS[:2]).tolist()
    assert fitted.score(TEXTS[:2], right) == 1
    assert fitted.score(TEXTS[:2], [right[0], "unseen"]) == 0.5
    assert fitted.score(TEXTS[:2], [right[0], "unseen"], sample_weight=[3, 1]) == 0.75


@pytest.mark.parametrize("device", ["cpu:0", torch.device("cpu")])
def test_devices_by_other_names(device):
    model = new(device=device).fit(TEXTS, LABELS)
    assert model.result_["device"] == "cpu"
    assert clone(model).get_params()["device"] == device
    assert len(model.predict(TEXTS[:2])) == 2


@pytest.mark.parametrize("kind", [lambda y: np.array(y)[:, None], lambda y: pd.DataFrame({"label": y})])
def test_a_column_of_labels(fitted, kind):
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        model = new(max_epochs=12, validation_fraction=0.2).fit(TEXTS, kind(LABELS))
    np.testing.assert_array_equal(model.predict_proba(TEXTS), fitted.predict_proba(TEXTS))


def test_long_texts_are_refused_with_their_place_before_anything_is_parsed(monkeypatch, tmp_path):
    long = [*TEXTS[:-1], TEXTS[-1] + " indeed"]
    with monkeypatch.context() as patch:
        patch.setattr(ChainParser, "parse", lambda *args: pytest.fail("parsed"))
        with pytest.raises(ValueError, match=r"'X\[17\]' has more than max_words=3 words"):
            new(max_words=3).fit(long, LABELS)
        with pytest.raises(ValueError, match=r"'X\[2\]\[1\]' has more than max_words=3 words"):
            new(max_words=3).fit([*PAIRS[:2], ("a", "b c d e")], ["x", "y", "x"])
        with pytest.raises(ValueError, match=r"'X\[0\]' has more than max_words=10000 words"):
            new().fit(["word " * 10_001, "b"], [0, 1])
    model, plain = (new(**own).fit(x, LABELS) for own, x in ((CUT, long), ({}, TEXTS)))
    np.testing.assert_array_equal(model.predict_proba(long), plain.predict_proba(TEXTS))
    with pytest.raises(ValueError, match=r"'X\[17\]' has more than max_words=3 words"):
        model.set_params(truncate=False).predict(long)
    model.save(tmp_path / "model.ckpt")
    loaded = SequenceClassifier.load(tmp_path / "model.ckpt", parser="chain", device="cpu")
    assert {key: loaded.get_params()[key] for key in CUT} == CUT
    with pytest.raises(ValueError, match="'max_words' must be at most 1000000"):
        new(max_words=10**9).fit(TEXTS, LABELS)


def test_batches_are_bounded_by_pairs(fitted, monkeypatch):
    sizes = []
    original = type(fitted._predictor.task).forward

    def forward(self, batch):
        sizes.append((batch.num_graphs, batch.num_nodes))
        return original(self, batch)

    monkeypatch.setattr(type(fitted._predictor.task), "forward", forward)
    monkeypatch.setattr(_asking, "BATCH_PAIRS", 4 * 11**2)
    texts = [f"{'word ' * 10} {number}" for number in range(5)] + [f"a {number}" for number in range(30)]
    expected = fitted.predict_proba([texts[0], texts[-1]])
    sizes.clear()
    np.testing.assert_allclose(fitted.predict_proba(texts)[[0, -1]], expected, atol=1e-6)
    assert sum(number for number, _ in sizes) == 35
    assert max(nodes**2 / number for number, nodes in sizes) <= 4 * 11**2
    assert len(sizes) >= 3


def test_before_fit():
    for call in (lambda m: m.predict(TEXTS), lambda m: m.score(TEXTS, LABELS), lambda m: m.save("x")):
        with pytest.raises(NotFittedError):
            call(new())
    assert pickle.loads(pickle.dumps(new())).get_params() == new().get_params()


def test_a_saved_model_is_evaluated_on_a_file(fitted, tmp_path):
    fitted.save(tmp_path / "model.ckpt")
    path = tmp_path / "texts.csv"
    path.write_text("body,sort\n" + "".join(f"{text},{label}\n" for text, label in zip(TEXTS, LABELS)))
    settings = {"train": str(path), "test": str(path), "root": str(tmp_path / "root")}
    columns = {"text_columns": "body", "label_column": "sort"}
    result = evaluate_own(tmp_path / "model.ckpt", settings=settings | columns)
    assert result["metrics"]["test_accuracy"] == fitted.score(TEXTS, LABELS)
    with pytest.raises(FileNotFoundError, match=r"no file texts-\w+.jsonl, which is 'train'"):
        evaluate_own(tmp_path / "model.ckpt", "val", settings={"root": str(tmp_path / "root")})


def test_a_kept_model_is_evaluated_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = new(folder="kept").fit(TEXTS, LABELS)
    model.save("model.ckpt")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    for checkpoint in ("../model.ckpt", model.result_["checkpoint"]):
        assert evaluate_own(checkpoint, "val")["metrics"] == model.result_["metrics"]


def test_progress_goes_to_stderr(capsys):
    logging.getLogger("graphdep").setLevel(logging.WARNING)
    new(progress=True).fit(TEXTS, LABELS)
    out, err = capsys.readouterr()
    assert (out, "epoch   1/1" in err) == ("", True)
    new(progress=False).fit(TEXTS, LABELS)
    assert "epoch" not in capsys.readouterr().err


class Counted(ChainParser):
    """How many texts were parsed, by whatever object."""

    texts: ClassVar[list[str]] = []

    def parse_texts(self, texts):
        Counted.texts += texts
        return super().parse_texts(texts)


@pytest.fixture
def parsed(monkeypatch) -> list[str]:
    monkeypatch.setitem(resolver._PARSERS, "chain", (Counted, "none"))
    monkeypatch.setattr(Counted, "texts", [])
    return Counted.texts


@pytest.mark.parametrize("named", [True, False])
def test_fits_of_a_search_share_their_parses(tmp_path, parsed, named):
    own = [f"{text} {number} {named}" for number, text in enumerate(TEXTS)]
    cache = {"cache": tmp_path / "parses.sqlite"} if named else {}
    search = GridSearchCV(new(**cache), {"lr": [0.01, 0.02]}, cv=2, refit=False)
    search.fit(own, LABELS)
    fits = [text for text in parsed if text in own]
    # Without a file of one's own only predictions are parsed again.
    assert len(fits) == (len(own) if named else len(own) + 2 * len(own))
    before = len(parsed)
    clone(new(**cache)).fit(own, LABELS)
    assert len(parsed) == before


def test_without_progress_nothing_is_said(capsys, monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    new().fit([f"{text} quietly" for text in TEXTS], LABELS)
    assert capsys.readouterr() == ("", "")
    new(progress=True).fit([f"{text} loudly" for text in TEXTS], LABELS)
    assert "Processing" in capsys.readouterr().err


class Ends(Callback):
    """Which epochs a callback has seen."""

    def __init__(self) -> None:
        self.epochs: list[int] = []

    def on_train_epoch_end(self, trainer, pl_module) -> None:
        self.epochs.append(trainer.current_epoch)


def test_history_and_callbacks():
    seen = Ends()
    model = new(max_epochs=3, callbacks=[seen]).fit(TEXTS, LABELS)
    assert seen.epochs == [0, 1, 2]
    assert [row["epoch"] for row in model.history_] == [1, 2, 3]
    best = model.history_[model.result_["best_epoch"] - 1]
    assert best["val_loss"] == pytest.approx(model.result_["metrics"]["val_loss"])
