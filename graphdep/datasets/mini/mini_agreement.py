"""The self-written sentences of ``datasets/mini/agreement`` in the layout of McCoy's tense files."""

from __future__ import annotations

import random
from typing import NamedTuple, Union

from graphdep.datasets.base.rows import Grammar

NOUNS = "cook poet clerk nurse pilot guide monk rider".split()
DETERMINERS = "the my our his their".split()
PREPOSITIONS = "by near with behind".split()
RELATIVES = ("who", "that")
# Past and plural present; the singular present adds an s.
TRANSITIVE = (
    *(("called", "call"), ("saw", "see"), ("met", "meet"), ("helped", "help")),
    *(("hired", "hire"), ("found", "find"), ("thanked", "thank"), ("knew", "know")),
)
INTRANSITIVE = (("sang", "sing"), ("ran", "run"), ("left", "leave"), ("danced", "dance"), ("sat", "sit"))

# Number of sentences in each file, and the share of train and dev that stays in the past tense.
SIZES = {"train": 2000, "dev": 200, "gen": 400}
PAST = 0.05
# The share of prepositional phrases among the modifiers of nouns. A transformer gets these right by the
# preposition, but relative clauses wrong.
PREPOSITIONAL = 0.25

Node = Union[str, "Verb", list["Node"]]


class Verb(NamedTuple):
    """A verb and the number of its subject."""

    past: str
    plural: str
    is_plural: bool

    @property
    def present(self) -> str:
        return self.plural if self.is_plural else f"{self.plural}s"


class Phrase(NamedTuple):
    """A noun phrase, and the grammatical number of its head and of its last noun."""

    tree: Node
    is_plural: bool
    last_is_plural: bool


def agreement_files() -> dict[str, bytes]:
    """The raw files by name."""
    grammar = _Grammar(random.Random(2018))
    files = {}
    for split, size in SIZES.items():
        text = "".join(grammar.row(split) for _ in range(size))
        files[f"tense_bracket.{split}"] = text.encode()
    return files


class _Grammar(Grammar):
    def row(self, split: str) -> str:
        """A new row.

        In ``gen`` the last noun before the main verb differs from the subject in number; elsewhere it agrees,
        unless the sentence stays in the past tense.
        """
        is_past = split != "gen" and self.source.random() < PAST
        while True:
            subject = self.phrase(modified=2 / 3)
            agrees = subject.is_plural == subject.last_is_plural
            if not is_past and agrees == (split == "gen"):
                continue
            tree: Node = [subject.tree, self.predicate(subject.is_plural, modified=2 / 3)]
            given = _written([tree, "."], present=False)
            if self.take(given):
                flag = "PAST" if is_past else "PRESENT"
                return f"{given} {flag}\t{_written(tree, present=not is_past)} .\n"

    def phrase(self, *, modified: float) -> Phrase:
        """A noun phrase, perhaps with a prepositional phrase or a relative clause."""
        is_plural = self.source.random() < 0.5
        noun: Node = [self.pick(DETERMINERS), self.pick(NOUNS) + "s" * is_plural]
        if self.source.random() >= modified:
            return Phrase(noun, is_plural, is_plural)
        if self.source.random() < PREPOSITIONAL:
            other = self.phrase(modified=0)
            return Phrase([noun, [self.pick(PREPOSITIONS), other.tree]], is_plural, other.is_plural)
        clause, last = self.clause(is_plural)
        return Phrase([noun, [self.pick(RELATIVES), clause]], is_plural, last)

    def clause(self, is_plural: bool) -> tuple[Node, bool]:
        """A relative clause without its pronoun, and the number of the last noun before its end."""
        kind, other = self.pick(("alone", "subject", "object")), self.phrase(modified=0)
        if kind == "alone":
            return Verb(*self.pick(INTRANSITIVE), is_plural), is_plural
        verb = self.pick(TRANSITIVE)
        if kind == "subject":
            return [Verb(*verb, is_plural), other.tree], other.is_plural
        return [other.tree, Verb(*verb, other.is_plural)], other.is_plural

    def predicate(self, is_plural: bool, *, modified: float) -> Node:
        """A verb, perhaps with an object."""
        if self.source.random() < 0.5:
            return Verb(*self.pick(INTRANSITIVE), is_plural)
        return [Verb(*self.pick(TRANSITIVE), is_plural), self.phrase(modified=modified).tree]


def _written(node: Node, *, present: bool) -> str:
    if isinstance(node, Verb):
        return node.present if present else node.past
    if isinstance(node, str):
        return node
    return f"[ {' '.join(_written(part, present=present) for part in node)} ]"
