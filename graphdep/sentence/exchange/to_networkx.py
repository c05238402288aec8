"""A sentence as a graph of networkx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphdep.sentence import Sentence


def networkx_graph(sentence: Sentence, arcs: str, root: bool) -> Any:
    """The tree, or with ``arcs="enhanced"`` the enhanced graph.

    Raises:
        ImportError: If networkx is not installed.
        ValueError: If ``arcs`` is unknown, or there is no enhanced graph.
    """
    if arcs not in ("basic", "enhanced"):
        raise ValueError(f"'arcs' must be 'basic' or 'enhanced' (got {arcs!r})")
    if arcs == "enhanced" and sentence.deps is None:
        raise ValueError("the sentence has no enhanced graph: 'deps' is None")
    try:
        import networkx
    except ImportError as error:
        raise ImportError(
            f"to_networkx needs networkx, which is not installed ({error}): pip install 'graphdep[networkx]'"
        ) from error
    graph = networkx.MultiDiGraph() if arcs == "enhanced" else networkx.DiGraph()
    graph.graph["text"] = sentence.text
    if root:
        graph.add_node(0, form="ROOT")
    for word, attributes in enumerate(_attributes(sentence), start=1):
        graph.add_node(word, **attributes)
    if arcs == "basic":
        for word, (governor, label) in enumerate(zip(sentence.head, sentence.deprel), start=1):
            if root or governor:
                graph.add_edge(governor, word, deprel=label)
        return graph
    for row in sentence.empty:
        graph.add_node(row[0], form=row[1])
    for head, node, label in sentence.enhanced_arcs:
        if root or head != "0":
            graph.add_edge(_node(head), _node(node), deprel=label)
    return graph


def _attributes(sentence: Sentence) -> list[dict[str, str]]:
    names = ("form", "lemma", "upos", "xpos", "feats", "misc")
    columns = {name: getattr(sentence, name) for name in names if getattr(sentence, name) is not None}
    return [{name: values[word] for name, values in columns.items()} for word in range(len(sentence))]


def _node(word: str) -> int | str:
    """Words are numbers; empty nodes are texts such as ``"8.1"``."""
    return word if "." in word else int(word)
