from __future__ import annotations

import json
from collections import Counter

import pytest

from graphdep.datasets import csv_texts
from graphdep.datasets.labels.propbank import PropBankEWT
from graphdep.datasets.spans.base import OwnSpans
from graphdep.training import Splits, TrainConfig, load_splits
from tests.kit.tiny_corpora import write_tiny_propbank


def digest(splits: Splits, split: str) -> str:
    """Digest of a split's examples and classes."""
    return Splits({split: splits[split]}, splits.vocab, splits.relations).digest()


def roles(folder):
    return {"task": "propbank-ewt", "form": "spans", **write_tiny_propbank(folder)}


def spans(folder):
    """Files whose classes come in other orders."""
    for name, labels in (("train", "yxz"), ("val", "zy"), ("test", "xxz")):
        rows = [
            {"words": ["ann", "met", "bob"], "spans": [[0, 1], [2, 3]], "label": label} for label in labels
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = {name: str(folder / f"{name}.jsonl") for name in ("train", "val", "test")}
    return {"task": "spans", "parser": "chain", "root": str(folder), **files}


def texts(folder):
    for name, labels in (("train", "yxz"), ("val", "zy"), ("test", "xxz")):
        (folder / f"{name}.csv").write_text("text,label\n" + "".join(f"a film,{label}\n" for label in labels))
    files = {name: str(folder / f"{name}.csv") for name in ("train", "val", "test")}
    own = {"text_columns": "text", "label_column": "label", "parser": "chain", "root": str(folder)}
    return {"task": "csv", **own, **files}


@pytest.mark.parametrize(
    ("write", "reader", "name", "reads"),
    [
        (roles, PropBankEWT, "read", {"train": 1, "val": 1, "test": 1}),
        (spans, OwnSpans, "read", {"train": 1, "val": 1, "test": 1}),
        (texts, csv_texts, "_learn", {"label": 1}),
    ],
)
def test_classes_are_learned_once_for_all_splits(tmp_path, monkeypatch, write, reader, name, reads):
    config, original, calls = (
        TrainConfig.of("transformer", **write(tmp_path)),
        getattr(reader, name),
        Counter(),
    )

    def counted(*args):
        calls[args[-1]] += 1
        return original(*args)

    monkeypatch.setattr(reader, name, counted)
    splits = load_splits(config)
    assert calls == reads
    for split in ("val", "test"):  # each alone learns them from the training split itself
        alone = load_splits(config, (split,), splits.vocab, relations=splits.relations)
        assert digest(alone, split) == digest(splits, split)
        assert alone[split].labels == splits["train"].labels
