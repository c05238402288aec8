"""Subjects that a predicate has by coordination, control or raising."""

from __future__ import annotations

from graphdep.parsing.enhancing.arc_graph import Arc, ArcGraph

_OBJECTS = ("obj", "iobj")


def subjects(graph: ArcGraph) -> None:
    """Gives predicates without a subject the one that they share, or that a higher verb has for them.

    A conjunct has the subjects of the first one ("Kim grows and sells beans"). An open complement has the
    objects of its governor, else its subjects, as ``nsubj:xsubj`` ("Lee wants to help us").
    """
    found = _of_predicates(graph)
    for node in graph.downwards:
        if any("subj" in relation for _, relation in found[node]):
            continue
        if graph.tree.relation[node] == "conj":
            _share(graph, node, found)
        for head, relation, _ in graph.arcs[node]:
            if relation == "xcomp" and graph.tree.tag[node] != "TO":  # "they need to"
                _control(graph, node, head, found)


def _of_predicates(graph: ArcGraph) -> list[list[tuple[int, str]]]:
    """For each node its subjects and objects, with their relations."""
    found: list[list[tuple[int, str]]] = [[] for _ in graph.arcs]
    for node, arcs in enumerate(graph.arcs):
        for head, relation, _ in arcs:
            if "subj" in relation or relation in _OBJECTS:
                found[head].append((node, relation))
    return found


def _share(graph: ArcGraph, node: int, found: list[list[tuple[int, str]]]) -> None:
    tree, first = graph.tree, graph.tree.head[node]
    # Else it is no predicate, unless it has a copula, or the first one has ("is a smoker and a drinker").
    copula = tree.children(node, "cop") or tree.children(first, "cop")
    if not (tree.is_verb(node) or tree.is_adjective(node) or copula):
        return
    for subject, relation in list(found[first]):
        if "subj" in relation and subject != node:
            own = _voice(graph, node, relation)
            graph.add(subject, Arc(node, own))
            found[node].append((subject, own))


def _voice(graph: ArcGraph, node: int, relation: str) -> str:
    """The relation of a shared subject: ``nsubj:pass`` where the conjunct is passive, too."""
    base, _, kind = relation.partition(":")
    if kind not in ("", "pass"):
        return relation
    tree = graph.tree
    shared = kind == "pass" and tree.tag[node] in ("VBN", "VERB") and not tree.children(node, "aux", "cop")
    return f"{base}:pass" if shared or tree.children(node, "aux:pass") else base


def _control(graph: ArcGraph, node: int, head: int, found: list[list[tuple[int, str]]]) -> None:
    objects = [pair for pair in found[head] if pair[1] in _OBJECTS]
    for subject, relation in objects or [pair for pair in found[head] if _controls(pair[1])]:
        if subject != node:
            own = "csubj:xsubj" if relation.startswith("csubj") else "nsubj:xsubj"
            graph.add(subject, Arc(node, own))
            found[node].append((subject, own))


def _controls(relation: str) -> bool:
    """Whether it is a subject of the predicate itself, not of a clause around it (``nsubj:outer``)."""
    return "subj" in relation and not relation.endswith(":outer")
