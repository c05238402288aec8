"""The enhanced graph that grows out of a tree."""

from __future__ import annotations

import re
from typing import NamedTuple

from graphdep.parsing.enhancing.working_tree import WorkingTree

# What follows a relation in an enhanced label: words, as UD's validation has it ("/" and "&" are none).
_WORDS = re.compile(r"[^\W\d_]+(_[^\W\d_]+)*")
SUBJECTS = ("nsubj", "nsubj:pass", "csubj", "csubj:pass")


class Arc(NamedTuple):
    """An arc to a node: its governor, the relation, and the words that its label ends with."""

    head: int
    relation: str
    words: str = ""

    @property
    def label(self) -> str:
        """``"obl:in"`` of ``"obl"`` and ``"in"``; the relation alone if the words are none."""
        return f"{self.relation}:{self.words}" if _WORDS.fullmatch(self.words) else self.relation


class ArcGraph:
    """The arcs of each node of a tree, to which rules add others.

    Args:
        tree: The tree.
        words: For each node the words of its label in the tree.

    Attributes:
        arcs: For each node its arcs, that of the tree first.
    """

    def __init__(self, tree: WorkingTree, words: list[str]) -> None:
        self.tree = tree
        self.arcs: list[list[Arc]] = [[Arc(*arc)] for arc in zip(tree.head, tree.relation, words)]
        self.arcs[0] = []
        for node, head, relation, own in tree.extra:
            self.add(node, Arc(head, relation, own))

    def add(self, node: int, arc: Arc) -> None:
        """Adds an arc unless it is there, or is one of a word to itself."""
        if arc.head != node and arc not in self.arcs[node]:
            self.arcs[node].append(arc)

    @property
    def downwards(self) -> list[int]:
        """The nodes, each after its governor in the tree."""
        order = [0]
        for node in order:
            order += self.tree.children(node)
        return order[1:]
