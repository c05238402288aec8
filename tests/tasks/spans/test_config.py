from __future__ import annotations

import pytest

from graphdep.datasets.spans.rows import LABELS, OTHER, RELATIONS, UNDIRECTED
from graphdep.tasks import family_of, resolve_task
from graphdep.tasks.spans.settings import COLUMNS, TASKS
from graphdep.training import TrainConfig
from graphdep.training.encoder_config import WORD_MODELS

SCRATCH = [name for name in WORD_MODELS if not name.startswith("bert") and "constituent" not in name]
SCORES = ["accuracy", "exact", "f1", "macro_f1"]


def of(model: str | None = None, task: str = "semeval2010", **settings: object) -> TrainConfig:
    return TrainConfig.of(model, task=task, **settings)


def own(**settings: object) -> TrainConfig:
    return of(task="spans", **{"train": "a.jsonl", **settings})


def test_rows_share_their_data():
    shared = of("bilstm").data_settings()
    for model in (*SCRATCH, "dt@random", "dra@chain", "dt@reversed", "dt@unlabelled"):
        assert of(model).data_settings() == shared
        assert of(model).trees == of(model).named().get("trees", of(model).trees)
    assert of(direction=False).data_settings() != shared
    assert of(readout="top", path=True).data_settings() == shared
    assert set(family_of("semeval2010").default_models) <= {*WORD_MODELS, "dt@random"}


def test_options_of_corpora_reach_them():
    assert of().dataset_options("train") == {}
    given = of(direction=False, val_fraction=0.2, val_seed=3)
    assert given.dataset_options("train") == {"direction": False, "val_fraction": 0.2, "seed": 3}
    assert of(task="conll04", negatives=2.0).dataset_options("val") == {"negatives": 2.0}
    laptops = of(task="aspects", domain="laptops", polarities=3)
    assert laptops.dataset_options("test") == {"domain": "laptops", "polarities": 3}
    assert laptops.label == "dt, domain laptops, polarities 3"
    assert own(text_columns="body").dataset_options("train") == {
        "train": "a.jsonl",
        "val": None,
        "test": None,
        "text_column": "body",
        "val_fraction": 0.1,
        "seed": 0,
    }


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_columns_of_its_scores(task):
    config = own() if task == "spans" else of(task=task)
    main, *others = COLUMNS[task]
    assert sorted(config.signatures()) == SCORES
    assert main == f"test_{TASKS[task].metrics[0].name}"
    assert {name.partition("_")[2] for name in others} <= set(SCORES)


def test_what_is_computed_is_said():
    for text in of().signatures().values():
        assert text.count("floor:") == 1
        assert "look-up: the commonest label of each way through the tree from one span to the other" in text
    assert "semeval2010_task8_scorer" in of().signatures()["macro_f1"]
    assert "without" not in of().signatures()["macro_f1"]
    assert "labels have no direction" in of(direction=False).signatures()["macro_f1"]
    assert "of each form of a span's top word" in of(task="aspects").signatures()["f1"]
    assert "or where there is one span, of each form" in own().signatures()["f1"]


def test_codes_of_labels():
    task = resolve_task("semeval2010")
    directed = task.codes(LABELS, OTHER)
    assert directed[LABELS.index(OTHER)] == 0
    assert sorted(directed) == [*range(19)]
    undirected = task.codes(UNDIRECTED, OTHER)
    assert undirected[UNDIRECTED.index(OTHER)] == 0
    for name in RELATIONS:
        assert undirected[UNDIRECTED.index(name)] == directed[LABELS.index(f"{name}(e1,e2)")]
    spans = resolve_task("spans")
    assert spans.codes(("a", "b", "c"), "b") == (1, 0, 2)
    assert spans.codes(("a", "b"), None) == (1, 2)
    with pytest.raises(
        ValueError, match=r"'outside' must be one of the labels of training, a, b \(got 'c'\)"
    ):
        spans.codes(("a", "b"), "c")


def test_what_it_is_called():
    digests = [of(), of(readout="top"), of(path=True), of(direction=False), of("dt@random"), own()]
    assert len({config.digest() for config in digests}) == len(digests)
    assert own(train="b.jsonl").differences(own()) == []
    assert own(outside="none").digest() != own().digest()
    assert own().family == of().family == "spans"
    assert own().splits == ("train", "val")
    assert own(test="t.csv").splits == ("train", "val", "test")
    assert own(trees="gold").data_settings()["parser"] == "gold"


@pytest.mark.parametrize(
    ("task", "settings", "message"),
    [
        ("semeval2010", {"domain": "laptops"}, r"'domain' is not for task 'semeval2010' \(got 'laptops'\)"),
        ("aspects", {"negatives": 1.0}, "'negatives' is not for task 'aspects'"),
        ("conll04", {"direction": True}, "'direction' is not for task 'conll04'"),
        ("aspects", {"path": True}, r"'path' is between two spans, but 'aspects' has one \(got True\)"),
        ("semeval2010", {"readout": "max"}, "'readout' must be one of mean, top"),
        ("semeval2010", {"word_state": "first"}, "'word_state' is for a pretrained encoder"),
        ("semeval2010", {"trees": "gold"}, "'trees' cannot be 'gold': the corpus of 'semeval2010'"),
        ("semeval2010", {"outside": "Other"}, "unknown setting 'outside'"),
        ("semeval2010", {"model": "dt@nothing"}, "no control 'nothing'"),
        ("semeval2010", {"val_fraction": 2.0}, "'val_fraction' must be"),
        ("spans", {}, r"task 'spans' needs 'train' \(--train\), which is not given"),
        ("spans", {"train": "a.csv", "raw_from": "b"}, r"'raw_from' is for corpora, not for task 'spans'"),
        ("spans", {"train": "a.csv", "direction": True}, "'direction' is not for task 'spans'"),
    ],
)
def test_wrong_settings(task, settings, message):
    model = settings.pop("model", None)
    with pytest.raises(ValueError, match=message):
        of(model, task, **settings)
