"""Runs whose encoder is not trained: the row ``bert-frozen``."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("transformers")

from graphdep import SentenceEncoder, attention_map
from graphdep.nn.models import transformer as _single_texts
from graphdep.nn.pretrained import load_encoder
from graphdep.tasks.sentences.predict import SequenceClassifier
from graphdep.training import TrainConfig, load_splits, load_task, train
from graphdep.training.ablation import ablate
from tests.kit.runs import evaluate_own
from tests.kit.tiny_encoder import write_tiny_encoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_tiny_encoder(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def short(folder: str) -> dict[str, object]:
    own = {"encoder": folder, "max_length": 40, "batch_size": 8, "accelerator": "cpu"}
    return {**own, "head_channels": 4, "max_epochs": 3, "floor_frozen": False}


@pytest.mark.parametrize("task", ["sick-e", "sick-r"])
def test_a_run_on_pairs(task, short, corpus, folder, tmp_path, monkeypatch) -> None:
    read, real = [], _single_texts._read

    def counted(encoder, texts):
        read.extend(texts)
        return real(encoder, texts)

    monkeypatch.setattr(_single_texts, "_read", counted)
    config = TrainConfig.of("bert-frozen", **{**corpus, **short, "task": task})
    splits = load_splits(config)
    result = train(config, tmp_path, splits=splits)
    classes = {"sick-e": 3, "sick-r": 5}[task]
    assert result["parameters"] == 2 * 4 * 8 + 4 + (4 + 1) * classes  # of the head alone
    assert evaluate_own(tmp_path / "best.ckpt")["metrics"] == {
        name: value for name, value in result["metrics"].items() if name.startswith("test")
    }
    (task, _), start = load_task(tmp_path / "best.ckpt"), load_encoder(folder)
    assert type(task.model.head).__name__ == "RelatednessHead"
    for name, weight in start.model.state_dict().items():
        assert torch.equal(task.model.encoder.encoder.model.state_dict()[name], weight), name
    # Texts of train and val once, not once an epoch.
    texts = {s: {t for d in splits[s] for t in _single_texts.texts_of(d)} for s in ("train", "val")}
    trained = read[: len(texts["train"] | texts["val"])]
    assert sorted(trained) == sorted(texts["train"] | texts["val"])


def test_it_learns_from_single_sentences_and_predicts(short, opinions, folder, tmp_path) -> None:
    config = TrainConfig.of("bert-frozen", **{**opinions, **short, "max_epochs": 12, "lr": 0.1})
    result = train(config, tmp_path)
    assert result["metrics"]["test_accuracy"] > result["floor"]["test_accuracy"]
    task, _ = load_task(tmp_path / "best.ckpt")
    texts = [("a fine film",), ("so dull",), ("a fine film",)]
    model = SequenceClassifier.load(tmp_path / "best.ckpt", parser="chain")
    out = model._outputs(texts, "{}{}".format)
    assert torch.equal(out[0], out[2])
    encoder = SentenceEncoder(tmp_path / "best.ckpt", parser="chain")
    vectors = encoder.encode([text for (text,) in texts])
    torch.testing.assert_close(task.model.head(vectors), out)
    with pytest.raises(ValueError, match="'bert-frozen' has trained no attention"):
        attention_map(tmp_path / "best.ckpt", "a fine film", parser="chain")


def test_a_row_beside_others(short, corpus, tmp_path) -> None:
    settings = {**corpus, **short, "max_epochs": 1}
    rows = ablate("sick-e", ["bert", "bert-frozen"], [0], tmp_path, settings=settings)["rows"]
    assert [row["model"] for row in rows] == ["bert", "bert-frozen"]
    assert rows[1]["parameters"] < rows[0]["parameters"] / 10


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"edges": "dra"}, "'edges' is for an encoder that is trained; a frozen one has 'transformer'"),
        ({"freeze_layers": 1}, "'freeze_layers' is for an encoder that is trained; a frozen one has 0"),
        ({"word_order": "shuffled"}, "'word_order' is for an encoder that is trained"),
    ],
)
def test_settings_that_nothing_reads(settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        TrainConfig.of("bert-frozen", task="sick-e", **settings)


def test_only_a_pretrained_encoder_is_frozen() -> None:
    with pytest.raises(ValueError, match="'frozen' is for a pretrained encoder"):
        TrainConfig.of("dt", task="sick-e", frozen=True)
    assert TrainConfig.of("bert", task="sick-e").frozen is False
