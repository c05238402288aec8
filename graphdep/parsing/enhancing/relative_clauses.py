"""Relative clauses: the antecedent takes the place of its pronoun."""

from __future__ import annotations

from graphdep.parsing.enhancing.arc_graph import SUBJECTS, Arc, ArcGraph
from graphdep.parsing.enhancing.working_tree import WorkingTree

_CLAUSES = ("acl:relcl", "advcl:relcl")
_PRONOUNS = ("that", "what", "which", "who", "whom", "whose", "whoever", "whatever")
# The relation of the antecedent where the clause has an adverb.
_ADVERBS = {"where": "obl", "when": "obl:unmarked", "how": "obl", "why": "obl"}
_NO_PRONOUN = ("mark", "det", "cc", "fixed")
# What may lie between the verb of a clause and its pronoun: "most of whom left", "which she wants to see".
_PATH = ("nsubj", "nsubj:pass", "obj", "iobj", "obl", "nmod", "nmod:poss", "xcomp", "ccomp", "advmod", "case")
_OBLIQUE = ("time", "way", "reason", "day", "year", "moment", "direction")


def relative_clauses(graph: ArcGraph) -> list[int]:
    """Gives the antecedent of each relative clause its arc from inside the clause, and its pronoun ``ref``.

    "The house in which she lives": ``obl:in`` from "lives" to "house", ``ref`` from "house" to "which".

    Returns:
        The clauses without a pronoun, for :func:`reduced_clauses`.
    """
    tree = graph.tree
    reduced = []
    for clause, relation in enumerate(tree.relation):
        antecedent = tree.head[clause]
        if relation not in _CLAUSES or not antecedent:
            continue
        pronoun = 0 if tree.form[antecedent] in _ADVERBS else _pronoun(tree, clause)
        if not pronoun:
            reduced.append(clause)
            continue
        _refer(graph, pronoun, antecedent)
        for conjunct in tree.children(clause, "conj"):
            if further := _pronoun(tree, conjunct):
                _refer(graph, further, antecedent)
    return reduced


def reduced_clauses(graph: ArcGraph, clauses: list[int]) -> None:
    """The same for clauses without a pronoun: "the house they saw", "the town she lives in"."""
    tree = graph.tree
    for clause in clauses:
        antecedent = tree.head[clause]
        if tree.form[antecedent] in _ADVERBS:
            graph.add(antecedent, Arc(clause, "advmod"))
        elif tree.relation[clause] == "acl:relcl":
            graph.add(antecedent, _gap(tree, clause, antecedent))


def _pronoun(tree: WorkingTree, clause: int) -> int:
    """The relative pronoun or adverb of a clause, or 0: the first such word in it."""
    waiting, found = [clause], []
    while waiting:
        for child in tree.children(waiting.pop(), *_PATH):
            if _is_relative(tree, child):
                found.append(child)
            waiting.append(child)
    return min(found, default=0)


def _is_relative(tree: WorkingTree, node: int) -> bool:
    form = tree.form[node]
    if form in _ADVERBS:
        return tree.relation[node] in ("advmod", "obl")
    # A demonstrative is none, where its tag says so ("the day I heard that").
    return form in _PRONOUNS and tree.tag[node] != "DT" and tree.relation[node] not in _NO_PRONOUN


def _refer(graph: ArcGraph, pronoun: int, antecedent: int) -> None:
    tree = graph.tree
    adverbial = _ADVERBS.get(tree.form[pronoun])
    conjuncts = [node for node in tree.children(antecedent, "conj") if node < pronoun]
    for arc in list(graph.arcs[pronoun]):
        graph.arcs[pronoun].remove(arc)
        for node in (antecedent, *conjuncts):
            graph.add(node, Arc(arc.head, adverbial) if adverbial and not arc.words else arc)
    graph.add(pronoun, Arc(antecedent, "ref"))


def _gap(tree: WorkingTree, clause: int, antecedent: int) -> Arc:
    """The arc that a clause without a pronoun lacks."""
    if not tree.children(clause, *SUBJECTS):
        return Arc(clause, "nsubj:pass" if tree.children(clause, "aux:pass") else "nsubj")
    if tree.form[antecedent].rstrip("s") in _OBLIQUE:
        return Arc(clause, "obl")
    verb = clause
    while complements := [child for child in tree.children(verb, "xcomp") if tree.is_verb(child)]:
        verb = complements[0]
    if verb != clause and tree.children(verb, "obj"):
        verb = clause
    places = tree.children(verb, "obl", "advmod")
    stranded = any(
        tree.tag[child] in ("IN", "TO", "RP", "ADP") and not tree.children(child) for child in places
    )
    full = stranded or tree.children(verb, "obj", "cop", "ccomp")
    return Arc(verb, "obl" if full else "obj")
