from __future__ import annotations

import csv
import inspect
import json
import logging
import re
from pathlib import Path

import pytest
import torch
from torch_geometric.loader import DataLoader

from graphdep.datasets import GLUE, CoLA
from graphdep.datasets.glue import CORPORA, MAX_BROKEN, NO_WORD, part_files, read_part
from tests.kit.tiny_corpora import write_tiny_glue

NAMES = [name for name in CORPORA if name != "ax"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> dict[str, str]:
    """Root with the official files of all corpora, and the parser that knows their trees."""
    return write_tiny_glue(tmp_path_factory.mktemp("glue"))


def write(folder: Path, name: str, lines: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_bytes("".join(line + "\n" for line in lines).encode("utf-8", errors="surrogateescape"))
    return path


def slow_rows(path: Path, name: str, header: list[str] | None = None) -> list[tuple]:
    """Texts and label of every row, read by the csv module."""
    corpus = CORPORA[name]
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, header, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [(tuple(row[text] for text in corpus.texts), row.get(corpus.label)) for row in rows]


def test_official_layouts(tiny):
    for name in NAMES:
        corpus = CORPORA[name]
        folder = Path(tiny["root"], "raw", corpus.folder)
        for part, size in (("train", 24), ("dev", 10), ("test", 12)):
            (path,) = part_files(folder, name, part)
            header = ["source", "label", "mark", "sentence"] if name == "cola" and part != "test" else None
            rows = read_part([path], name, part)
            assert len(rows) == size
            for row, (texts, label) in zip(rows, slow_rows(path, name, header), strict=True):
                assert row.texts == texts
                if part == "test":
                    assert row.label is None
                elif corpus.labels:
                    assert corpus.labels[row.label] == label
                else:
                    assert row.label == float(label)


def test_splits(tiny):
    for name in NAMES:
        sets = {split: GLUE(split=split, name=name, **tiny) for split in ("train", "val", "test")}
        assert [len(sets[split]) for split in ("train", "val", "test")] == [22, 2, 10]
        train = sets["train"]
        assert train.vocab == sets["test"].vocab
        assert train.num_classes == {"mnli": 3, "stsb": 1}.get(name, 2)
        assert train[0].y.dtype == (torch.float if name == "stsb" else torch.long)
        pair = len(CORPORA[name].texts) == 2
        assert train[0].segment.tolist() == ([0] * 4 + [1] * 4 if pair else [0] * 4)
        for data in train:
            data.validate()
        assert next(iter(DataLoader(train, batch_size=22))).y.shape == (22,)
        # The same files with the splits of papers.
        dev = {
            split: GLUE(split=split, name=name, val_from="dev", **tiny) for split in ("train", "val", "test")
        }
        assert [len(dev[split]) for split in ("train", "val", "test")] == [24, 10, 12]
        assert dev["val"].y.tolist() == sets["test"].y.tolist()
        assert sorted([*train.y.tolist(), *sets["val"].y.tolist()]) == sorted(dev["train"].y.tolist())
        assert "y" not in dev["test"][0]


def test_the_drawn_tenth_is_of_the_training_file_and_always_the_same(tiny, tmp_path, parser):
    folder = tmp_path / "raw_files"
    write(folder, "train.tsv", [f"x\t{i % 2}\t\tword{i}" for i in range(105)])
    write(folder, "dev.tsv", ["x\t1\t\tword"])
    options = {"name": "cola", "parser": parser, "raw_from": folder}
    rows = {
        split: GLUE(tmp_path / "a", split=split, **options).read(folder, split) for split in ("train", "val")
    }
    assert (len(rows["train"]), len(rows["val"])) == (95, 10)
    numbers = {split: [int(row.texts[0].removeprefix("word")) for row in rows[split]] for split in rows}
    assert sorted([*numbers["train"], *numbers["val"]]) == list(range(105))
    assert numbers["train"] == sorted(numbers["train"])
    # Fixed, since results on another dev set could not be compared.
    assert numbers["val"] == VAL_OF_105
    assert GLUE(tmp_path / "b", split="val", **options).read(folder, "val") == rows["val"]


VAL_OF_105 = [2, 10, 15, 27, 29, 51, 59, 72, 79, 96]


def test_mnli_has_two_test_sets(tiny):
    matched = Path(tiny["root"], "raw", "MNLI", "dev_matched.tsv")
    mismatched = matched.with_name("dev_mismatched.tsv")
    lines = matched.read_text(encoding="utf-8").splitlines()
    before = mismatched.read_bytes()
    mismatched.write_text("".join(line + "\n" for line in lines[:4]), encoding="utf-8")
    try:
        assert len(GLUE(split="test", name="mnli", **tiny)) == 10
        assert len(GLUE(split="test-mismatched", name="mnli", **tiny)) == 3
    finally:
        mismatched.write_bytes(before)
    unlabelled = GLUE(split="test-mismatched", name="mnli", val_from="dev", **tiny)
    assert len(unlabelled) == 12
    assert "y" not in unlabelled[0]
    with pytest.raises(
        ValueError, match=r"'split' must be one of train, val, test \(got 'test-mismatched'\)"
    ):
        GLUE(split="test-mismatched", name="rte", **tiny)


def test_ax_has_only_a_test_set(tiny):
    vocab = GLUE(name="mnli", **tiny).vocab
    for val_from in ("train", "dev"):
        ax = GLUE(split="test", name="ax", val_from=val_from, vocab=vocab, **tiny)
        assert len(ax) == 12
        assert "y" not in ax[0]
        assert ax.labels == ("entailment", "neutral", "contradiction")
    with pytest.raises(ValueError, match=r"'split' must be one of test \(got 'train'\)"):
        GLUE(split="train", name="ax", vocab=vocab, **tiny)
    with pytest.raises(ValueError, match="'ax' has no training split .*: give 'vocab' or 'tokens'"):
        GLUE(split="test", name="ax", **tiny)
    with pytest.raises(ValueError, match="'relations'"):
        GLUE(split="test", name="ax", vocab=vocab, arcs="enhanced", **tiny)


def test_sst2_keeps_the_words_of_the_corpus(tmp_path, parser):
    folder = tmp_path / "SST-2"
    rows = [f'it is " not " one | two n\'t fine . {i} \t{i % 2}' for i in range(10)]
    for name in ("train.tsv", "dev.tsv"):
        write(folder, name, ["sentence\tlabel", *rows])
    train = GLUE(tmp_path / "glue", name="sst2", parser=parser, raw_from=tmp_path)
    assert train[0].num_nodes == 13
    assert parser.texts == []
    assert (tmp_path / "glue" / "raw" / "SST-2" / "train.tsv").is_file()


def test_cola_from_its_own_download(tmp_path, parser):
    folder = tmp_path / "raw_files"
    write(folder, "in_domain_train.tsv", [f'gj04\t{i % 2}\t*\tA "dog\x08 number{i}' for i in range(20)])
    write(folder, "in_domain_dev.tsv", ["gj04\t1\t\tA dog ran."])
    message = r"dev\.tsv \(or in_domain_dev\.tsv with out_of_domain_dev\.tsv, or sample10k-dev\.json\)"
    with pytest.raises(FileNotFoundError, match=message):
        GLUE(tmp_path / "glue", "cola", "test", parser=parser, raw_from=folder)
    write(folder, "out_of_domain_dev.tsv", ["clc95\t0\t*\tDog a ran.", "clc95\t1\t\tDogs ran."])
    test = GLUE(tmp_path / "glue", "cola", "test", parser=parser, raw_from=folder)
    assert test.y.tolist() == [1, 0, 1]
    assert test.raw_file_names[:1] == ["in_domain_dev.tsv"]
    assert '"dog' in test.vocab
    assert not any("\x08" in text for text in parser.texts)


def test_cola_as_its_zip_is_unpacked(tmp_path, parser):
    (tmp_path / "cola_public").mkdir()
    for place, word in {"raw": "word", "tokenized": "token"}.items():
        lines = [f"x\t1\t\t{word}{i}" for i in range(10)]
        write(tmp_path / "cola_public" / place, "in_domain_train.tsv", lines)
    for number, folder in enumerate(("cola_public", "cola_public/raw")):
        train = CoLA(tmp_path / str(number), parser=parser, raw_from=tmp_path / folder)
        assert len(train) == 9
        assert "word0" in train.vocab
    # Files of the folder itself come first; other corpora do not look in raw.
    write(tmp_path / "cola_public", "train.tsv", [f"x\t1\t\tother{i}" for i in range(10)])
    assert "other0" in CoLA(tmp_path / "own", parser=parser, raw_from=tmp_path / "cola_public").vocab
    write(tmp_path / "raw", "train.tsv", ["sentence\tlabel"])
    with pytest.raises(FileNotFoundError):
        GLUE(tmp_path / "sst2", "sst2", parser=parser, raw_from=tmp_path)


def test_cola_is_glue_with_that_name(tiny):
    cola, glue = CoLA(split="test", **tiny), GLUE(tiny["root"], "cola", "test", tiny["parser"])
    assert (repr(cola), repr(glue)) == ("CoLA(10)", "GLUE('cola', 10)")
    assert cola.describe() == glue.describe()
    assert all(torch.equal(a.input_ids, b.input_ids) for a, b in zip(cola, glue, strict=True))
    assert len(CoLA(tiny["root"], "test", tiny["parser"], val_from="dev")) == 12
    own, parameters = (dict(inspect.signature(kind).parameters) for kind in (CoLA, GLUE))
    assert own.pop("root").default == "datasets/glue"
    parameters = {key: value for key, value in parameters.items() if key not in ("root", "name")}
    assert list(own.values()) == list(parameters.values())


def test_limit_is_spread_over_the_split(tmp_path, parser):
    # Sorted by source, as CoLA's files.
    write(tmp_path, "train.tsv", [f"s{i // 30}\t{i % 2}\t\tsource{i // 30} word{i}" for i in range(300)])
    options = {"parser": parser, "raw_from": tmp_path, "lower": False}
    train = CoLA(tmp_path / "glue", limit=90, **options)
    assert len(train) == 90
    counts = [(train.input_ids == train.vocab[f"source{number}"]).sum() for number in range(10)]
    assert sum(counts) == 90
    assert min(counts) >= 6
    assert 20 < train.y.sum() < 70  # labels alternate: rows at even distances would have one label only
    assert len(CoLA(tmp_path / "glue", limit=999, **options)) == 270


def test_mrpc_from_its_own_download(tmp_path, parser):
    folder, head = tmp_path / "MRPC", "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
    rows = [f'{i % 2}\t{2 * i}\t{2 * i + 1}\tDog {i} ran\t"Dog {i} runs' for i in range(24)]
    write(folder, "msr_paraphrase_train.txt", [head, *rows[:20]])
    write(folder, "msr_paraphrase_test.txt", [head, *rows[20:]])
    write(folder, "mrpc_dev_ids.tsv", ["6\t7", "10\t11", "16\t17"])
    options = {"name": "mrpc", "parser": parser, "raw_from": tmp_path}
    assert GLUE(tmp_path / "glue", split="test", **options).y.tolist() == [1, 1, 0]
    assert len(GLUE(tmp_path / "glue", split="train", **options)) == 16
    test = GLUE(tmp_path / "glue", split="test", val_from="dev", **options)
    assert len(test) == 4
    assert "y" not in test[0]


def test_samples(tmp_path, parser):
    for name, labels in [("qnli", ("entailment", "not_entailment")), ("qqp", ("0", "1"))]:
        entries = {
            str(i): {"text_a": f"Dog\n{i}", "text_b": "ran", "label": labels[i % 2]} for i in range(20)
        }
        for part, last in (("train", 20), ("dev", 3)):
            path = tmp_path / f"sample10k-{part}.json"
            path.write_text(json.dumps(dict(list(entries.items())[:last])), encoding="utf-8")
        test = GLUE(tmp_path / "glue", name, "test", parser=parser, raw_from=tmp_path)
        assert test.y.tolist() == [0, 1, 0]
        assert "Dog 0" in parser.texts
        # Official files are read instead, and beside them the sample is refused.
        corpus = CORPORA[name]
        line = "\t".join(["Dog"] * len(corpus.texts) + [labels[1]])
        header = "\t".join((*corpus.texts, corpus.label))
        official = tmp_path / "official"
        write(official, "dev.tsv", [header, line, line])
        again = GLUE(tmp_path / "glue", name, "test", parser=parser, raw_from=official)
        assert again.y.tolist() == [1, 1]
        (tmp_path / "sample10k-dev.json").write_text(json.dumps({"0": entries["0"]}), encoding="utf-8")
        with pytest.raises(ValueError, match=r"sample10k-dev\.json would not be read beside .*dev\.tsv"):
            GLUE(tmp_path / "glue", name, "test", parser=parser, raw_from=tmp_path)


QQP = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate"


def test_qqp_has_empty_questions_and_broken_lines(tmp_path, parser, caplog):
    rows = [f"{i}\t1\t2\tWhy {i} ?\tWhy ?\t{i % 2}" for i in range(10)]
    rows[3] = "3\t1\t2\tWhy 3 ?\t\t0"
    write(tmp_path, "dev.tsv", [QQP, *rows])
    write(tmp_path, "train.tsv", [QQP, *rows, '11\t1\t2\t"Was he', "Was it real?\t0", *rows[:1]])
    with caplog.at_level(logging.WARNING, "graphdep"):
        train = GLUE(tmp_path / "glue", "qqp", "train", parser, val_from="dev", raw_from=tmp_path)
    assert len(train) == 11
    assert "train.tsv: 2 lines do not have 6 columns and are left out" in caplog.text
    assert caplog.text.rstrip().endswith("12, 13")
    empty = train[3]
    assert (empty.utterance == 1).sum() == 2  # ROOT and one word
    assert empty.input_ids[-1] == train.vocab[NO_WORD]
    assert "" not in parser.texts
    batch = next(iter(DataLoader(train[[3, 4]], batch_size=2)))
    assert batch.y.tolist() == [0, 0]


QQP_TEST = ["id\tquestion1\tquestion2", "0\tWhy?\tWhy so?", "1\tHow?\t", "2\tWho?\tWho so?"]
INDEXED = ["index\tsentence1\tsentence2", "0\ta\tb", "1\ta\tb", "2\ta\tb"]


def test_rows_of_a_test_file_are_numbered(tmp_path):
    for name, lines, message in [
        ("qqp", [*QQP_TEST[:2], '1\t"How?', *QQP_TEST[3:]], r":3: 2 columns instead of 3 \(got"),
        ("qqp", [*QQP_TEST[:2], *QQP_TEST[3:]], r":3: id must be 1 \(got '2'\)"),
        ("qqp", ["question1\tquestion2", "Why?\tHow?"], ":1: no column 'id'"),
        ("rte", [INDEXED[0], *INDEXED[2:]], r":2: index must be 0 \(got '1'\)"),
        ("rte", [*INDEXED[:2], INDEXED[1]], r":3: index must be 1 \(got '0'\)"),
        ("rte", [INDEXED[0], INDEXED[1].replace("0", "00")], r":2: index must be 0 \(got '00'\)"),
        ("rte", [line.partition("\t")[2] for line in INDEXED], ":1: no column 'index'"),
        ("ax", [*INDEXED[:2], *INDEXED[3:]], r":3: index must be 1 \(got '2'\)"),
    ]:
        whole = write(tmp_path, "whole.tsv", QQP_TEST if name == "qqp" else INDEXED)
        assert [row.label for row in read_part([whole], name, "test")] == [None] * 3
        path = write(tmp_path, "test.tsv", lines)
        with pytest.raises(ValueError, match=re.escape(str(path)) + message):
            read_part([path], name, "test")


def test_qqp_with_too_many_broken_lines(tmp_path):
    row = "0\t1\t2\tWhy?\tWhy so?\t1"
    path = write(tmp_path, "train.tsv", [QQP, row, *["x"] * (MAX_BROKEN + 1)])
    with pytest.raises(ValueError, match=r":103: 1 columns instead of 6, as on 100 lines before"):
        read_part([path], "qqp", "train")


def test_too_small_a_training_file_has_no_tenth(tmp_path, parser):
    write(tmp_path, "train.tsv", ["x\t1\t\tA dog ran."] * 9)
    with pytest.raises(ValueError, match=r"the split 'val' has no examples in .*train\.tsv"):
        GLUE(tmp_path / "glue", "cola", "val", parser=parser, raw_from=tmp_path)
