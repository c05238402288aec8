"""Conjoined prepositions and prepositional phrases, for which their governor is copied."""

from __future__ import annotations

from graphdep.parsing.enhancing.case_words import MARKED, conjunction
from graphdep.parsing.enhancing.working_tree import WorkingTree


def copied_governors(tree: WorkingTree) -> None:
    """Copies the governor for each further phrase ("over the bridge and through a park") or preposition
    ("to and from work").

    The copy is a conjunct of the governor; the phrase depends on the copy, a noun with two prepositions on
    both.
    """
    for node in range(1, len(tree.form)):
        if tree.relation[node] in MARKED and tree.head[node]:
            prepositions = tree.children(node, "case", "mark")
            for preposition in prepositions:
                _further_prepositions(tree, node, preposition)
            if prepositions:
                _further_phrases(tree, node)


def _further_phrases(tree: WorkingTree, first: int) -> None:
    for conjunct in tree.children(first, "conj"):
        if tree.children(conjunct, "case", "mark"):
            copied = tree.copy(tree.head[first], tree.head[first], "conj")
            for joining in [child for child in tree.children(conjunct, "cc") if child < conjunct]:
                tree.move(joining, copied, "cc")
            tree.move(conjunct, copied, tree.relation[first])


def _further_prepositions(tree: WorkingTree, noun: int, first: int) -> None:
    for conjunct in tree.children(first, "conj"):
        copied = tree.copy(tree.head[noun], tree.head[noun], "conj")
        tree.conjunction[copied] = conjunction(tree, conjunct)
        tree.extra.append((noun, copied, tree.relation[noun], tree.text(conjunct)))
