"""The rows of the agreement files: what they ask for, and the labels that their answers give words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from graphdep.datasets.base.raw import check_words, read_table, row_error
from graphdep.datasets.labels.agreement.bracket_trees import (
    AUXILIARIES,
    RELATIVES,
    bracket_tree,
    bracket_words,
)
from graphdep.sentence import Sentence

FLAGS = {"tense": ("PRESENT", "PAST"), "question": ("quest", "decl")}
"""By task the flag of a row that asks for a change, and that of one that asks for a copy."""
SINGULAR, PLURAL = "singular", "plural"
FRONT, STAYS = "front", "stays"


class AgreementRow(NamedTuple):
    """One row: the input, and the output that is asked for.

    Args:
        path, line: Where it stands.
        words: The words of the input, without its flag.
        tree: The tree of the input's brackets; :obj:`None` where it has none.
        output: The words of the output.
        flag: What the input asks for.
    """

    path: Path
    line: int
    words: list[str]
    tree: Sentence | None
    output: list[str]
    flag: str

    def error(self, message: str, value: str | None = None) -> ValueError:
        return row_error(self.path, self.line, message, value)


def read_agreement(path: Path, name: str, *, brackets: bool) -> list[AgreementRow]:
    """The rows of a raw file, ``input FLAG<TAB>output``.

    Args:
        path: The file.
        name: ``"tense"`` or ``"question"``.
        brackets: Whether the sentences are in brackets.

    Raises:
        ValueError: If a row is damaged or its brackets are, with file, line and value.
    """
    rows = []
    for line, (text, answer) in read_table(path, ("input", "output"), header=False):
        sentence, _, flag = text.strip().rpartition(" ")
        if flag not in FLAGS[name]:
            raise row_error(path, line, f"the input must end in {' or '.join(FLAGS[name])}", flag)
        for column, value in (("the input", sentence), ("the output", answer)):
            if not value.strip():
                raise row_error(path, line, f"{column} is empty", value)
            check_words(path, line, column, value)
        tree = bracket_tree(path, line, sentence) if brackets else None
        words = sentence.split() if tree is None else list(tree.form)
        output = bracket_words(path, line, answer) if brackets else answer.split()
        if not output:
            raise row_error(path, line, "the output has no word", answer)
        rows.append(AgreementRow(path, line, words, tree, output, flag))
    return rows


def changing_words(rows: Sequence[AgreementRow]) -> frozenset[str]:
    """The words of the inputs that some output has in another form: verbs.

    One row does not say it of all its verbs: *read* is its own plural.
    """
    pairs = (pair for row in rows for pair in zip(row.words, row.output))
    return frozenset(word for word, form in pairs if word != form)


def verb_labels(row: AgreementRow, verbs: frozenset[str]) -> tuple[list[str | None], int]:
    """The number of each verb of a sentence in the past tense, and the place of its main verb, from 0.

    The verbs are the heads of clauses of the tree and the main verb its root. Without a tree they are the
    words of ``verbs``, and the main verb is the first one that no relative pronoun before it takes.

    Raises:
        ValueError: If input and output differ in more than the forms of verbs, or there is no main verb.
    """
    if len(row.words) != len(row.output):
        raise row.error(f"{len(row.output)} words of the output for {len(row.words)} of the input")
    places, main = _tree_verbs(row.tree) if row.tree is not None else _verbs(row, verbs)
    for place, (word, form) in enumerate(zip(row.words, row.output)):
        if word != form and place not in places:
            raise row.error(f"word {place + 1} changes and is no verb of the brackets", f"{word} {form}")
    found = {place: _number(row.output[place]) for place in places}
    return [found.get(place) for place in range(len(row.words))], main


def auxiliary_labels(row: AgreementRow) -> list[str | None]:
    """For each auxiliary of a declarative sentence whether the question has it in front or where it was.

    Raises:
        ValueError: If the output is not the input with one auxiliary in front, in one way.
    """
    front, *rest = row.output
    moved = [
        place
        for place, word in enumerate(row.words)
        if word == front and row.words[:place] + row.words[place + 1 : -1] == rest[:-1]
    ]
    if len(moved) != 1 or front not in AUXILIARIES:
        raise row.error("the output is not the input with one auxiliary in front", " ".join(row.output))
    return [
        FRONT if place == moved[0] else STAYS if word in AUXILIARIES else None
        for place, word in enumerate(row.words)
    ]


def _tree_verbs(tree: Sentence) -> tuple[list[int], int]:
    verbs = [place for place, label in enumerate(tree.deprel) if label in ("root", "acl:relcl")]
    return verbs, tree.head.index(0)


def _verbs(row: AgreementRow, verbs: frozenset[str]) -> tuple[list[int], int]:
    places, taken, main = [], 0, None
    for place, word in enumerate(row.words):
        taken += word in RELATIVES
        if word not in verbs:
            continue
        places.append(place)
        if taken:
            taken -= 1
        elif main is None:
            main = place
    if main is None:
        raise row.error("no main verb: no word that changes stands outside of relative clauses")
    return places, main


def _number(verb: str) -> str:
    """Of a verb in the present tense: *sings* is singular, *sing* and *miss* are plural."""
    return SINGULAR if verb.endswith("s") and not verb.endswith("ss") else PLURAL
