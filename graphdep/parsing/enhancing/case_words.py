"""The words on labels: prepositions, markers and conjunctions (``obl:in``, ``advcl:if``, ``conj:or``)."""

from __future__ import annotations

from graphdep.parsing.enhancing.working_tree import WorkingTree

MARKED = ("nmod", "obl", "acl", "advcl")
_CLAUSE_ADVERBS = ("when", "where", "whenever", "wherever")


def label_words(tree: WorkingTree) -> list[str]:
    """For each node the words of its label: ``"in"`` for ``obl:in``.

    A modifier has its preposition or marker, the last of several; a conjunct the conjunction before it, else
    that of the next one ("beans, peas or figs"), else that of the one before.
    """
    words = [tree.conjunction.get(node, "") for node in range(len(tree.head))]
    for node, relation in enumerate(tree.relation):
        if relation in MARKED:
            words[node] = marker(tree, node)
        elif relation == "cc" and tree.relation[tree.head[node]] == "conj":
            _conjunctions(tree, tree.head[tree.head[node]], words)
    return words


def marker(tree: WorkingTree, node: int) -> str:
    """The preposition or marker of a node, else the adverb that begins its adverbial clause, or no word."""
    found = [child for child in tree.children(node, "case", "mark") if tree.tag[child] != "POS"]
    if found:
        return tree.text(found[-1])
    adverbs = tree.children(node, "advmod") if tree.relation[node] == "advcl" else []
    return next((tree.form[child] for child in adverbs if tree.form[child] in _CLAUSE_ADVERBS), "")


def _conjunctions(tree: WorkingTree, first: int, words: list[str]) -> None:
    """The conjunctions of the conjuncts of one word."""
    conjuncts = tree.children(first, "conj")
    last = ""
    for node in reversed(conjuncts):
        last = words[node] = conjunction(tree, node) or last
    for node in conjuncts:
        last = words[node] = words[node] or last


def conjunction(tree: WorkingTree, node: int) -> str:
    """The conjunctions before a conjunct, such as ``"and"``, or ``"and_or"`` for "and/or"."""
    if node in tree.conjunction:
        return tree.conjunction[node]
    found = [child for child in tree.children(node, "cc") if child < node]
    return "_".join(tree.text(word) for child in found for word in (child, *tree.children(child, "conj")))
