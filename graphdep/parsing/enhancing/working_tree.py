"""A basic tree that rules can change, before it becomes a graph."""

from __future__ import annotations

from graphdep.sentence import Sentence

_VERBS = ("VB", "MD", "VERB", "AUX")
_ADJECTIVES = ("JJ", "ADJ")
_PARTICLES = ("IN", "TO", "ADP", "SCONJ", "CC", "CCONJ")
_NOUNS = ("NN", "NOUN", "PROPN", "PRP", "PRON", "WP")


class WorkingTree:
    """The tree of a sentence; node 0 is the artificial root, words follow from 1, copies of words after them.

    Whatever a rule does, each node but 0 keeps one governor, so that all nodes stay below the root.

    Args:
        sentence: The sentence. It is not changed.

    Attributes:
        head: The governor of each node; 0 of node 0.
        relation: The relation of each node to it.
        word: The word that a node is, or is a copy of.
        form: The word's form, in lower case.
        name: The word as labels have it: the form, of a preposition or particle the lemma ("b/c": because).
        tag: The word's tag, :attr:`Sentence.xpos`, or :attr:`Sentence.upos` where that is missing.
        place: The word behind which a copy stands.
        conjunction: The conjunctions of copies that are conjuncts.
        extra: Arcs beyond the tree, as node, governor, relation and the words of its label.
    """

    def __init__(self, sentence: Sentence) -> None:
        size = len(sentence)
        blank = ["_"] * size
        upos, xpos, lemma = (column or blank for column in (sentence.upos, sentence.xpos, sentence.lemma))
        self.head = [0, *sentence.head]
        self.relation = ["", *sentence.deprel]
        self.word = list(range(size + 1))
        self.form = ["", *(form.lower() for form in sentence.form)]
        self.tag = ["", *(coarse if fine == "_" else fine for fine, coarse in zip(xpos, upos))]
        self.name = [
            own.lower() if tag in _PARTICLES and own != "_" else form
            for form, tag, own in zip(self.form, self.tag, ["_", *lemma])
        ]
        self.place = self.word.copy()
        self.conjunction: dict[int, str] = {}
        self.extra: list[tuple[int, int, str, str]] = []
        self._children: list[list[int]] = [[] for _ in self.head]
        for node in range(1, size + 1):
            self._children[self.head[node]].append(node)

    def children(self, node: int, *relations: str) -> list[int]:
        """The dependents of a node in order, with one of the relations if any are given."""
        found = self._children[node]
        return [child for child in found if self.relation[child] in relations] if relations else list(found)

    def move(self, node: int, head: int, relation: str) -> None:
        """Puts a node with all below it under another one, which must not be below it."""
        self._children[self.head[node]].remove(node)
        self.head[node], self.relation[node] = head, relation
        self._children[head] = sorted([*self._children[head], node])

    def replace(self, old: int, new: int, relation: str) -> None:
        """Puts a dependent in its governor's place: what was below the governor, and that itself, is below
        it.
        """
        self.move(new, self.head[old], relation)
        for child in self.children(old):
            self.move(child, new, self.relation[child])
        self.move(old, new, "dep")

    def fix(self, words: list[int], head: int, relation: str) -> None:
        """Makes words one expression of several words, whose first one depends on ``head``."""
        first, *others = words
        self.move(first, head, relation)
        for word in others:
            self.move(word, first, "fixed")

    def copy(self, node: int, head: int, relation: str, place: int | None = None) -> int:
        """A copy of a node's word, without what is below it, behind that word if no place is given."""
        for column in (self.form, self.name, self.tag):
            column.append(column[node])
        self.word.append(self.word[node])
        self.place.append(self.word[node] if place is None else place)
        self.head.append(head)
        self.relation.append(relation)
        self._children.append([])
        copied = len(self.head) - 1
        self._children[head].append(copied)
        return copied

    def is_verb(self, node: int) -> bool:
        return self.tag[node].startswith(_VERBS)

    def is_adjective(self, node: int) -> bool:
        return self.tag[node].startswith(_ADJECTIVES)

    def is_noun(self, node: int) -> bool:
        """Whether it is a noun or a pronoun."""
        return self.tag[node].startswith(_NOUNS)

    def text(self, node: int) -> str:
        """The word's name, with those of an expression that it begins: ``"because_of"``."""
        return "_".join(self.name[word] for word in (node, *self.children(node, "fixed")))
