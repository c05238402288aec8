from __future__ import annotations

import json
import math

import pytest
import torch

from graphdep.tasks.dialogues.model import read_responses, spread_over
from graphdep.tasks.dialogues.settings import DIALOGUE_MODELS
from graphdep.training import TrainConfig, load_splits, load_task, train
from graphdep.training.config import RESULT
from graphdep.training.splits import TokenBatchSampler
from graphdep.training.table import write_report
from tests.kit.runs import evaluate_own
from tests.kit.tiny_corpora import write_tiny_dialogues

WORDS = [name for name, preset in DIALOGUE_MODELS.items() if "pieces" not in preset.overrides]
SIZES = {"hidden_channels": 8, "ff_channels": 8, "heads": 2, "num_layers": 2}
SIZES |= {"context_layers": 1, "decoder_layers": 1}


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    corpus = write_tiny_dialogues(tmp_path_factory.mktemp("dialogues"))
    short = {"batch_size": 8, "max_epochs": 2, "lr": 0.05, "warmup_steps": 2, "accelerator": "cpu"}
    return {"task": "dailydialog", "min_freq": 1, **corpus, **SIZES, **short}


@pytest.mark.parametrize("model", WORDS)
def test_every_model_trains_and_responds(model, dialogues, tmp_path):
    result = train(TrainConfig.of(model, **{**dialogues, "max_epochs": 1}), tmp_path)
    for split, size in (("val", 7), ("test", 9)):
        assert 1 < result["metrics"][f"{split}_perplexity"] < 50
        assert result["floor"][f"{split}_perplexity"] > 1
        assert 0 <= result["metrics"][f"{split}_dist2"] <= 1
        lines = (tmp_path / f"responses-{split}.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) == size
        first = json.loads(lines[0])
        assert first["context"] == ["ann saw bob"]
        assert first["reference"] == "bob met cid"
    assert (tmp_path / "predictions.csv").read_text().count("\n") == 10


def test_batches_by_tokens_bf16_and_clipping(dialogues, tmp_path):
    settings = {**dialogues, "batch_tokens": 60, "precision": "bf16-mixed", "clip": 1.0}
    by_examples = train(TrainConfig.of("transformer-dra", **dialogues), tmp_path / "examples")
    by_tokens = train(TrainConfig.of("transformer-dra", **settings), tmp_path / "tokens")
    assert by_tokens["metrics"].keys() == by_examples["metrics"].keys()
    assert math.isfinite(by_tokens["metrics"]["test_perplexity"])


@pytest.mark.curves
def test_a_model_learns_what_follows(dialogues, tmp_path):
    # In these dialogues every turn follows from the one before it.
    settings = {**dialogues, "max_epochs": 30, "hidden_channels": 32, "dropout": 0.0, "lr": 0.01}
    result = train(TrainConfig.of("transformer-dra", **settings), tmp_path)
    assert result["metrics"]["test_perplexity"] < 1.1 < 4 < result["floor"]["test_perplexity"]
    assert result["metrics"]["test_bleu2_method1"] > 0.99 > 0.5 > result["floor"]["test_bleu2_method1"]


def test_more_epochs_are_another_run_where_the_rate_falls(dialogues, tmp_path):
    train(TrainConfig.of("hred", **dialogues), tmp_path)
    with pytest.raises(ValueError, match="another run, which cannot be resumed: max_epochs: 3 != 2"):
        train(TrainConfig.of("hred", **{**dialogues, "max_epochs": 3}), tmp_path, resume=True)


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_checkpoint(dialogues, tmp_path, monkeypatch):
    from graphdep.tasks import DialogueTask, TrainingError

    original = DialogueTask.loss
    monkeypatch.setattr(
        DialogueTask,
        "loss",
        lambda self, batch: original(self, batch) * (math.nan if self.current_epoch == 1 else 1.0),
    )
    with pytest.raises(TrainingError, match="the loss became nan in epoch 2, batch 1"):
        train(TrainConfig.of("transformer", **dialogues), tmp_path)
    assert load_task(tmp_path / "best.ckpt")[1].config.model == "transformer"
    assert not (tmp_path / RESULT).exists()


def test_evaluate_gives_the_same_numbers_and_takes_other_decoding(dialogues, tmp_path):
    result = train(TrainConfig.of("transformer-dra", **dialogues), tmp_path)
    again = evaluate_own(tmp_path / "best.ckpt", "test")
    assert again["metrics"] == {k: v for k, v in result["metrics"].items() if k.startswith("test_")}
    beam = evaluate_own(
        tmp_path / "best.ckpt", "test", settings={"strategy": "beam", "beams": 3, "max_length": 2}
    )
    assert beam["metrics"]["test_perplexity"] == result["metrics"]["test_perplexity"]
    assert beam["metrics"]["test_mean_length"] <= 2


def test_wrong_pairs_change_the_score_but_not_the_model(dialogues, tmp_path):
    train(TrainConfig.of("transformer-dra", **dialogues), tmp_path)
    settings = {"limit_generate": 0}
    right, wrong = (
        evaluate_own(tmp_path / "best.ckpt", "val", settings={**settings, "parse_errors": p})["metrics"]
        for p in (0.0, 1.0)
    )
    assert right["val_perplexity"] != wrong["val_perplexity"]
    assert "val_dist2" not in right
    with pytest.raises(ValueError, match="'heads' is a setting of the training; free to choose are edges"):
        evaluate_own(tmp_path / "best.ckpt", "val", settings={"heads": 4})
    with pytest.raises(ValueError, match="'parse_errors' needs edges .*edges='lisa-complete'"):
        train(TrainConfig.of("lisa", **dialogues, parse_errors=0.5), tmp_path / "lisa")


def test_examples_that_training_has_seen_can_be_left_out(dialogues, tmp_path):
    # All of the tiny test examples occur in training.
    config = TrainConfig.of("hred", **{**dialogues, "max_epochs": 1})
    result = train(config, tmp_path)
    with pytest.raises(ValueError, match="the split .test. has no examples"):
        evaluate_own(result["checkpoint"], settings={"overlap": "drop"})


def test_one_response_has_no_floor_but_a_score(dialogues, tmp_path):
    result = train(TrainConfig.of("hred", **dialogues, limit_generate=1), tmp_path)
    assert "val_bleu2_method7" in result["metrics"]
    assert "val_bleu2_method7" not in result["floor"]
    assert result["reference"] == {}


def test_how_to_decode_can_change_until_there_is_a_result(dialogues, tmp_path):
    config = TrainConfig.of("hred", **dialogues)
    train(config, tmp_path)
    with pytest.raises(ValueError, match="another run, which cannot be resumed: max_length"):
        train(config.replace(max_length=2), tmp_path, resume=True)
    (tmp_path / RESULT).unlink()
    result = train(config.replace(max_length=2), tmp_path, resume=True)
    assert result["metrics"]["test_mean_length"] <= 2


def test_a_validation_score_that_is_not_finite_stops(dialogues, tmp_path, monkeypatch):
    from graphdep.tasks import DialogueTask, TrainingError

    monkeypatch.setattr(DialogueTask, "score", lambda *_: {"val_perplexity": math.inf})
    with pytest.raises(TrainingError, match="val_perplexity became inf in epoch 1"):
        train(TrainConfig.of("hred", **dialogues), tmp_path)
    assert not (tmp_path / "best.ckpt").exists()


def test_responses_are_read_by_line(tmp_path):
    line = {"context": ["a\u2028b"], "response": "\x85"}
    (tmp_path / "r.jsonl").write_text(json.dumps(line, ensure_ascii=False) + "\n", encoding="utf-8")
    assert read_responses(tmp_path / "r.jsonl") == [line]


def test_subwords(dialogues, tmp_path):
    pytest.importorskip("tokenizers")
    config = TrainConfig.of("transformer-dra-bpe", **dialogues, pieces=280)
    result = train(config, tmp_path)
    task, state = load_task(result["checkpoint"])
    assert state.vocab.words_of(state.vocab.encode("bob") + state.vocab.encode("met")) == ["bob", "met"]
    assert task.model.encoder.embedding.word.num_embeddings == len(state.vocab)
    assert evaluate_own(result["checkpoint"])["metrics"]["test_loss"] == result["metrics"]["test_loss"]


def test_batches_by_tokens_hold_every_example_once(dialogues):
    config = TrainConfig.of("transformer", **dialogues, batch_tokens=40)
    splits = load_splits(config, ("train",))
    loader = splits.loader("train", config, shuffle=True)
    seen = []
    for batch in loader:
        assert batch.num_nodes + batch.target_ids.numel() <= 40
        seen += [(int(d), int(t)) for d, t in zip(batch.dialogue, batch.turn)]
    assert len(seen) == len(set(seen)) == len(splits["train"])
    assert loader.batch_sampler.count(1) == len(list(loader))
    result_sizes = [len(b) for b in TokenBatchSampler(range(3), torch.tensor([5, 50, 5]), 40)]
    assert result_sizes == [1, 1, 1]  # what is too large is a batch of its own


def test_wrong_settings_name_key_and_value():
    for setting, message in [
        ({"parse_errors": 1.5}, "'parse_errors' must be at most 1 .got 1.5"),
        ({"top_p": 0.0}, "'top_p' must be above 0"),
        ({"overlap": "none"}, "'overlap' must be one of keep, drop"),
        ({"relation_dim": 3}, "unknown setting 'relation_dim'"),
        ({"encoder": "hred"}, "'edges' are for encoder='transformer'"),
        ({"pieces": 300, "vectors": "glove.txt"}, "'vectors' are of words"),
        ({"model": "dt"}, r"no model 'dt' .one of sentence: --task sick-r.; choose one of"),
        ({"clip": 0.0}, "'clip' must be above 0"),
        ({"pieces": 100}, "'pieces' must be at least 261"),
        ({"model": "hred", "trees": "chain"}, "encoder 'hred' reads no tree"),
    ]:
        with pytest.raises(ValueError, match=message):
            TrainConfig.of(**{"task": "dailydialog", **setting})


def test_defaults_are_the_paper_s():
    config = TrainConfig.of(task="dailydialog")
    assert (config.hidden_channels, config.num_layers, config.heads) == (768, 3, 16)
    assert (config.batch_size, config.optimizer, config.weight_decay) == (40, "adamw", 0.01)
    assert (config.lr, config.warmup_steps, config.min_freq) == (5e-4, 3000, 3)
    assert (config.max_turns, config.max_words, config.position_embedding) == (4, 50, False)


def test_rows_of_words_and_subwords_have_data_of_their_own(dialogues, tmp_path):
    pytest.importorskip("tokenizers")
    from graphdep.training.ablation import ablate

    settings = {**dialogues, "max_epochs": 1}
    del settings["task"]
    models = "transformer", "transformer-dra", "transformer-bpe"
    summary = ablate("dailydialog", models, [0], tmp_path, settings=settings)
    rows = {row["model"]: row for row in summary["rows"]}
    assert not any(row["failed"] for row in rows.values())
    words, pieces = (rows[name]["parameters"] for name in ("transformer", "transformer-bpe"))
    assert pieces > words + 200 * 8  # bytes are pieces
    assert rows["transformer-dra"]["against"]["row"] == "transformer"
    assert rows["transformer-bpe"]["against"] is None  # other tokens
    table = (write_report(summary, tmp_path) and (tmp_path / "table.md")).read_text()
    assert "(references)" in table
    assert "- responses: to all examples of a split" in table


def test_splits_of_other_settings_are_refused(dialogues, tmp_path):
    config = TrainConfig.of("transformer", **dialogues)
    with pytest.raises(ValueError, match="'splits' were made with other settings"):
        train(config, tmp_path, splits=load_splits(config.replace(max_turns=1)))


def test_a_constant_response_is_a_floor_of_bleu(dialogues, tmp_path):
    result = train(TrainConfig.of("hred", **{**dialogues, "max_epochs": 1}), tmp_path)
    floors = [name for name in result["floor"] if "bleu" in name]
    assert len(floors) == 6
    assert not [name for name in result["floor"] if "dist" in name]
    assert all(result["reference"][name] >= result["floor"][name] for name in floors)


def test_spread_over():
    assert spread_over(10, 3) == [0, 3, 6]
    assert spread_over(3, 10) == spread_over(3, None) == [0, 1, 2]
    assert spread_over(3, 0) == []
