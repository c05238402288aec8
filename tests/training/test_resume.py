"""A resumed run is the same as the uninterrupted one, with all kinds of batches."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
import torch
from lightning import Callback

from graphdep.io.files import BEST
from graphdep.testing import assert_same_batch
from graphdep.training import TrainConfig, load_splits, read_checkpoint, train
from graphdep.training.evaluation import PREDICTIONS
from tests.kit.tiny_corpora import write_tiny_dialogues, write_tiny_propbank, write_tiny_selection
from tests.kit.tiny_encoder import write_tiny_encoder

SIZES = {"hidden_channels": 8, "ff_channels": 8, "heads": 2, "num_layers": 1}
SCRATCH = {**SIZES, "dropout": 0.3}
TEXTS = {"task": "csv", "train": "texts.csv", "text_columns": "text", "label_column": "label"}
# 24 texts have more than 4096 pieces, the default of batch_pieces.
PIECES = {**TEXTS, "train": "long.csv", "encoder": "bert", "max_length": 256, "batch_size": 24}
SPANS = {"task": "spans", "train": "spans.jsonl"}
DIALOGUES = {"task": "dailydialog", "root": "dialogues", "parser": "conllu:dialogues/dialogues.conllu"}
DIALOGUES |= {"min_freq": 1, "max_length": 4, "context_layers": 1, "decoder_layers": 1, **SCRATCH}
POOLS = {
    "task": "ubuntu",
    "root": "pools",
    "parser": "conllu:pools/trees.conllu",
    "max_length": 48,
    "limit_eval": 20,
}
ROLES = {"task": "propbank-ewt", "root": "roles", "form": "spans", "crf": True, **SCRATCH}

RUNS = {
    "batch_size": ("dt@random", {**TEXTS, **SCRATCH}),
    "batch_size, workers": ("transformer", {**TEXTS, **SCRATCH, "num_workers": 1}),
    "batch_tokens, warm-up": ("dt", {**TEXTS, **SCRATCH, "batch_tokens": 40, "warmup_steps": 4}),
    "batch_tokens, val_every": ("transformer", {**TEXTS, **SCRATCH, "batch_tokens": 40, "val_every": 2}),
    "batch_pieces": ("bert", PIECES),
    "batch_pieces, frozen": ("bert-frozen", PIECES),
    "roles": ("dt", ROLES),
    "spans, batch_tokens": ("dt@random", {**SPANS, **SCRATCH, "path": True, "batch_tokens": 40}),
    "dialogues": ("dialogbert", DIALOGUES),
    "dialogues, batch_tokens": ("transformer-dra", {**DIALOGUES, "batch_tokens": 60, "warmup_steps": 4}),
    "selection, objective": ("bert-ums-sia", {**POOLS, "encoder": "transformer", **SIZES}),
    "post-training": (None, {**POOLS, "task": "post-train", "encoder": "bert"}),
}


class Keep(Callback):
    """Copies the folder at the start of an epoch, as a kill would leave it."""

    def __init__(self, epoch, kept):
        self.epoch, self.kept = epoch, kept

    def on_train_epoch_start(self, trainer, pl_module):
        if trainer.current_epoch == self.epoch:
            shutil.copytree(trainer.default_root_dir, self.kept)


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with texts, spans, dialogues, pools, roles and an encoder."""
    pytest.importorskip("transformers")
    place, rng = tmp_path_factory.mktemp("place"), random.Random(0)
    for name, sizes in {"texts": (5, 9), "long": (150, 220)}.items():
        texts = [" ".join(rng.choices("abcdefgh", k=rng.choice(sizes))) for _ in range(40)]
        rows = [f"{text},{'xy'[n % 2]}\n" for n, text in enumerate(texts)]
        (place / f"{name}.csv").write_text("text,label\n" + "".join(rows), encoding="utf-8")
    spans = [
        {
            "words": ["ann", "sings", *"abcde"[: n % 6], f"s{n}"],
            "spans": [[0, 1], [1, 2]],
            "label": "xy"[n % 2],
        }
        for n in range(30)
    ]
    (place / "spans.jsonl").write_text("".join(json.dumps(row) + "\n" for row in spans), encoding="utf-8")
    write_tiny_dialogues(place / "dialogues")
    write_tiny_selection(place / "pools")
    write_tiny_propbank(place / "roles")
    write_tiny_encoder(place / "bert", positions=256)
    return place


def config_of(name, **others) -> TrainConfig:
    model, settings = RUNS[name]
    short = {"batch_size": 8, "max_epochs": 2 * settings.get("val_every", 1), "lr": 0.01}
    settings = {"parser": "chain", "root": "data", "accelerator": "cpu", **short, **settings, **others}
    return TrainConfig.of(**settings) if model is None else TrainConfig.of(model, **settings)


@pytest.mark.parametrize("name", RUNS)
def test_batches_are_the_same_from_workers_and_from_what_was_read_before(place, monkeypatch, name):
    """From raw files in one process, and from processed files with two workers."""
    monkeypatch.chdir(place)

    def batches(**others):
        config = config_of(name, **others)
        splits, found = load_splits(config), []
        for split in splits.datasets:
            loader = splits.loader(split, config, shuffle=split == "train")
            for epoch in range(2 if split == "train" else 1):
                order = loader.batch_sampler.sampler
                if hasattr(order, "set_epoch"):
                    order.set_epoch(epoch)
                found += [*loader]
        return found

    first = batches(
        root=f"fresh {name}" if RUNS[name][1]["task"] in ("csv", "spans") else RUNS[name][1]["root"]
    )
    again = batches(num_workers=2)
    assert len(first) == len(again) > 2
    for one, other in zip(first, again):
        assert_same_batch(one, other)


@pytest.mark.usefixtures("last_stays")
@pytest.mark.parametrize("name", RUNS)
def test_a_resumed_run_is_the_uninterrupted_one(place, tmp_path, monkeypatch, name):
    monkeypatch.chdir(place)
    config = config_of(name)
    splits = load_splits(config)
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    expected = train(config, whole, splits=splits, callbacks=[Keep(config.val_every, resumed)])
    found = train(config, resumed, splits=splits, resume=True)
    for key in ("metrics", "floor", "tables", "epochs", "best_epoch"):
        assert found.get(key) == expected.get(key), key
    assert (resumed / PREDICTIONS).read_bytes() == (whole / PREDICTIONS).read_bytes()
    for file in ("last.ckpt", BEST):
        mine, other = (read_checkpoint(folder / file)["state_dict"] for folder in (resumed, whole))
        assert mine.keys() == other.keys()
        assert all(torch.equal(mine[weight], other[weight]) for weight in mine), file
