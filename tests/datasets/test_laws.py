"""Laws of all corpora."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import InMemoryDataset
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
    DailyDialogSelection,
    Douban,
    ECommerce,
    EmpatheticDialogues,
    OwnLabels,
    OwnSpans,
    Probes,
    PropBankEWT,
    SemEval2010Task8,
    SemEval2014Aspects,
    Ubuntu,
    UbuntuIRC,
    UDTags,
    UDTreebank,
    UniversalPropBank,
)
from tests.kit.tiny_corpora import (
    Unasked,
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


@pytest.mark.parametrize(
    ("dataset", "name", "head", "rows", "bad", "message"),
    [
        (CSVTexts, "csv", "text,label\n", "a b,x\nc d,y\n", "e f,\n", "'label' must be the name of a class"),
        (OwnSpans, "csv", "text,label\n", "<e1>a</e1> b,x\nc <e1>d</e1>,y\n", "e f,x\n", "no tag <e1>"),
        (OwnLabels, "conll", "", "a X\nb Y\n\nc Y\n\n", "e f X\n", "3 columns"),
    ],
)
@pytest.mark.parametrize("split", ["val", "test"])
@pytest.mark.parametrize("faulty", [None, "train"])
def test_errors_in_other_files_come_before_parsing(
    tmp_path, dataset, name, head, rows, bad, message, split, faulty
):
    files = {part: tmp_path / f"{part}.{name}" for part in ("train", "val", "test")}
    for part, path in files.items():
        path.write_text(head + rows + (bad if part in (split, faulty) else ""))
    options = {"text_columns": "text", "label_column": "label"} if dataset is CSVTexts else {}
    places = [rf"{part}\.{name}:\d+: {message}" for part in (faulty, split) if part]
    with pytest.raises(ValueError, match=".*; .*".join(places)):
        dataset(tmp_path / "root", "train", Unasked(), **files, **options)


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


def agreement(folder):
    for path in (MINI / "agreement" / "raw").iterdir():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / path.name).write_text("".join(lines[:40]), encoding="utf-8")
    return {"raw_from": folder, "limit": 6}


def cogs(folder):
    for name in ("varfree-train", "varfree-gen"):  # a tenth is for validation
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
    "Agreement": (Agreement, agreement),
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

    # A batch has the same examples; a slice has its part of them.
    (batch,) = DataLoader(first, batch_size=len(first), follow_batch=first.follow_batch)
    for data, one in zip(batch.to_data_list(), first, strict=True):
        one.validate()
        assert all(torch.equal(torch.as_tensor(data[key]), torch.as_tensor(one[key])) for key, _ in one)
    assert len(first[1:]) == len(first) - 1

    # It can be pickled, as for workers.
    assert digest(pickle.loads(pickle.dumps(first))) == whole
    assert first.describe() == about

    # Another split has other examples.
    assert digest(load("val")) != whole

    # Processed files are made again only with force_reload or if they are damaged.
    with monkeypatch.context() as patch:
        patch.setattr(type(first), "read", lambda *_: pytest.fail("raw files are read again"))
        assert digest(load()) == whole
        assert load().describe() == about
    before = {path: path.stat().st_ino for path in (tmp_path / "root" / "processed").iterdir()}
    for number, path in enumerate(before):
        os.link(path, tmp_path / f"keeps-the-inode-{number}")
    assert digest(load(force_reload=True)) == whole
    assert any(path.stat().st_ino != number for path, number in before.items())
    for path in (tmp_path / "root" / "processed").iterdir():
        path.write_bytes(path.read_bytes()[:1000])
    assert digest(load()) == whole
    assert load().describe() == about

    # Errors of raw files that are not UTF-8 have file and line.
    files = [path for path in (tmp_path / "root" / "raw").rglob("*") if path.is_file()]
    for path in files:
        path.write_bytes(path.read_bytes() + b"\xff\n")
    if files:  # else the user's files, or none
        with pytest.raises(ValueError, match=rf"{files[0].parent}.*:\d+: "):
            load(raw_from=None)


# Corpora without their files, and what the message names.
MISSING = [
    (SICK, {}, "SICK_train.txt|SICK_trial.txt|SICK_test_annotated.txt|semeval2014|raw_from=|--raw-from"),
    (SST, {}, "train.tsv is not in|SST-2 consists of|SST-2.zip|raw_from"),
    (MRPC, {}, "msr_paraphrase_train.txt is not in|mrpc_dev_ids.tsv"),
    (GLUE, {"name": "stsb"}, "train.tsv is not in|raw/STS-B|STS-B.zip|raw_from|sample10k-train.json|dev.tsv"),
    (UDTreebank, {}, "*-ud-train*.conllu is not in"),
    (UDTags, {"split": "val"}, "*-ud-train*.conllu|the labels are learned from it unless"),
    (DailyDialog, {}, "dialogues_train.txt is not in|yanran.li/dailydialog|raw_from"),
    (EmpatheticDialogues, {}, "train.csv is not in|ed-published|empatheticdialogues.tar"),
    (EmpatheticDialogues, {"layout": "by-emotion"}, "split_ids_train.txt with afraid.csv ... trusting.csv"),
    (Ubuntu, {}, "train.txt is not in|ubuntu-v1|Ubuntu consists of|valid.txt or dev.txt|dropbox|raw_from"),
    (UbuntuIRC, {}, "train/*.ascii.txt and *.annotation.txt is not in|irc-disentanglement"),
    (Douban, {}, "train.txt or | is not in |github.com|raw_from"),
    (ECommerce, {}, "train.txt or | is not in |github.com|raw_from"),
    (COGS, {"form": "original"}, "train.tsv is not in"),
    (SemEval2010Task8, {}, "TRAIN_FILE.TXT is not in"),
]


@pytest.mark.parametrize("corpus", dict.fromkeys(row[0] for row in MISSING))
def test_missing_files_are_named_with_their_source(tmp_path, corpus):
    for _, options, named in [row for row in MISSING if row[0] is corpus]:
        with pytest.raises(FileNotFoundError) as error:
            corpus(tmp_path, **options, **({} if corpus is UDTreebank else CHAIN))
        parts = [
            part for whole in named.split("|") for part in ([whole] if " is" in whole else whole.split(" "))
        ]
        assert not [part for part in parts if part not in str(error.value)], str(error.value)


OVERLAP = [({"overlap": "report"}, "'overlap' must be one of keep, drop (got 'report')"),
           ({"overlap": "drop"}, "overlap='drop' is for val and test")]  # fmt: skip
WRONG = {
    SICK: [
        ({"split": "trial"}, "'split' must be one of train, val, test (got 'trial')"),
        ({"task": "similarity"}, "'task' must be one of relatedness, entailment (got 'similarity')"),
        ({"limit": 0}, "'limit' must be at least 1 (got 0)"),
        ({"arcs": "deep"}, "'arcs' must be one of basic, enhanced"),
    ],
    SST: [({"layout": "phrases"}, "'layout' must be one of sentence, glue, trees (got 'phrases')")],
    MRPC: [({"layout": "sentence"}, "'layout' must be one of msrp, glue (got 'sentence')")],
    GLUE: [
        ({"name": "train", "split": "stsb"}, "'name' must be one of cola"),
        ({"name": "wnli"}, "no name 'wnli' (did you mean 'qnli'?)"),
        ({"name": "cola", "val_from": "test"}, "'val_from' must be one of train, dev (got 'test')"),
    ],
    UDTreebank: [
        ({"arcs": "gold"}, "'arcs' must be one of basic, enhanced (got 'gold')"),
        ({"split": "dev"}, "'split' must be one of train, val, test (got 'dev')"),
    ],
    DailyDialog: [
        ({"max_turns": 0}, "'max_turns' must be at least 1 (got 0)"),
        ({"max_words": 0}, "'max_words' must be at least 1 (got 0)"),
        ({"roots": "last"}, "'roots' must be one of first, all (got 'last')"),
        *OVERLAP,
    ],
    EmpatheticDialogues: [({"layout": "csv"}, "'layout' must be one of published, by-emotion (got 'csv')")],
    DailyDialogSelection: OVERLAP,
    Ubuntu: [
        ({"layout": "v3"}, "'layout' must be one of v1, v2 (got 'v3')"),
        ({"pool_size": 0}, "'pool_size' must be at least 1 (got 0)"),
        ({"max_length": 3}, "'max_length' must be at least 4 (got 3)"),
        ({"cache_size": -1}, "'cache_size' must be at least 0 (got -1)"),
    ],
    UbuntuIRC: [
        ({"negatives_from": "x"}, "'negatives_from' must be one of log, split (got 'x')"),
        ({"negatives": 0}, "'negatives' must be at least 1 (got 0)"),
    ],
    Agreement: [
        ({"name": "tenses"}, "'name' must be one of tense, question (got 'tenses')"),
        ({"verbs": "first"}, "'verbs' must be one of all, main (got 'first')"),
        ({"train_from": "dev"}, "'train_from' must be one of train, test (got 'dev')"),
        ({"name": "question", "verbs": "main"}, "'verbs' must be 'all' where 'name' is 'question'"),
    ],
    COGS: [
        ({"form": "free"}, "'form' must be one of variable-free, original (got 'free')"),
        ({"nominals": "none"}, "'nominals' must be one of modified, all (got 'none')"),
        ({"parser": "gold"}, "'parser' cannot be 'gold': COGS has no gold trees"),
    ],
    PropBankEWT: [
        ({"form": "bio"}, "'form' must be one of heads, spans (got 'bio')"),
        ({"ud_from": "ud"}, "'ud_from' needs 'raw_from', the folder of skeletons (got 'ud')"),
    ],
    UniversalPropBank: [
        ({"train_from": "test"}, "'train_from' must be one of train, dev (got 'test')"),
        ({"val_fraction": 0}, "'val_fraction' must be between 0 and 1 (got 0)"),
        ({"val_fraction": 1.0}, "'val_fraction' must be between 0 and 1 (got 1.0)"),
        ({"seed": None}, "'seed' must be a whole number (got None)"),
    ],
    CoNLL04: [({"negatives": value}, "'negatives' must be at least 0") for value in (-1, float("nan"))],
    SemEval2010Task8: [
        ({"split": "val", "val_fraction": 1}, "'val_fraction' must be between 0 and 1 (got 1)"),
        ({"parser": "gold"}, "'parser' cannot be 'gold'"),
    ],
    SemEval2014Aspects: [
        ({"domain": "cars"}, "'domain' must be one of restaurants, laptops (got 'cars')"),
        ({"polarities": 2}, "'polarities' must be one of 3, 4 (got 2)"),
    ],
    Probes: [
        ({"function": "tense"}, "'function' must be one of governor, "),
        ({"function": ["depth"]}, "(got ['depth'])"),
        ({"sentences": 0}, "'sentences' must be at least 1 (got 0)"),
        ({"sentences": 10**20}, "'sentences' must be at most 10000000 (got 1000"),
        ({"sentences": True}, "'sentences' must be a whole number"),
        ({"seed": -1}, "'seed' must be at least 0 (got -1)"),
        ({"min_words": 0}, "'min_words' must be a whole number of at least 1 (got 0)"),
        ({"min_words": 9, "max_words": 8}, "'max_words' must be a whole number of at least 9 (got 8)"),
        ({"num_words": 1}, "'num_words' must be a whole number of at least 2 (got 1)"),
        ({"constituents": True}, "'constituents' need projective=True"),
        ({"raw_from": "here"}, "'raw_from' is for corpora with files"),
        ({"split": "dev"}, "'split' must be one of train, val, test"),
    ],
}


@pytest.mark.parametrize("corpus", WRONG)
def test_wrong_options_are_refused_before_anything_is_read(tmp_path, corpus):
    for options, message in WRONG[corpus]:
        with pytest.raises(ValueError, match=re.escape(message)):
            corpus(tmp_path, **options)
        assert not [*tmp_path.rglob("*.pt"), *tmp_path.rglob("*-*.sqlite")]


class Odd:
    def __call__(self, data) -> bool:
        return data.num_nodes % 2 == 1


def test_examples_have_digests_with_any_options(load):
    first = load()
    digests = first.example_digests()
    assert len(digests) == len(first)
    assert all(re.fullmatch("[0-9a-f]{12}", digest) for digest in digests)
    assert load().example_digests() == digests
    assert load(min_freq=2, lower=False, relations="ud").example_digests() == digests
    assert first[1:].example_digests() == digests[1:]
    some = first.index_select([1, 0])
    assert some.example_digests() == [digests[1], digests[0]]
    if isinstance(first, InMemoryDataset):
        assert some.copy().example_digests() == first.copy([1, 0]).example_digests() == some.example_digests()
        kept = [digest for data, digest in zip(first, digests) if Odd()(data)]
        if kept:
            assert load(pre_filter=Odd()).example_digests() == kept


@pytest.mark.parametrize("name", [name for name, (_, make) in MAKE.items() if name != "Probes"])
def test_other_parsers_change_no_digest(name, tmp_path):
    """Even if the parser splits words differently."""
    corpus, options = MAKE[name]
    (tmp_path / "files").mkdir()
    made = {**options(tmp_path / "files"), "log": False}
    if made.get("parser") != "chain":
        pytest.skip("the corpus has trees")
    chain, parsed = (corpus(tmp_path / "root", **{**made, "parser": name}) for name in ("chain", "bundled"))
    assert chain.example_digests() == parsed.example_digests()


words = st.text("ab'.", min_size=1, max_size=3)
cells = st.lists(
    st.tuples(st.lists(words, min_size=1, max_size=4), st.sampled_from("xy")), min_size=2, max_size=6
)


@settings(max_examples=25, deadline=None)
@given(cells, st.data())
def test_another_text_or_label_is_another_digest(rows, data):
    """Digests are equal if and only if texts and labels are."""
    number = data.draw(st.integers(0, len(rows) - 1))
    others = [*rows[:number], data.draw(cells)[0], *rows[number + 1 :]]
    with TemporaryDirectory() as folder:
        found = [own_digests(Path(folder), place, made) for place, made in enumerate((rows, others))]
    assert [one == two for one, two in zip(*found)] == [one == two for one, two in zip(rows, others)]


def own_digests(folder: Path, place: int, rows) -> list[str]:
    path = folder / f"{place}.jsonl"
    path.write_text("".join(json.dumps({"text": " ".join(text), "label": y}) + "\n" for text, y in rows))
    columns = {"text_columns": ["text"], "label_column": "label", "labels": ["x", "y"]}
    return CSVTexts(
        folder / "root", "test", "chain", train=path, test=path, log=False, **columns
    ).example_digests()


@pytest.mark.parametrize(
    "change",
    [{}, {"words": ["a", "d", "c"]}, {"labels": ["x", "y", "y"]}, {"mark": 2}, {"words": ["ab", "b", "c"]}],
)
def test_words_labels_and_marks_are_in_a_digest(tmp_path, change):
    usual = {"words": ["a", "b", "c"], "labels": ["x", "y", "x"], "mark": 1}
    found = []
    for number, row in enumerate((usual, usual | change)):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(f"{json.dumps(usual)}\n{json.dumps(row)}\n")
        given = {"train": path, "val": path, "test": path, "labels": ["x", "y"]}
        found.append(OwnLabels(tmp_path / "root", "test", "chain", log=False, **given).example_digests())
    assert found[0][0] == found[0][1] == found[1][0]
    assert (found[1][1] == found[0][1]) == (not change)
