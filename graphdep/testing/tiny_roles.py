"""A few sentences with predicates and arguments, as PropBank and Universal PropBank publish theirs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphdep.datasets.labels.bio import Span
from graphdep.io import format_conllu
from graphdep.sentence import Sentence

_NAMES = ("Ann", "Bob", "Cid", "Dan", "Eva")
_SIZES = {"train": 24, "dev": 9, "test": 12}
_DOCUMENT = "answers-tiny.{split}-{number:04}"


@dataclass(frozen=True)
class _Kind:
    """A kind of sentence: words with ``{name}`` and ``{other}`` in it, a tree, and predicates with spans."""

    words: str
    head: Sequence[int]
    deprel: str
    predicates: Sequence[tuple[int, str, Sequence[Span]]]


_KINDS = (
    _Kind(
        "{name} does not see {other} .",
        (4, 4, 4, 0, 4, 4),
        "nsubj aux advmod root obj punct",
        [(3, "see.01", [(0, 1, "ARG0"), (2, 3, "ARGM-NEG"), (3, 4, "V"), (4, 5, "ARG1")])],
    ),
    _Kind(
        "The old friend of {name} picks the bag up .",
        (3, 3, 6, 5, 3, 0, 8, 6, 6, 6),
        "det amod nsubj case nmod root det obj compound:prt punct",
        [(5, "pick_up.04", [(0, 5, "ARG0"), (5, 6, "V"), (6, 8, "ARG1"), (8, 9, "C-V")])],
    ),
    _Kind(
        "{name} wants to see the dog .",
        (2, 0, 4, 2, 6, 4, 2),
        "nsubj root mark xcomp det obj punct",
        [
            (1, "want.01", [(0, 1, "ARG0"), (1, 2, "V"), (2, 6, "ARG1")]),
            (3, "see.01", [(0, 1, "ARG0"), (3, 4, "V"), (4, 6, "ARG1")]),
        ],
    ),
    _Kind("Thanks {name} !", (0, 1, 1), "root vocative punct", []),
)
# Where each label of a kind's spans stands in Universal PropBank: its word in the tree.
_HEADS = {(0, 5): 2, (6, 8): 7, (2, 6): 3, (4, 6): 5}


def write_tiny_propbank(root: str | os.PathLike[str]) -> dict[str, str]:
    """Writes skeletons and the treebank below ``root``, 24 sentences of train, 9 of dev and 12 of test, the
    last without a predicate; returns the settings that load them.
    """
    raw = Path(root, "raw")
    (raw / "propbank").mkdir(parents=True, exist_ok=True)
    (raw / "ud").mkdir(parents=True, exist_ok=True)
    for split in _SIZES:
        skeletons, trees = [], []
        for number, (kind, tree) in enumerate(_sentences(split)):
            skeletons.append("".join(_skeleton_row(kind, number, token) for token in range(len(tree))))
            trees.append(format_conllu(tree))
        skeleton = raw / "propbank" / f"tiny.{split}.xml.gold_skel"
        skeleton.write_text("\n".join(skeletons), encoding="utf-8")
        (raw / "ud" / f"en_ewt-ud-{split}.conllu").write_text("\n".join(trees), encoding="utf-8")
    return {"root": str(root)}


def write_tiny_up(root: str | os.PathLike[str]) -> dict[str, str]:
    """As :func:`write_tiny_propbank`, the same sentences with their roles at heads, in CoNLL-U's columns and
    further ones.
    """
    raw = Path(root, "raw")
    raw.mkdir(parents=True, exist_ok=True)
    for split in _SIZES:
        blocks = ["".join(_up_lines(kind, tree)) for kind, tree in _sentences(split)]
        (raw / f"en_tiny-up-{split}.conllu").write_text("\n".join(blocks), encoding="utf-8")
    return {"root": str(root)}


def _sentences(split: str) -> Iterator[tuple[_Kind, Sentence]]:
    for number in range(_SIZES[split]):
        kind = _KINDS[number % len(_KINDS)]
        name, other = _NAMES[number % len(_NAMES)], _NAMES[(number * 2 + 1) % len(_NAMES)]
        form = kind.words.format(name=name, other=other).split()
        name = _DOCUMENT.format(split=split, number=number + 1)
        tree = Sentence(form, list(kind.head), kind.deprel.split(), comments=[f"# sent_id = {name}"])
        yield kind, tree


def _skeleton_row(kind: _Kind, number: int, token: int) -> str:
    rolesets = {word: roleset for word, roleset, _ in kind.predicates}
    own = ["tiny", str(number), str(token), "[WORD]", "XX", "*", "-", rolesets.get(token, "-")]
    return "   ".join([*own, *(_cell(spans, token) for *_, spans in kind.predicates)]) + "\n"


def _cell(spans: Sequence[Span], token: int) -> str:
    begins = "".join(f"({label}" for start, _, label in spans if start == token)
    return f"{begins}*" + ")" * any(end == token + 1 for _, end, _ in spans)


def _up_lines(kind: _Kind, tree: Sentence) -> Iterator[str]:
    comment, *rows = format_conllu(tree).splitlines()
    yield f"{comment}\n"
    rolesets = {word: roleset for word, roleset, _ in kind.predicates}
    labels = [
        {_HEADS.get((start, end), start): label for start, end, label in spans}
        for *_, spans in kind.predicates
    ]
    for word, row in enumerate(rows):
        cells = [column.get(word, "_") for column in labels] or [""]
        yield "\t".join([row, rolesets.get(word, "_"), *cells]) + "\n"
