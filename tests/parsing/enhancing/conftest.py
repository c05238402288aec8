"""Trees and graphs written out in a few words a line."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from graphdep import Sentence
from graphdep.io import format_conllu, parse_conllu
from graphdep.parsing import enhance

Graph = dict[str, set[str]]


def tree(text: str) -> Sentence:
    """A sentence from words with tag, head and relation: ``"She/PRP/2/nsubj sings/VBZ/0/root"``."""
    rows = [word.split("/") for word in text.split()]
    lines = [
        f"{i}\t{w}\t{w}\t_\t{tag}\t_\t{head}\t{rel}\t_\t_" for i, (w, tag, head, rel) in enumerate(rows, 1)
    ]
    return parse_conllu("\n".join(lines))[0]


@pytest.fixture
def graph() -> Callable[..., Graph]:
    """Per word or copy (``walked'``) its labels and governors, after a trip through CoNLL-U."""

    def call(text: str, level: str = "enhanced++") -> Graph:
        sentence = tree(text)
        (done,) = enhance([sentence], level)
        assert parse_conllu(format_conllu(done)) == [done]
        assert dataclasses.replace(done, deps=None, empty=[]) == sentence
        names, copies = (
            {"0": "-"} | {str(i): form for i, form in enumerate(done.form, 1)},
            dict.fromkeys(done.form, 0),
        )
        for row in done.empty:
            copies[row[1]] += 1
            names[row[0]] = row[1] + "'" * copies[row[1]]
        found: Graph = {name: set() for name in names.values()}
        for head, node, label in done.enhanced_arcs:
            found[names[node]].add(f"{label}({names[head]})")
        return found

    return call
