"""A few sentences in the official layouts of GLUE, with known trees."""

from __future__ import annotations

import os
from pathlib import Path

from graphdep.datasets.sentences.glue_files import CORPORA, GLUECorpus
from graphdep.io import write_conllu
from graphdep.sentence import Sentence

_NAMES = ("ann", "bob", "cid", "dan")
_SIZES = {"train": 24, "dev": 10, "test": 12}
_COLUMNS = {
    "cola": ("source", "label", "mark", "sentence"),
    "sst2": ("sentence", "label"),
    "mrpc": ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"),
    "stsb": ("index", "genre", "filename", "year", "source1", "sentence1", "sentence2", "score"),
    "qqp": ("id", "qid1", "qid2", "question1", "question2", "is_duplicate"),
    "mnli": ("index", "pairID", "genre", "sentence1_parse", "sentence1", "sentence2", "label1", "gold_label"),
    "qnli": ("index", "question", "sentence", "label"),
    "rte": ("index", "sentence1", "sentence2", "label"),
    "ax": ("index", "sentence1", "sentence2"),
}
_NOT_IN_TEST = {"source", "label", "mark", "Quality", "score", "qid1", "qid2", "is_duplicate", "label1"}
_NOT_IN_TEST |= {"gold_label"}


def write_tiny_glue(root: str | os.PathLike[str]) -> dict[str, str]:
    """Writes all corpora of GLUE, 24 rows of train, 10 of dev and 12 of test, and the trees below ``root``;
    returns the settings that load them.
    """
    root = Path(root)
    trees: dict[str, Sentence] = {}
    for name, corpus in CORPORA.items():
        folder = root / "raw" / corpus.folder
        folder.mkdir(parents=True, exist_ok=True)
        for kind, size in _SIZES.items():
            rows = [_row(corpus, number) for number in range(size)]
            texts = [row[column] for row in rows for column in corpus.texts]
            trees |= {text: Sentence(text.split(), [2, 0, 2], ["nsubj", "root", "obj"]) for text in texts}
            for file in _files(name, kind):
                (folder / file).write_text(_table(name, kind, rows), encoding="utf-8")
    write_conllu(trees.values(), root / "trees.conllu")
    return {"root": str(root), "parser": f"conllu:{root / 'trees.conllu'}"}


def _files(name: str, kind: str) -> list[str]:
    if name == "ax":
        return ["diagnostic.tsv"] if kind == "test" else []
    genres = ("_matched", "_mismatched") if name == "mnli" and kind != "train" else ("",)
    return [f"{kind}{genre}.tsv" for genre in genres]


def _table(name: str, kind: str, rows: list[dict[str, str]]) -> str:
    columns = list(_COLUMNS[name])
    if kind == "test":
        columns = [column for column in columns if column not in _NOT_IN_TEST]
        columns = columns if columns[0] in ("index", "id") else ["index", *columns]
    lines = [[row.get(column, "-") for column in columns] for row in rows]
    header = [] if name == "cola" and kind != "test" else [columns]
    return "".join("\t".join(line) + "\n" for line in header + lines)


def _row(corpus: GLUECorpus, number: int) -> dict[str, str]:
    """All columns that are not of one value; the label follows from the texts."""
    a, b = _NAMES[number % 4], _NAMES[(number // 4 + 1 + number % 4) % 4]
    if len(corpus.texts) == 1:
        texts, label = [f"{a} {('hates', 'likes')[number % 2]} {b}"], corpus.labels[number % 2]
    else:  # the same event, turned round, another one
        texts = [f"{a} saw {b}", (f"{a} saw {b}", f"{b} saw {a}", f"{a} saw eve")[number % 3]]
        label = _PAIR_LABELS[corpus.labels][number % 3]
    numbers = {"index": number, "id": number, "#1 ID": 2 * number, "#2 ID": 2 * number + 1}
    row = {key: str(value) for key, value in numbers.items()} | dict(zip(corpus.texts, texts))
    return row if corpus.label is None else {**row, corpus.label: label}


_PAIR_LABELS = {
    ("0", "1"): ("1", "0", "0"),
    ("entailment", "not_entailment"): ("entailment", "not_entailment", "not_entailment"),
    ("entailment", "neutral", "contradiction"): ("entailment", "contradiction", "neutral"),
    (): ("5.0", "1.600", "3.25"),
}
