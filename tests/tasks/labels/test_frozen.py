"""What an encoder gives of words before its training."""

from __future__ import annotations

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")

from graphdep.metrics.scores import NOTHING
from graphdep.nn.pretrained import load_encoder
from graphdep.tasks.labels import model as frozen
from graphdep.training import TrainConfig, load_splits
from graphdep.training.floors import frozen_words


@pytest.fixture(scope="module")
def model(encoder):
    return load_encoder(encoder)


def config_of(settings, encoder, **more) -> TrainConfig:
    own = {
        name: value for name, value in settings.items() if name in ("task", "root", "raw_from", "accelerator")
    }
    return TrainConfig.of("bert", **{**own, "encoder": encoder, "max_length": 40, **more})


def reference(encoder: str, data) -> torch.Tensor:
    """The model that Hugging Face made, over the pieces of one text; the mean over those of each word."""
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(encoder).eval(), AutoTokenizer.from_pretrained(encoder)
    inside = data.input_ids[data.word >= 0].tolist()
    ids = torch.tensor([[tokenizer.cls_token_id, *inside, tokenizer.sep_token_id]])
    with torch.no_grad():
        x = model(ids).last_hidden_state[0, 1:-1]
    word = data.word[data.word >= 0]
    return torch.stack([x[word == number].mean(dim=0) for number in range(int(word.max()) + 1)])


def test_states_are_those_of_each_text_alone(of_roles, encoder, model):
    splits = load_splits(config_of(of_roles, encoder))
    examples = [splits["train"][number] for number in range(6)]
    for data, found in zip(examples, frozen_words(model, examples)):
        torch.testing.assert_close(found, reference(encoder, data), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("marks", "max_length"), [(True, 40), (True, 8), (False, 40), (False, 8)])
def test_each_scored_word_has_its_own_state(of_roles, tiny, encoder, model, marks, max_length):
    splits = load_splits(config_of(of_roles if marks else tiny, encoder, max_length=max_length))
    dataset = splits["val"]
    read = frozen._Read.of(dataset, model)
    examples = {int(data.example_id): data for data in dataset}
    features = read.rows(np.arange(len(read.cut)))
    assert bool(read.cut.any()) == (max_length == 8)
    for row, (number, place) in enumerate(zip(read.words.example.tolist(), read.words.place.tolist())):
        data = examples[number]
        assert read.cut[row] == (place >= len(data.y))
        if read.cut[row]:
            continue
        assert int(data.y[place]) == read.words.target[row] == read.known[row]
        states = reference(encoder, data)
        marked = data.word[data.mark > 0].unique() if marks else []
        u, v = states[place], states[marked[0]] if len(marked) else torch.zeros(states.size(1))
        expected = torch.cat([u, v, (u - v).abs(), u * v]) if marks else u
        torch.testing.assert_close(features[row], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("max_length", [40, 8])
def test_scores_are_those_of_the_splits(of_roles, encoder, model, max_length, monkeypatch):
    config = config_of(of_roles, encoder, max_length=max_length)
    splits, seen = load_splits(config), []

    def scores(self, prediction, words):
        seen.append((prediction, words))
        return real(self, prediction, words)

    real = frozen.LabelScoring.scores
    monkeypatch.setattr(frozen.LabelScoring, "scores", scores)
    found = frozen.LabelTask.floor_frozen(config, splits, model)
    names = {
        f"{split}_{name}" for split in ("val", "test") for name in ("accuracy", "f1", "macro_f1", "exact")
    }
    assert found.keys() == names
    assert len(seen) == 2
    for prediction, words in seen:
        assert len(prediction) == len(words.target)
        assert bool((prediction == NOTHING).any()) == (max_length == 8)
    assert (found["test_accuracy"] > 0.3) == (max_length == 40)
