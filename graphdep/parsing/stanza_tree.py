"""Stanza's trees of constituents."""

from __future__ import annotations

from typing import Any

from graphdep.sentence import Constituent

_ROOT = "ROOT"


def stanza_constituents(tree: Any) -> list[Constituent]:
    """The constituents of a ``Tree`` of stanza, whose words are below their tags, without ``ROOT``.

    Raises:
        ValueError: If there is none.
    """
    if tree is None:
        raise ValueError("no tree")
    found: list[Constituent] = []
    words = 0
    todo: list[tuple[Any, int]] = [(tree, -1)]  # with the place of those that are closed
    while todo:
        node, place = todo.pop()
        if place >= 0:
            label, start, _ = found[place]
            found[place] = (label, start, words)
        elif node.is_preterminal():
            words += 1
        else:
            todo.append((node, len(found)))
            found.append((node.label, words, words))
            todo += [(child, -1) for child in reversed(node.children)]
    return found[1:] if found and found[0][0] == _ROOT else found
