"""Ellipsis: a predicate that a conjunct leaves out ("Kim likes tea and Lee coffee")."""

from __future__ import annotations

from graphdep.parsing.enhancing.working_tree import WorkingTree


def left_out_predicates(tree: WorkingTree) -> None:
    """Puts a copy of the predicate where conjuncts with dependents ``orphan`` lack it.

    What stood for the predicate and its orphans depend on the copy, with the relations that such words have
    at the predicate.
    """
    for node in range(1, len(tree.form)):
        orphans = tree.children(node, "orphan")
        if orphans and tree.relation[node] == "conj" and tree.head[node]:
            _restore(tree, node, orphans)


def _restore(tree: WorkingTree, node: int, orphans: list[int]) -> None:
    predicate = tree.head[node]
    open_places = [relation for relation in ("obj", "xcomp") if tree.children(predicate, relation)]
    relations = [_relation(tree, orphan, open_places) for orphan in orphans]
    remnant = open_places[0] if open_places else _subject(tree, predicate)
    joined = tree.children(node, "cc")
    place = node if "subj" in remnant else min([node, *joined]) - 1
    copied = tree.copy(predicate, predicate, "conj", place)
    for word in joined:
        tree.move(word, copied, "cc")
    tree.move(node, copied, remnant)
    for orphan, relation in zip(orphans, relations):
        tree.move(orphan, copied, relation)


def _relation(tree: WorkingTree, orphan: int, open_places: list[str]) -> str:
    """What an orphan is to the predicate; an object or open complement is taken from the open places."""
    if tree.children(orphan, "case"):
        return "obl"
    if tree.tag[orphan].startswith(("RB", "ADV")):
        return "advmod"
    marked = tree.children(orphan, "mark")
    complement = tree.is_adjective(orphan) or tree.is_verb(orphan) or "obj" not in open_places
    if complement and "xcomp" in open_places:
        open_places.remove("xcomp")
        return "xcomp"
    if marked or tree.is_verb(orphan):
        return "advcl"
    if "obj" in open_places:
        open_places.remove("obj")
    return "obj"


def _subject(tree: WorkingTree, predicate: int) -> str:
    return "nsubj:pass" if tree.children(predicate, "nsubj:pass") else "nsubj"
