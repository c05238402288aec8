"""Coordination: conjuncts share their governor."""

from __future__ import annotations

from graphdep.parsing.enhancing.arc_graph import Arc, ArcGraph
from graphdep.parsing.enhancing.case_words import MARKED, marker

_NEVER = ("conj", "parataxis", "root", "case", "mark", "fixed", "ref")


def shared_governors(graph: ArcGraph) -> None:
    """Gives each conjunct the arcs of the first one: "Kim and Lee sing" has two ``nsubj``.

    A modifier has its own preposition on the label where it has one. What stands between the conjuncts is
    not shared as governor.
    """
    tree = graph.tree
    for node in graph.downwards:
        first = tree.head[node] if tree.relation[node] == "conj" else 0
        for head, relation, words in list(graph.arcs[first]):
            between = tree.word[first] < tree.word[head] < tree.word[node]
            if relation not in _NEVER and not between:
                own = marker(tree, node) if relation in MARKED else ""
                graph.add(node, Arc(head, relation, own or words))
