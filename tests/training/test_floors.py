"""Floors from counts and from frozen encoders."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from torch.nn.functional import normalize

from graphdep.data import NodeType
from graphdep.io.console import plain_console
from graphdep.io.progress import Progress
from graphdep.metrics import MSE, ranking_metrics
from graphdep.nn.pretrained import load_encoder
from graphdep.tasks import resolve_task
from graphdep.tasks.sentences import model as sentences
from graphdep.tasks.sentences.model import SentenceTask
from graphdep.training import TrainConfig, load_splits, train
from graphdep.training import floors as frozen_probe
from graphdep.training.ablation import ablate
from graphdep.training.floors import (
    BagOfWords,
    PredictedRow,
    below_floor,
    fit_ridge,
    frozen_vectors,
    look_up,
    pair_features,
    predict_rows,
    untrained,
    write_rows,
)
from graphdep.training.learning_task import LearningTask
from graphdep.training.table import markdown, table_cells
from graphdep.training.task import family_of
from tests.kit.tiny_corpora import write_tiny_selection
from tests.kit.tiny_encoder import write_tiny_encoder

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tiny_encoder(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def encoder(folder):
    return load_encoder(folder)


@pytest.fixture
def short(folder):
    return {"encoder": folder, "max_length": 40, "batch_size": 8, "max_epochs": 1, "accelerator": "cpu"}


@pytest.fixture(scope="module")
def pools(tmp_path_factory):
    return {"task": "ubuntu", **write_tiny_selection(tmp_path_factory.mktemp("pools"))}


@cache
def loaded(folder):
    """The encoder and tokenizer by Hugging Face."""
    from transformers import AutoModel, AutoTokenizer

    return AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


def reference(folder, data, pool):
    """The vectors of an example, by Hugging Face's model for each text."""
    model, tokenizer = loaded(folder)
    vectors = []
    for part in range(int(data.segment.max()) + 1):
        mine = [
            number
            for number, kind, segment in zip(
                data.input_ids.tolist(), data.node_type.tolist(), data.segment.tolist()
            )
            if kind == NodeType.WORD and segment == part
        ]
        ids = torch.tensor([[tokenizer.cls_token_id, *mine, tokenizer.sep_token_id]])
        with torch.no_grad():
            x = model(input_ids=ids).last_hidden_state[0]
        vectors.append(normalize(x[0] if pool == "cls" else x.mean(dim=0), dim=-1))
    return torch.stack(vectors)


@pytest.mark.parametrize("pool", ["mean", "cls"])
@pytest.mark.parametrize("kind", ["pair", "single", "pool"])
def test_vectors_are_those_of_each_text_alone(folder, encoder, short, corpus, opinions, pools, kind, pool):
    own = {"pair": {**corpus, "task": "sick-e"}, "single": opinions, "pool": pools}[kind]
    data = load_splits(TrainConfig.of("bert", **own, **short), ("val",))["val"]
    examples = [data[number] for number in range(len(data))]
    encoder.train()
    found = frozen_vectors(encoder, examples, pool)
    assert encoder.training
    expected = torch.stack([reference(folder, example, pool) for example in examples[:10]])
    assert found.shape == (len(examples), 1 if kind == "single" else 2, 8)
    torch.testing.assert_close(found[:10], expected, atol=1e-5, rtol=1e-4)


def test_the_pool_must_be_known(encoder):
    with pytest.raises(ValueError, match="'pool' must be one of mean, cls"):
        frozen_vectors(encoder, [], "max")


def test_candidates_are_ranked_by_the_cosine(folder, encoder, short, pools):
    config = TrainConfig.of("bert", **pools, **short)
    splits = load_splits(config)
    found = family_of("ubuntu").task_class.floor_frozen(config, splits, encoder)
    expected = {}
    for split in ("val", "test"):
        pairs = [splits[split][number] for number in range(len(splits[split]))]
        scores = [float(reference(folder, pair, "mean").prod(dim=0).sum()) for pair in pairs]
        y, group = (torch.cat([pair[key] for pair in pairs]) for key in ("y", "group"))
        expected |= ranking_metrics(torch.tensor(scores), y, group, prefix=split)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("task", ["sick-e", "sick-r", "sst"])
def test_linear_models_learn_what_a_word_tells(task, encoder, short, corpus, opinions):
    """Mean vectors tell opinions, which differ in one word, but not pairs, which differ in word order."""
    own = opinions if task == "sst" else {**corpus, "task": task}
    config = TrainConfig.of("bert", **own, **short)
    splits = load_splits(config)
    found = SentenceTask.floor_frozen(config, splits, encoder)
    metrics = resolve_task(task).goal.metrics
    assert found.keys() == {f"{split}_{metric.name}" for split in ("val", "test") for metric in metrics}
    assert all(np.isfinite(value) for value in found.values())
    if task == "sst":
        assert found["test_accuracy"] > 0.8


def test_features_are_those_of_a_loop():
    vectors = torch.randn(4, 2, 3)
    for row, (u, v) in zip(sentences.features(vectors), vectors.tolist()):
        expected = [abs(a - b) for a, b in zip(u, v)] + [a * b for a, b in zip(u, v)]
        np.testing.assert_allclose(row, expected, rtol=1e-6)
    assert np.array_equal(sentences.features(vectors[:, :1]), vectors[:, 0].numpy())


def test_the_strength_is_chosen_on_the_second_split():
    rng = np.random.default_rng(0)
    x = {name: rng.normal(size=(30, 20)) for name in ("a", "b")}
    y = {name: values[:, 0] + rng.normal(size=30) for name, values in x.items()}
    best = sentences.fit_probe(x, y, "a", "b", classifies=False)
    errors = {}
    for alpha in sentences._ALPHA:
        mean, scale = x["a"].mean(0), x["a"].std(0)
        own = (x["a"] - mean) / scale
        weight = np.linalg.solve(own.T @ own + alpha * np.eye(20), own.T @ (y["a"] - y["a"].mean()))
        errors[alpha] = MSE((x["b"] - mean) / scale @ weight + y["a"].mean(), y["b"])
    assert best[-1].alpha == min(errors, key=errors.get) != sentences._ALPHA[-1]
    np.testing.assert_allclose(MSE(best.predict(x["b"]), y["b"]), min(errors.values()))


def test_one_class_is_predicted_always():
    x, y = {"a": np.ones((3, 2)), "b": np.zeros((2, 2))}, {"a": np.full(3, 7), "b": np.array([7, 8])}
    assert sentences.fit_probe(x, y, "a", "b", classifies=True).predict(x["b"]).tolist() == [7, 7]


def test_training_examples_are_limited(monkeypatch, encoder, short, corpus):
    config = TrainConfig.of("bert", **corpus, **short, task="sick-e")
    splits, sizes = load_splits(config), []

    def fit(x, y, *names, **options):
        sizes.append((len(x["train"]), len(y["train"]), len(x["val"])))
        return real(x, y, *names, **options)

    real = sentences.fit_probe
    monkeypatch.setattr(sentences, "LIMIT_TRAIN", 12)
    monkeypatch.setattr(sentences, "fit_probe", fit)
    SentenceTask.floor_frozen(config, splits, encoder)
    assert sizes == [(12, 12, 10)]


def test_the_frozen_floor_changes_no_score_of_a_run(short, pools, tmp_path, encoder):
    config = TrainConfig.of("bert", **pools, **short)
    splits = load_splits(config)
    result = train(config, tmp_path / "with", splits=splits)
    without = train(config.replace(floor_frozen=False), tmp_path / "without", splits=splits)
    assert result["floor_frozen"] == family_of("ubuntu").task_class.floor_frozen(config, splits, encoder)
    assert result["floor_frozen"].keys() <= result["metrics"].keys()
    assert without["floor_frozen"] == {}
    assert result["metrics"] == without["metrics"]


def test_models_without_a_pretrained_encoder_have_none(tiny, tmp_path):
    assert train(TrainConfig.of("dt", task="sick-e", **tiny), tmp_path)["floor_frozen"] == {}
    assert LearningTask.floor_frozen(None, None, None) == {}


def test_a_table_computes_the_frozen_floor_once(short, corpus, tmp_path, monkeypatch):
    calls = []

    def counted(*args):
        calls.append(args)
        return real(*args)

    real = SentenceTask.floor_frozen
    monkeypatch.setattr(SentenceTask, "floor_frozen", counted)
    settings = {**corpus, **short}
    summary = ablate("sick-e", ["bert", "bert-dt"], [0], tmp_path, settings=settings)
    assert len(calls) == 1
    assert summary["floor_frozen"].keys() == {"val_accuracy", "test_accuracy"}
    header, rows = table_cells(summary)
    assert [row[0] for row in rows] == [
        "(no skill)",
        "(bag of words)",
        "(encoder, not trained)",
        "bert",
        "bert-dt",
    ]
    shown = dict(zip(header, rows[2]))
    assert shown["test_accuracy"] == f"{summary['floor_frozen']['test_accuracy']:.4f}"
    assert all(len(row) == len(header) for row in rows)
    assert "- (encoder, not trained): logistic regression" in markdown(summary)
    again = ablate("sick-e", ["bert", "bert-dt"], [0], tmp_path, settings=settings)
    assert len(calls) == 1
    assert again["floor_frozen"] == summary["floor_frozen"]
    off = ablate("sick-e", ["bert"], [0], tmp_path / "off", settings={**settings, "floor_frozen": False})
    assert len(calls) == 1
    assert "not trained" not in markdown(off)


def rows(x: torch.Tensor):
    return lambda numbers: x[torch.from_numpy(numbers)]


def literal_ridge(x: np.ndarray, y: np.ndarray, alpha: float, asked: np.ndarray) -> np.ndarray:
    """The class with the largest ridge regression of +-1, by the normal equations."""
    mean, scale = x.mean(0), x.std(0)
    own, asked, classes = (x - mean) / scale, (asked - mean) / scale, np.unique(y)
    target = np.where(y[:, None] == classes, 1.0, -1.0)
    weight = np.linalg.solve(own.T @ own + alpha * np.eye(x.shape[1]), own.T @ (target - target.mean(0)))
    return classes[(asked @ weight + target.mean(0)).argmax(1)]


def test_the_strength_that_is_right_most_often_on_the_second_split():
    rng = np.random.default_rng(0)
    x, x_val = (rng.normal(size=(n, 12)) for n in (60, 50))
    y, y_val = (
        np.round(part[:, :2].sum(1) + rng.normal(size=len(part))).clip(-1, 1) + 1 for part in (x, x_val)
    )
    y, y_val = y.astype(int), y_val.astype(int)
    model = fit_ridge(rows(torch.tensor(x)), y, rows(torch.tensor(x_val)), y_val)
    found = {a: literal_ridge(x, y, a, x_val) for a in frozen_probe._ALPHA}
    right = {a: (prediction == y_val).mean() for a, prediction in found.items()}
    assert model[-1].alpha == max(right, key=right.get)
    assert predict_rows(model, rows(torch.tensor(x_val)), 50).tolist() == found[model[-1].alpha].tolist()


def test_rows_without_a_class_are_not_learned_from(monkeypatch):
    x = torch.tensor([[0.0], [0.0], [1.0], [1.0], [0.5]])
    y = np.array([0, 0, 3, 3, -1])
    monkeypatch.setattr(frozen_probe, "_CHUNK", 2)
    assert predict_rows(fit_ridge(rows(x), y, rows(x), y), rows(x), 4).tolist() == [0, 0, 3, 3]
    one = fit_ridge(rows(x), np.array([7, -1, -1, -1, -1]), rows(x), y)
    assert predict_rows(one, rows(x), 5).tolist() == [7] * 5
    assert predict_rows(one, rows(x), 0).tolist() == []


def test_no_more_rows_than_the_limit(monkeypatch):
    asked = []

    def counted(numbers):
        asked.append(numbers.tolist())
        return torch.randn(len(numbers), 3)

    monkeypatch.setattr(frozen_probe, "LIMIT_ROWS", 4)
    fit_ridge(counted, np.array([-1, 0, 1] * 4), counted, np.zeros(6, dtype=int))
    assert asked == [[1, 4, 7, 10], [0, 1, 3, 4]]


@pytest.mark.parametrize("size", [1, 3])
def test_pairs(size):
    u, v = torch.randn(2, size), torch.randn(2, size)
    assert torch.equal(pair_features(u, v), torch.cat([u, v, (u - v).abs(), u * v], dim=1))


STEPS = st.sampled_from([0.0, 0.25, 0.5, 0.5001, 0.75])


@given(
    st.sampled_from(["sick-r", "sick-e", "labels"]),
    st.dictionaries(st.sampled_from(["val", "test"]), STEPS, min_size=1),
    st.dictionaries(st.sampled_from(["val", "test", "val lookup", "test lookup"]), STEPS),
)
def test_a_score_must_pass_the_best_floor_of_its_split(task, scores, floors):
    """A score equal to a floor does not pass; without a test split, val is compared."""
    metric = resolve_task(task).metrics[0]
    less = metric.name == "mse"
    split = "test" if "test" in scores else "val"
    given_floors = {
        f"{name.split()[0]}_{metric.name}" + ("_lookup" if "lookup" in name else ""): value
        for name, value in floors.items()
        if task == "labels" or "lookup" not in name
    }
    known = [value for name, value in given_floors.items() if name.startswith(split)]
    score = scores[split]
    passes = all(score < floor if less else score > floor for floor in known)
    own = {f"{name}_{metric.name}": value for name, value in scores.items()}
    said = below_floor(task, {}, own, given_floors)
    assert bool(said) == (not passes)
    if said:
        best = (min if less else max)(known)
        assert said.startswith(f"{split}_{metric.name} {score:.4f} is no better than ")
        assert said.endswith(f" {best:.4f}")
    frozen = {name: value for name, value in given_floors.items() if "lookup" not in name}
    alone = frozen.get(f"{split}_{metric.name}")
    worse = alone is not None and not (score < alone if less else score > alone)
    assert bool(untrained(task, {}, own, frozen)) == worse


@pytest.mark.parametrize("quiet", [True, False])
def test_an_encoder_that_reads_for_long_says_how_far_it_is(short, corpus, tmp_path, monkeypatch, quiet):
    shown = []
    monkeypatch.setattr(Progress, "advance", lambda self, count=1: self._shown and shown.append(self.what))
    config = TrainConfig.of("bert", task="sick-e", **{**corpus, **short})
    train(config, tmp_path, console=plain_console(stderr=True, quiet=quiet))
    for said in ("texts with the encoder", "fitting a linear model to the frozen encoder"):
        assert any(said in what for what in shown) != quiet


@pytest.mark.parametrize("classifies", [True, False])
@pytest.mark.parametrize("texts", [1, 2])
def test_the_bag_of_words_is_that_of_scikit_learn(classifies, texts):
    draw = np.random.default_rng(texts)
    rows = [
        tuple(tuple(draw.integers(3, 9, draw.integers(1, 6)).tolist()) for _ in range(texts))
        for _ in range(60)
    ]
    y = np.array([row[-1].count(4) + row[0].count(5) for row in rows]).clip(max=2)
    y = y if classifies else y + 0.25
    known = [" ".join(map(str, text)) for row in rows[:40] for text in row]
    columns = [[" ".join(map(str, text)) for text in column] for column in zip(*rows)]
    terms = TfidfVectorizer(token_pattern=r"\S+").fit(known)
    u, *others = (terms.transform(column).toarray() for column in columns)
    x = np.hstack([u, *(part for v in others for part in (v, np.abs(u - v), u * v))])
    model = LogisticRegression(tol=1e-3) if classifies else Ridge()
    expected = model.fit(x[:40], y[:40]).predict(x)
    found = BagOfWords(rows[:40], y[:40], classifies=classifies).predict(rows)
    assert found == pytest.approx(expected, abs=1e-3)
    assert MSE(found, y) < MSE(np.full(len(y), y[:40].mean()), y)


def test_a_bag_of_words_with_one_class_predicts_it():
    bag = BagOfWords([((3,),), ((4,),)], np.array([1, 1]), classifies=True)
    assert bag.predict([((5,),)]).tolist() == [1]


def test_the_bag_of_words_is_a_floor_computed_once_for_all_runs(corpus, tiny, tmp_path, monkeypatch):
    made, real = [], sentences.BagOfWords
    monkeypatch.setattr(
        sentences, "BagOfWords", lambda *args, **options: made.append(1) or real(*args, **options)
    )
    settings = {
        **{name: value for name, value in tiny.items() if name not in ("task", "model")},
        "max_epochs": 1,
    }
    summary = ablate("sick-e", ["transformer", "dt"], [0, 1], tmp_path, settings=settings)
    assert len(made) == 1
    named = {f"{split}_accuracy{end}" for split in ("val", "test") for end in ("", "_bag_of_words")}
    assert summary["floor"].keys() == named
    assert [row[0] for row in table_cells(summary)[1]][:2] == ["(no skill)", "(bag of words)"]
    assert "bag of words: logistic regression on TF-IDF" in markdown(summary)
    own = dict(summary["floor"], test_accuracy_bag_of_words=1.0)
    said = "test_accuracy 0.7500 is no better than bag of words 1.0000"
    assert below_floor("sick-e", {}, {"test_accuracy": 0.75}, own) == said


@pytest.mark.parametrize("stored", [True, False])
def test_the_words_that_are_counted_are_those_of_the_examples(corpus, monkeypatch, stored):
    splits = load_splits(TrainConfig.of("dt", **{**corpus, "limit_train": 5}))
    monkeypatch.setattr(sentences.StoredBatches, "serves", staticmethod(lambda dataset: stored))
    for name, dataset in splits.datasets.items():
        rows = sentences._word_rows(splits, name, range(len(dataset)))
        assert len(rows) == len(dataset)
        for row, data in zip(rows, dataset):
            nodes = data.input_ids[data.node_type == NodeType.WORD].tolist()
            assert [word for text in row for word in text] == nodes
            assert len(row) == 2


def test_the_look_up_is_a_floor():
    floor = {"test_f1": 0.0, "test_f1_lookup": 0.5}
    assert below_floor("labels", {}, {"test_f1": 0.75}, floor) == ""
    said = "test_f1 0.2500 is no better than look-up 0.5000"
    assert below_floor("labels", {}, {"test_f1": 0.25}, floor) == said


def test_the_encoder_before_its_training_is_a_floor_of_its_own():
    frozen = {"test_mse": 1.0, "val_mse": 0.5}
    said = "test_mse 1.0000 is no better than 1.0000 of the frozen encoder"
    assert untrained("sick-r", {}, {"test_mse": 1.0, "val_mse": 0.1}, frozen) == said
    assert untrained("sick-r", {}, {"test_mse": 0.75}, frozen) == ""
    assert untrained("sick-r", {}, {"test_mse": 9.0}, {}) == ""  # no floor of the frozen encoder
    assert untrained("sick-r", {}, {}, frozen) == ""


def commonest(labels: list[int]) -> int:
    """The first of the most frequent labels."""
    counts = Counter(labels)
    return min(label for label in counts if counts[label] == max(counts.values()))


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), min_size=1), st.lists(st.integers(-5, 5)))
def test_look_up(pairs, asked):
    words, labels = (np.array(column) for column in zip(*pairs))
    otherwise = np.full(len(asked), 9)
    expected = [
        commonest([label for word, label in pairs if word == one]) if one in words else 9 for one in asked
    ]
    assert look_up(words, labels, np.array(asked, dtype=int), otherwise).tolist() == expected


PREDICTED = [PredictedRow("a", {"a": 0.75, "b": 0.25}), PredictedRow(None, None)]


def test_objects():
    rows = [{"text": "ä", "prediction": "old"}, {"text": "y", "n": [1]}]
    text, replaced = write_rows(".jsonl", rows, PREDICTED, ["a", "b"])
    assert replaced == ["prediction"]
    assert [json.loads(line) for line in text.splitlines()] == [
        {"text": "ä", "prediction": "a", "probabilities": {"a": 0.75, "b": 0.25}},
        {"text": "y", "n": [1], "prediction": None, "probabilities": None},
    ]
    assert "ä" in text


@pytest.mark.parametrize(("suffix", "mark"), [("csv", ","), ("tsv", "\t")])
def test_cells(suffix, mark):
    rows = [{"probability_b": "1", "text": "x"}, {"probability_b": "0", "text": "y"}]
    text, replaced = write_rows(f".{suffix}", rows, PREDICTED, ["a", "b"])
    assert replaced == ["probability_b"]
    assert [line.split(mark) for line in text.splitlines()] == [
        ["text", "prediction", "probability_a", "probability_b"],
        ["x", "a", "0.75", "0.25"],
        ["y", "", "", ""],
    ]


def test_quotes_and_what_tabs_cannot_hold():
    rows = [{"text": 'a,\n"b"'}, {"text": ""}]
    text, _ = write_rows(".csv", rows, PREDICTED, ["a", "b"])
    assert text.startswith('text,prediction,probability_a,probability_b\n"a,\n""b""",a,0.75,0.25\n')
    with pytest.raises(ValueError, match=r"a .tsv file cannot hold a tab or a line break \(got 'a,"):
        write_rows(".tsv", rows, PREDICTED, ["a", "b"])
