from __future__ import annotations

import json
from pathlib import Path

from graphdep.datasets import PropBankEWT
from graphdep.datasets.base.rows import spread_rows
from tests.kit.tiny_corpora import write_tiny_propbank


def test_labels_are_those_of_the_corpus_and_all_sentences_follow(example, scripts, tmp_path):
    root, output = tmp_path / "corpus", tmp_path / "files"
    write_tiny_propbank(root)
    out = example("scaffold_roles.py", root, root / "raw" / "ud", output, "--predicates", 5).stdout
    assert "train: 5 predicates, 24 sentences without labels" in out
    for split in ("train", "val", "test"):
        lines = (output / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        labelled = [row for row in rows if "mark" in row]
        own = PropBankEWT(root, split=split).read(Path(root, "raw"), split)
        own = spread_rows(own, 5) if split == "train" else own
        assert rows[: len(own)] == labelled
        assert [(row["words"], row["labels"], row["mark"], row["head"]) for row in labelled] == [
            (list(one.words), list(one.labels), one.mark, list(one.tree.head)) for one in own
        ]
        assert all(label is None for row in rows[len(own) :] for label in row["labels"])
