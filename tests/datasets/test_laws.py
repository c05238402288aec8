"""What every corpus does, whatever it has."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path

import pytest
import torch
from torch_geometric.loader import DataLoader

from graphdep.datasets import (
    COGS,
    GLUE,
    MRPC,
    SICK,
    SST,
    Agreement,
    CoNLL04,
    CSVTexts,
    DailyDialog,
    OwnLabels,
    OwnSpans,
    Probes,
    PropBankEWT,
    SemEval2010Task8,
    SemEval2014Aspects,
    Ubuntu,
    UDTags,
    UDTreebank,
    UniversalPropBank,
)
from tests.kit.tiny_corpora import (
    tiny_span_rows,
    write_span_rows,
    write_tiny_aspects,
    write_tiny_conll04,
    write_tiny_glue,
    write_tiny_propbank,
    write_tiny_semeval2010,
    write_tiny_up,
)

MINI = Path(__file__).parents[2] / "datasets" / "mini"
CHAIN = {"parser": "chain"}
ROWS = [
    (f"A {who} saw Mila .", f"see ( agent = {who} , theme = Mila )", "in_distribution")
    for who in ("cook", "boy", "girl")
]


def mini(name: str = "raw", **options):
    return lambda folder: {"raw_from": MINI / name, "limit": 6, **options}


def tiny(write, **options):
    def make(folder):
        return {"raw_from": Path(write(folder / "tiny")["root"], "raw"), "limit": 6, **options}

    return make


def own_texts(folder):
    path = folder / "texts.csv"
    path.write_text("text,label\n" + "".join(f"word{i} of mine,{'ab'[i % 2]}\n" for i in range(12)))
    return {"train": path, "text_columns": ["text"], "label_column": "label", **CHAIN}


def own_labels(folder):
    path = folder / "words.jsonl"
    rows = [{"words": ["a", f"word{i}"], "labels": ["x", "yz"[i % 2]]} for i in range(12)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return {"train": path, **CHAIN}


def own_spans(folder):
    return {"train": write_span_rows(folder / "spans.jsonl", tiny_span_rows()), **CHAIN}


def cogs(folder):
    for name in ("varfree-train", "varfree-gen"):  # every tenth is for validation
        (folder / f"{name}.tsv").write_text("".join("\t".join(row) + "\n" for row in ROWS * 11))
    return {"raw_from": folder, **CHAIN}


MAKE = {
    "SICK": (SICK, mini(**CHAIN)),
    "SST": (SST, mini("raw/sst-sentence", **CHAIN)),
    "MRPC": (MRPC, mini(**CHAIN)),
    "GLUE": (GLUE, tiny(write_tiny_glue, name="rte", **CHAIN)),
    "UDTreebank": (UDTreebank, mini("ud/raw")),
    "UDTags": (UDTags, mini("ud/raw", key="upos")),
    "DailyDialog": (DailyDialog, mini(**CHAIN)),
    "Ubuntu": (Ubuntu, mini("raw/ubuntu-v1", **CHAIN)),
    "Agreement": (Agreement, mini("agreement/raw")),
    "PropBankEWT": (PropBankEWT, tiny(write_tiny_propbank)),
    "UniversalPropBank": (UniversalPropBank, tiny(write_tiny_up)),
    "SemEval2010Task8": (SemEval2010Task8, tiny(write_tiny_semeval2010, **CHAIN)),
    "CoNLL04": (CoNLL04, tiny(write_tiny_conll04, **CHAIN)),
    "SemEval2014Aspects": (SemEval2014Aspects, tiny(write_tiny_aspects, **CHAIN)),
    "COGS": (COGS, cogs),
    "Probes": (Probes, lambda folder: {"sentences": 40}),
    "CSVTexts": (CSVTexts, own_texts),
    "OwnLabels": (OwnLabels, own_labels),
    "OwnSpans": (OwnSpans, own_spans),
}


def digest(dataset) -> str:
    sha = hashlib.sha256()
    dataset.update_digest(sha)
    return sha.hexdigest()


@pytest.fixture(params=MAKE)
def load(request, tmp_path):
    corpus, options = MAKE[request.param]
    (tmp_path / "files").mkdir()
    made = options(tmp_path / "files")
    return lambda split="train", **more: corpus(tmp_path / "root", split=split, log=False, **{**made, **more})


def test_a_corpus(load, tmp_path, monkeypatch):
    first = load()
    assert len(first) > 1
    whole = digest(first)
    about = first.describe()
    assert json.loads(json.dumps(about)) == about
    assert about["split"] == "train"

    # Batches are single examples, and so are slices.
    (batch,) = DataLoader(first, batch_size=len(first), follow_batch=first.follow_batch)
    for data, one in zip(batch.to_data_list(), first, strict=True):
        one.validate()
        assert all(torch.equal(torch.as_tensor(data[key]), torch.as_tensor(one[key])) for key, _ in one)
    assert len(first[1:]) == len(first) - 1

    # It travels to workers.
    assert digest(pickle.loads(pickle.dumps(first))) == whole
    assert first.describe() == about

    # Another split has other examples.
    assert digest(load("val")) != whole

    # What is processed once is neither parsed nor processed again, unless that is asked for or it is damaged.
    with monkeypatch.context() as patch:
        patch.setattr(type(first), "read", lambda *_: pytest.fail("raw files are read again"))
        assert digest(load()) == whole
        assert load().describe() == about
    assert digest(load(force_reload=True)) == whole
    for path in (tmp_path / "root" / "processed").iterdir():
        path.write_bytes(path.read_bytes()[:1000])
    assert digest(load()) == whole
    assert load().describe() == about


def test_raw_files_that_are_no_text(load, tmp_path):
    files = [path for path in (tmp_path / "root" / "raw").rglob("*") if path.is_file()] if load() else []
    if not files:
        pytest.skip("its files are the user's, or there are none")
    for path in files:
        path.write_bytes(path.read_bytes() + b"\xff\n")
    with pytest.raises(ValueError, match=rf"{files[0].parent}.*:\d+: "):
        load(raw_from=None)
