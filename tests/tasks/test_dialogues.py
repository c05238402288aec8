"""Runs on dialogues: responses, decoding, batches by tokens, and losses that are not finite."""

from __future__ import annotations

import json
import math

import pytest
import torch

from graphdep.tasks import DialogueTask, TrainingError
from graphdep.tasks.dialogues.model import read_responses, spread_over
from graphdep.training import load_splits, load_task, train
from graphdep.training.ablation import ablate
from graphdep.training.config import RESULT
from graphdep.training.splits import TokenBatchSampler
from graphdep.training.table import write_report
from tests.kit.runs import evaluate_own


@pytest.fixture
def config(config_of):
    return lambda model="hred", **others: config_of("dailydialog", model, **others)


def test_responses_and_their_scores_and_floors(trained):
    folder, result = trained("dailydialog", "transformer-dra")
    for split, size in (("val", 7), ("test", 9)):
        assert result["metrics"][f"{split}_perplexity"] > 1
        assert result["floor"][f"{split}_perplexity"] > 1
        assert 0 <= result["metrics"][f"{split}_dist2"] <= 1
        lines = (folder / f"responses-{split}.jsonl").read_text(encoding="utf-8").splitlines()
        assert len(lines) == size
        first = json.loads(lines[0])
        assert first["context"] == ["ann saw bob"]
        assert first["reference"] == "bob met cid"
    floors = [name for name in result["floor"] if "bleu" in name]  # a constant response
    assert len(floors) == 6
    assert not [name for name in result["floor"] if "dist" in name]
    assert all(result["reference"][name] >= result["floor"][name] for name in floors)


def test_responses_are_read_by_line_and_spread_over_a_split(tmp_path):
    line = {"context": ["a\u2028b"], "response": "\x85"}
    (tmp_path / "r.jsonl").write_text(json.dumps(line, ensure_ascii=False) + "\n", encoding="utf-8")
    assert read_responses(tmp_path / "r.jsonl") == [line]
    assert spread_over(10, 3) == [0, 3, 6]
    assert spread_over(3, 10) == spread_over(3, None) == [0, 1, 2]
    assert spread_over(3, 0) == []


def test_evaluation_takes_other_decoding_and_other_pairs(trained):
    folder, result = trained("dailydialog", "transformer-dra")
    path = folder / "best.ckpt"
    beam = evaluate_own(path, "test", settings={"strategy": "beam", "beams": 3, "max_length": 2})
    assert beam["metrics"]["test_perplexity"] == result["metrics"]["test_perplexity"]
    assert beam["metrics"]["test_mean_length"] <= 2
    right, wrong = (
        evaluate_own(path, "val", settings={"limit_generate": 0, "parse_errors": errors})["metrics"]
        for errors in (0.0, 1.0)
    )
    assert right["val_perplexity"] != wrong["val_perplexity"]
    assert "val_dist2" not in right
    with pytest.raises(ValueError, match="'heads' cannot change after training; settings that can are edges"):
        evaluate_own(path, "val", settings={"heads": 4})
    # All of the tiny test examples occur in training.
    with pytest.raises(ValueError, match="the split .test. has no examples"):
        evaluate_own(path, settings={"overlap": "drop"})


def test_wrong_pairs_need_edges_that_are_pairs(config, tmp_path):
    with pytest.raises(ValueError, match="'parse_errors' needs edges .*edges='lisa-complete'"):
        train(config("lisa", parse_errors=0.5), tmp_path)
    with pytest.raises(ValueError, match="'splits' were made with other settings"):
        train(config(), tmp_path, splits=load_splits(config(max_turns=1)))


def test_one_response_has_no_floor_but_a_score_and_how_to_decode_can_change(config, tmp_path):
    result = train(config(limit_generate=1, max_epochs=2), tmp_path)
    assert "val_bleu2_method7" in result["metrics"]
    assert "val_bleu2_method7" not in result["floor"]
    assert result["reference"] == {}
    # With a falling learning rate, more epochs are another run.
    with pytest.raises(ValueError, match="another run, which cannot be resumed: max_epochs: 3 != 2"):
        train(config(limit_generate=1, max_epochs=3), tmp_path, resume=True)
    shorter = config(limit_generate=1, max_epochs=2, max_length=2)
    with pytest.raises(ValueError, match="another run, which cannot be resumed: max_length"):
        train(shorter, tmp_path, resume=True)
    (tmp_path / RESULT).unlink()  # without a result it may change
    assert train(shorter, tmp_path, resume=True)["metrics"]["test_mean_length"] <= 2


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_checkpoint(config, tmp_path, monkeypatch):
    original = DialogueTask.loss

    def loss(self, batch):
        return original(self, batch) * (math.nan if self.current_epoch == 1 else 1.0)

    monkeypatch.setattr(DialogueTask, "loss", loss)
    with pytest.raises(TrainingError, match="the loss became nan in epoch 2, batch 1"):
        train(config(max_epochs=2), tmp_path)
    assert load_task(tmp_path / "best.ckpt")[1].config.model == "hred"
    assert not (tmp_path / RESULT).exists()
    monkeypatch.setattr(DialogueTask, "score", lambda *_: {"val_perplexity": math.inf})
    with pytest.raises(TrainingError, match="val_perplexity became inf in epoch 1"):
        train(config(), tmp_path / "score")
    assert not (tmp_path / "score" / "best.ckpt").exists()


def test_batches_by_tokens_hold_every_example_once(config, tmp_path):
    splits = load_splits(own := config("transformer", batch_tokens=40), ("train",))
    loader, seen = splits.loader("train", own, shuffle=True), []
    for batch in loader:
        assert batch.num_nodes + batch.target_ids.numel() <= 40
        seen += [(int(d), int(t)) for d, t in zip(batch.dialogue, batch.turn)]
    assert len(seen) == len(set(seen)) == len(splits["train"])
    assert loader.batch_sampler.count(1) == len(list(loader))
    sizes = [len(b) for b in TokenBatchSampler(range(3), torch.tensor([5, 50, 5]), 40)]
    assert sizes == [1, 1, 1]  # a too large example is a batch by itself
    options = {"batch_tokens": 60, "precision": "bf16-mixed", "clip": 1.0, "limit_generate": 0}
    result = train(config("transformer-dra", **options), tmp_path)
    assert math.isfinite(result["metrics"]["test_perplexity"])


def test_subwords_are_those_of_the_words(trained):
    pytest.importorskip("tokenizers")
    task, state = load_task(trained("dailydialog", "transformer-dra-bpe", pieces=280)[0] / "best.ckpt")
    assert state.vocab.words_of(state.vocab.encode("bob") + state.vocab.encode("met")) == ["bob", "met"]
    assert task.model.encoder.embedding.word.num_embeddings == len(state.vocab)


@pytest.mark.curves
def test_rows_of_words_and_subwords_have_data_of_their_own(settings_of, tmp_path):
    pytest.importorskip("tokenizers")
    settings = settings_of("dailydialog")
    del settings["task"]
    models = "transformer", "hred", "transformer-bpe"
    summary = ablate("dailydialog", models, [0], tmp_path, settings=settings)
    rows = {row["model"]: row for row in summary["rows"]}
    assert not any(row["failed"] for row in rows.values())
    words, pieces = (rows[name]["parameters"] for name in ("transformer", "transformer-bpe"))
    assert pieces > words + 200 * 8  # bytes are pieces
    assert rows["hred"]["against"]["row"] == "transformer"
    assert rows["transformer-bpe"]["against"] is None  # other tokens
    write_report(summary, tmp_path)
    table = (tmp_path / "table.md").read_text()
    assert "(references)" in table
    assert "- responses: to all examples of a split" in table
