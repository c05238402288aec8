"""What an encoder gives of marked spans before its training."""

from __future__ import annotations

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from graphdep.nn.pretrained import load_encoder
from graphdep.tasks.spans import model as frozen
from graphdep.tasks.spans.model import SpanTask
from graphdep.training import TrainConfig, load_splits, train
from graphdep.training.ablation import ablate
from graphdep.training.floors import frozen_words
from graphdep.training.table import markdown


@pytest.fixture(scope="module")
def model(encoder):
    return load_encoder(encoder)


def config_of(of_task, on_encoder, task: str) -> TrainConfig:
    own = {name: value for name, value in of_task(task).items() if name in ("task", "root", "parser")}
    return TrainConfig.of("bert", **{**own, **on_encoder, "max_epochs": 1})


@pytest.mark.parametrize("task", ["semeval2010", "aspects"])
def test_each_span_is_the_mean_of_its_words(of_task, on_encoder, model, task):
    dataset = load_splits(config_of(of_task, on_encoder, task))["val"]
    read = frozen._Read.of(dataset, model)
    features = read.rows(np.arange(len(dataset)))
    for number, data in enumerate(dataset):
        (states,) = frozen_words(model, [data])
        spans = []
        for span in range(1, dataset.num_spans + 1):
            words = sorted({int(w) for w, m in zip(data.word, data.mark) if m == span and w >= 0})
            spans.append(states[words].mean(dim=0) if words else torch.zeros(states.size(1)))
        expected = spans[0]
        if len(spans) == 2:
            u, v = spans
            expected = torch.cat([u, v, (u - v).abs(), u * v])
        torch.testing.assert_close(features[number], expected, rtol=1e-5, atol=1e-6)
        assert read.lost[number] == bool(data.lost)
        assert read.known[number] == (-1 if data.lost else int(data.y))


@pytest.mark.parametrize("task", ["semeval2010", "aspects"])
def test_a_run_has_it(of_task, on_encoder, model, tmp_path, task):
    config = config_of(of_task, on_encoder, task)
    splits = load_splits(config)
    result = train(config, tmp_path, splits=splits)
    assert result["floor_frozen"] == SpanTask.floor_frozen(config, splits, model)
    assert result["floor_frozen"].keys() == {n for n in result["metrics"] if not n.endswith("_loss")}


def test_a_row_that_does_not_pass_it_is_called_untrained(of_task, on_encoder, tmp_path, monkeypatch):
    config = config_of(of_task, on_encoder, "semeval2010")
    settings = {k: v for k, v in config.to_dict().items() if k in {*on_encoder, "root", "parser"}}
    for value, told in ((1.0, True), (-1.0, False)):
        floor = {f"{split}_macro_f1": value for split in ("val", "test")}
        monkeypatch.setattr(SpanTask, "floor_frozen", lambda *args, floor=floor: floor)
        folder = tmp_path / str(value)
        summary = ablate("semeval2010", ["bert"], [0], folder, settings={**settings, "max_epochs": 1})
        assert ("- UNTRAINED bert: test_macro_f1" in markdown(summary)) is told
