"""What is damaged in a raw file is refused with file, line and value: a table of all readers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphdep import Sentence
from graphdep.datasets.dialogues import read_daily_dialog
from graphdep.datasets.labels.words import LabelledWords, bio_of
from graphdep.datasets.sentences import (
    MRPC_COLUMNS,
    SICK_COLUMNS,
    TRAIN,
    Paraphrase,
    read_dev_ids,
    read_mrpc,
    read_sick,
    read_sst,
)
from graphdep.datasets.spans.corpora import read_semeval2010
from graphdep.datasets.spans.rows import SpanExample


def read_acts(path):
    (path.parent / "dialogues_train.txt").write_text("A __eou__\nB __eou__\nC __eou__\n", encoding="utf-8")
    return read_daily_dialog(path.parent / "dialogues_train.txt", path)


def read_reviews(path):
    return read_sst(path, "sentence")


def read_ids(path):
    return read_dev_ids(path, [Paraphrase(1, (11, 12), ("A dog runs", "A dog ran"))])


SICK = "\t".join(SICK_COLUMNS) + "\n"
PAIR = "1\tA dog runs\tA cat runs\t3.5\tNEUTRAL\n"
MRPC = "\t".join(MRPC_COLUMNS) + "\n"
PARAPHRASE = "1\t11\t12\tA dog runs\tA dog ran\n"
TASK8 = '7\t"The <e1>dog</e1> bit the <e2>man</e2>."\nOther\nComment: none\n\n'
# Reader, name of the file, its content, and the message behind the name of the file.
DAMAGED = {
    read_sick: {
        "": "1: the file is empty",
        "\n": "1: no column 'pair_ID'",
        SICK: "1: no row below the header",
        PAIR: "1: no column 'pair_ID'; the columns are 1, A dog runs",
        SICK + PAIR + "2\tA dog\t3.5\tNEUTRAL\n": "3: 4 columns instead of 5 (got '2\\tA dog",
        SICK + PAIR + "\n" + PAIR: "3: a blank line",
        SICK + PAIR.replace("1", "x", 1): "2: 'pair_ID' must be a number (got 'x')",
        SICK + PAIR + PAIR: "3: the pair_ID is that of line 2 (got '1')",
        SICK + PAIR + "0" + PAIR: "3: the pair_ID is that of line 2",
        SICK + PAIR.replace("A dog runs", " "): "2: 'sentence_A' must be a text of 1 to 10000",
        SICK + PAIR.replace("A cat runs", "a " * 10_001): "2: 'sentence_B' must be a text of 1 to 10000",
        SICK + PAIR.replace("3.5", "3,5"): "2: 'relatedness_score' must be a number within 1",
        SICK + PAIR.replace("3.5", "0.9"): "2: 'relatedness_score' must be",
        SICK + PAIR.replace("3.5", "5.1"): "2: 'relatedness_score' must be",
        SICK + PAIR.replace("NEUTRAL", "NEUTR"): "2: 'entailment_judgment' must be one of",
        SICK + PAIR.replace("dog", "d\x07g"): "2: a control character (got '\\x07')",
    },
    read_mrpc: {
        PARAPHRASE: "1: no column 'Quality'; the columns are",
        MRPC + PARAPHRASE.replace("1", "2", 1): "2: 'Quality' must be one of 0, 1 (got '2')",
        MRPC + PARAPHRASE.replace("12", "-2"): "2: '#2 ID' must be a number (got '-2')",
        MRPC + PARAPHRASE.replace("A dog runs", " "): "2: '#1 String' must be a text of",
        MRPC + PARAPHRASE + PARAPHRASE: "3: the pair of IDs is that of line 2 (got '(11, 12)')",
        MRPC + PARAPHRASE.replace("dog", "d\x13g"): "2: a control character (got '\\x13')",
    },
    read_ids: {
        "11\t12\n11\t13\n": f"2: {TRAIN} has no such pair (got '11 13')",
        "11\t12\n11\t12\n": "2: the pair of IDs is that of line 1 (got '(11, 12)')",
        "#1 ID\t#2 ID\n": "1: '#1 ID' must be a number (got '#1 ID')",
        "11\n": "1: 1 columns instead of 2",
    },
    read_reviews: {
        "sentence\tlabel\nfine\t1\n": "1: 'label' must be one of 0, 1; the layout 'glue' has a header (got",
        "fine\t1\nfine\n": "2: 1 columns instead of 2 (got 'fine')",
        "fine\t1\nfine\t1\t1\n": "2: 3 columns instead of 2",
        "fine\t1\n \t1\n": "2: 'sentence' must be a text of",
    },
    read_acts: {
        "1\n1 x\n1\n": "2: 'labels' must be whole numbers (got '1 x')",
        "1\n1\n": "2: the last line, but dialogues_train.txt has 3 lines",
    },
    read_semeval2010: {
        TASK8.replace("\t", " "): "1: no number, tab and sentence in quotation marks",
        TASK8.replace("Other", "Others"): "2: 'label' must be one of the 19 labels (got 'Others')",
        TASK8.replace("Comment", "Remark"): "3: 'line behind a label' must be a comment or blank",
        TASK8 + TASK8: "5: the number is that of line 1 (got '7')",
        TASK8.replace("</e2>", ""): "1: not two spans:",
    },
}


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [(read, *row) for read, rows in DAMAGED.items() for row in rows.items()],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_damaged_files(tmp_path, read, content, message):
    path: Path = tmp_path / "raw.txt"
    path.write_text(content, encoding="utf-8", newline="")
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path}:{message}')}"):
        list(read(path))


@pytest.mark.parametrize("read", DAMAGED)
def test_what_is_not_utf8(tmp_path, read):
    path: Path = tmp_path / "raw.txt"
    path.write_bytes(b"a\xff\n")
    with pytest.raises(ValueError, match=r"raw\.txt:1: not UTF-8 at byte 1 \(got 'ff"):
        list(read(path))


@pytest.mark.parametrize(
    "spans",
    [
        [(0, 2, "X"), (1, 3, "Y")],
        [(0, 2, "X"), (0, 2, "X")],
        [(2, 2, "X")],
        [(-1, 1, "X")],
        [(2, 4, "X")],
        [(0, 1, "")],
    ],
)
def test_spans_that_labels_cannot_say(spans):
    with pytest.raises(ValueError, match=re.escape(f"none in two (got {spans[-1]})")):
        bio_of(spans, 3)


MAKERS = [
    lambda **options: SpanExample(spans=[(0, 1)], **options),
    lambda **options: LabelledWords(labels=["A", "B"], **options),
]


@pytest.mark.parametrize("make", MAKERS, ids=["spans", "labels"])
def test_a_tree_of_other_words(make):
    with pytest.raises(ValueError, match=r"^file:7: the tree has other words \(got 'a cat'\)"):
        make(words=["a", "dog"], tree=Sentence.chain(["a", "cat"]), place="file:7")
