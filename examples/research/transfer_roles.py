"""Roles of English to train on and of other languages to test on, as tags and trees without words.

    python examples/research/transfer_roles.py path/to/propbank-ewt path/to/up-transfer path/to/transfer-roles

The first folder has the English files of Universal PropBank 1.0, of which ``en_ewt-up-dev.conllu`` becomes
``en-train.jsonl`` and ``en_ewt-up-test.conllu`` becomes ``en-val.jsonl``. The second has ``*-up-dev.conllu``
and ``*-up-test.conllu`` of other languages, perhaps as ``.xz``, which become one ``LANGUAGE-test.jsonl``. A
word is its universal tag, and an example is a predicate.

The English trees are of UD 2, the others of UD 1.4. They are written with the labels that both have: without
subtypes but for the passive, and with ``nmod`` for ``obl``, which UD 1 does not tell apart. Auxiliaries and
copulas have the tag ``AUX``, a coordinating conjunction hangs from the conjunct behind it, and roles are
called as in English (``ARG0``, ``ARGM-TMP``).
"""

import argparse
import json
import lzma
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphdep import Sentence
from graphdep.datasets.labels.propbank import UPPredicate, UPSentence, read_up
from graphdep.io import atomic_path

LABELS = {
    "dobj": "obj",
    "nsubjpass": "nsubj:pass",
    "csubjpass": "csubj:pass",
    "auxpass": "aux:pass",
    "neg": "advmod",
    "mwe": "fixed",
    "name": "flat",
    "foreign": "flat",
    "remnant": "orphan",
    "obl": "nmod",
}
PASSIVE = ("nsubj:pass", "csubj:pass", "aux:pass")
AUXILIARY = ("aux", "aux:pass", "cop")
TAGS = {"CONJ": "CCONJ"}

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("english", type=Path, help="folder with the English files")
parser.add_argument("others", type=Path, help="folder with those of other languages")
parser.add_argument("output", type=Path, help="folder to write to")


def main() -> None:
    args = parser.parse_args()
    files = {
        f"en-{name}": [args.english / f"en_ewt-up-{split}.conllu"]
        for name, split in (("train", "dev"), ("val", "test"))
    }
    for path in sorted(args.others.glob("*-up-*.conllu*")):
        files.setdefault(f"{path.name.partition('-')[0]}-test", []).append(path)
    args.output.mkdir(parents=True, exist_ok=True)
    for name, paths in files.items():
        counts = write(args.output / f"{name}.jsonl", paths)
        print(f"{name}: {', '.join(f'{count:,} {kind}' for kind, count in counts.items())}")


def write(target: Path, sources: Sequence[Path]) -> Counter[str]:
    """Writes the examples of some files, and counts them."""
    counts: Counter[str] = Counter()
    with atomic_path(target) as temporary, open(temporary, "w", encoding="utf-8") as file:
        for sentence in (sentence for source in sources for sentence in read(source)):
            counts["sentences without annotation left out"] += not sentence.annotated
            words = common_tree(sentence.tree)
            for predicate in sentence.predicates if sentence.annotated else ():
                labels = roles(predicate)
                counts["predicates"] += 1
                counts["arguments"] += sum(label not in (None, "O") for label in labels)
                file.write(json.dumps({**words, "labels": labels, "mark": predicate.word}) + "\n")
    return counts


def read(path: Path) -> list[UPSentence]:
    """The sentences of a file, which may be compressed."""
    if path.suffix != ".xz":
        return read_up(path)
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, path.stem)
        plain.write_bytes(lzma.decompress(path.read_bytes()))
        return read_up(plain)


def roles(predicate: UPPredicate) -> list[str | None]:
    """The label of each word; none of the predicate's own."""
    named = [label.replace("AM-", "ARGM-") for label in predicate.labels]
    named = [
        label.replace("A", "ARG") if label[-2:-1] == "A" and label[-1].isdecimal() else label
        for label in named
    ]
    labels = ["O" if label == "_" else label for label in named]
    own = (None if label in ("V", "C-V") else label for label in labels)
    return [None if word == predicate.word else label for word, label in enumerate(own)]


def common_tree(tree: Sentence) -> dict[str, Any]:
    """Tags and tree of a sentence as UD 1 and UD 2 have them alike."""
    deprel = [*map(common_label, tree.deprel)]
    tags = zip(tree.upos or (), deprel)
    words = ["AUX" if label in AUXILIARY else TAGS.get(tag, tag) for tag, label in tags]
    head = list(tree.head)
    for word, label in enumerate(deprel, start=1):
        if label == "cc":
            behind = (
                k
                for k, one in enumerate(deprel, start=1)
                if one == "conj" and tree.head[k - 1] == tree.head[word - 1]
            )
            head[word - 1] = next((k for k in behind if k > word), head[word - 1])
    return {"words": words, "head": head, "deprel": deprel}


def common_label(label: str) -> str:
    """A relation of UD 1 or 2 in the labels that both have."""
    label = LABELS.get(label, label)
    return label if label in PASSIVE else LABELS.get(label.partition(":")[0], label.partition(":")[0])


if __name__ == "__main__":
    main()
