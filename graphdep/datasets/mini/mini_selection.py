"""The self-written pools of ``datasets/mini`` in the layout of Ubuntu's version 1."""

from __future__ import annotations

import random

from graphdep.datasets.mini.mini_dialogues import PEOPLE, DialogueGrammar
from graphdep.datasets.selection.dataset import TEXT_FILES

# Pools of each split, and candidates of each pool.
SIZES = {"train": (8, 2), "val": (4, 10), "test": (4, 10)}
# The response is the answer to the first question after the event.
ANSWER = 3


def selection_files() -> dict[str, bytes]:
    """The raw files by name."""
    grammar = DialogueGrammar(random.Random(2015))
    files = {}
    for split, (pools, candidates) in SIZES.items():
        lines = [line for _ in range(pools) for line in _pool(grammar, candidates)]
        files[TEXT_FILES[split][0]] = "".join(f"{line}\n" for line in lines).encode()
    return files


def _pool(grammar: DialogueGrammar, candidates: int) -> list[str]:
    """The lines of a pool, the right candidate first; no wrong candidate names a person of the right one."""
    turns = grammar.dialogue()
    context, response = "\t".join(turns[:ANSWER]), turns[ANSWER]
    right = {*response.split()} & {*PEOPLE}
    wrong: dict[str, None] = {}
    while len(wrong) < candidates - 1:
        other = grammar.pick(grammar.dialogue()[1:])
        if right.isdisjoint(other.split()) and other not in turns:
            wrong[other] = None
    return [f"1\t{context}\t{response}", *(f"0\t{context}\t{text}" for text in wrong)]
