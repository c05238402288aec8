"""CoreNLP's dependency graphs as columns of a sentence."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from graphdep.sentence import Row, Sentence

# Word and number of the copy (0 is the word itself), the label, and the same of the dependent.
Node = tuple[int, int]
Edge = tuple[Node, str, Node]
_ROOT: Node = (0, 0)


def basic_tree(form: Sequence[str], edges: Iterable[dict[str, Any]]) -> tuple[list[int], list[str]]:
    """Heads and relations from the JSON edges of a basic tree.

    Some models leave punctuation out of the tree: such words depend on the root.

    Raises:
        ValueError: If there is no root.
    """
    of_word = {int(e["dependent"]): (int(e["governor"]), _label(int(e["governor"]), e["dep"])) for e in edges}
    root = next((word for word, (governor, _) in of_word.items() if governor == 0), 0)
    if not root:
        raise ValueError("no root: no edge has governor 0")
    missing = [(root, "dep" if any(map(str.isalnum, word)) else "punct") for word in form]
    pairs = [of_word.get(word, missing[word - 1]) for word in range(1, len(form) + 1)]
    return [governor for governor, _ in pairs], [label for _, label in pairs]


def merged_copies(answer: dict[str, Any]) -> bool:
    """Whether the JSON of a sentence hides copy nodes: a copy and its original have the same number."""
    edges = answer["enhancedPlusPlusDependencies"]
    return any(int(edge["governor"]) == int(edge["dependent"]) for edge in edges)


def enhanced_from_json(sentence: Sentence, answer: dict[str, Any]) -> Sentence:
    """Adds the enhanced++ graph of CoreNLP's JSON, which has no copies."""
    edges = answer["enhancedPlusPlusDependencies"]
    return _with_deps(
        sentence, [((int(e["governor"]), 0), e["dep"], (int(e["dependent"]), 0)) for e in edges]
    )


def enhanced_from_protobuf(sentence: Sentence, graph: Any) -> Sentence:
    """Adds the enhanced++ graph of CoreNLP's protobuf message, its copies as empty nodes."""
    edges: list[Edge] = [
        ((e.source, _number(e, "source")), e.dep, (e.target, _number(e, "target"))) for e in graph.edge
    ]
    return _with_deps(sentence, [(_ROOT, "root", (word, 0)) for word in graph.root] + edges)


def _number(edge: Any, end: str) -> int:
    # A node is a copy of a word or an empty node behind it, never both.
    return int(getattr(edge, f"{end}Copy") or getattr(edge, f"{end}Empty"))


def _with_deps(sentence: Sentence, edges: Sequence[Edge]) -> Sentence:
    pairs: dict[Node, set[tuple[Node, str]]] = {(word, 0): set() for word in range(1, len(sentence) + 1)}
    for governor, label, dependent in edges:
        pairs.setdefault(dependent, set()).add((governor, _label(governor[0], label)))
        if governor != _ROOT:
            pairs.setdefault(governor, set())
    names = _names(pairs)
    deps = {node: [(names[g], label) for g, label in sorted(pairs[node])] for node in pairs}
    empty = [_empty_row(sentence, node, names[node], deps[node]) for node in sorted(pairs) if node[1]]
    return dataclasses.replace(
        sentence, deps=[deps[word, 0] for word in range(1, len(sentence) + 1)], empty=empty
    )


def _names(nodes: Iterable[Node]) -> dict[Node, str]:
    """Ids; copies are numbered from 1 without gaps, as CoNLL-U wants it."""
    names, copies = {_ROOT: "0"}, {0: 0}
    for word, copy in sorted(nodes):
        copies[word] = copies[word] + 1 if copy else 0
        names[word, copy] = f"{word}.{copies[word]}" if copy else str(word)
    return names


def _empty_row(sentence: Sentence, node: Node, name: str, deps: list[tuple[str, str]]) -> Row:
    word = node[0] - 1
    lemma, xpos = (column[word] if column else "_" for column in (sentence.lemma, sentence.xpos))
    arcs = "|".join(f"{governor}:{label}" for governor, label in deps) or "_"
    return (name, sentence.form[word], lemma, "_", xpos, "_", "_", "_", arcs, f"CopyOf={node[0]}")


def _label(governor: int, label: str) -> str:
    return "root" if governor == 0 else label
