"""Roles of some predicates of EWT with the trees of all its training sentences, as files of one's own labels.

    python examples/research/scaffold_roles.py path/to/propbank-ewt path/to/UD_English-EWT path/to/output

``train.jsonl`` has the predicates of the training split that the task ``propbank-ewt`` has with
``limit_train``, and behind them every sentence of the treebank's training split with its gold tree and
without labels: what a parser is trained on. ``val.jsonl`` and ``test.jsonl`` have all predicates.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from graphdep import Sentence
from graphdep.datasets.base.rows import spread_rows
from graphdep.datasets.labels.bio import OUTSIDE
from graphdep.datasets.labels.propbank import read_ewt, span_head
from graphdep.datasets.labels.roles import PREDICATE, own_words
from graphdep.io import atomic_path
from graphdep.io.trees import read_conllu

SPLITS = {"train": "train", "val": "dev", "test": "test"}

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("propbank", type=Path, help="folder with the skeletons")
parser.add_argument("treebank", type=Path, help="folder of the treebank")
parser.add_argument("output", type=Path, help="folder to write to")
parser.add_argument("--predicates", type=int, default=5000, help="of training")


def main() -> None:
    args = parser.parse_args()
    skeletons = sorted(args.propbank.rglob("*.gold_skel"))
    args.output.mkdir(parents=True, exist_ok=True)
    for name, split in SPLITS.items():
        (treebank,) = args.treebank.glob(f"en_ewt-ud-{split}*.conllu")
        rows = [*predicates(treebank, skeletons)]
        if name == "train":
            rows = spread_rows(rows, args.predicates)
        trees = () if name != "train" else map(unlabelled, read_conllu(treebank))
        counts = [0, 0]
        with (
            atomic_path(args.output / f"{name}.jsonl") as temporary,
            open(temporary, "w", encoding="utf-8") as file,
        ):
            for place, some in enumerate((rows, trees)):
                for row in some:
                    counts[place] += 1
                    file.write(json.dumps(row) + "\n")
        print(f"{name}: {counts[0]:,} predicates, {counts[1]:,} sentences without labels")


def predicates(treebank: Path, skeletons: list[Path]) -> Iterator[dict[str, Any]]:
    """A row for each predicate, its roles at the heads of arguments."""
    for sentence in read_ewt([treebank], skeletons)[0]:
        for predicate in sentence.skeleton.predicates:
            row = unlabelled(sentence.tree)
            labels: list[str | None] = [OUTSIDE] * len(sentence.tree)
            for word in (predicate.word, *own_words(predicate.spans)):
                labels[word] = None
            for start, end, label in predicate.spans:
                if label not in PREDICATE:
                    labels[span_head(sentence.tree, start, end)] = label
            yield {**row, "labels": labels, "mark": predicate.word}


def unlabelled(tree: Sentence) -> dict[str, Any]:
    """A row without labels."""
    return {
        "words": list(tree.form),
        "head": list(tree.head),
        "deprel": list(tree.deprel),
        "labels": [None] * len(tree),
    }


if __name__ == "__main__":
    main()
