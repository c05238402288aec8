"""Words as mappings, as other libraries have them, in the columns of CoNLL-U."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from graphdep.sentence.tree import parse_deps

# The names that libraries have for each column, CoNLL-U's own first.
_NAMES = (
    ("id",),
    ("form", "text"),
    ("lemma",),
    ("upos", "upostag", "pos"),
    ("xpos", "xpostag", "tag"),
    ("feats", "morph"),
    ("head",),
    ("deprel", "dep"),
    ("deps",),
    ("misc",),
)


def word_lines(words: Iterable[Mapping[str, Any]], comments: Iterable[str] = ()) -> list[str]:
    """The lines of a sentence; words without an ``id`` are counted.

    Raises:
        ValueError: If a word is no mapping.
    """
    lines = [*comments]
    for number, word in enumerate(words, start=1):
        if not isinstance(word, Mapping):
            raise ValueError(f"word {number} is no mapping (got {word!r:.60})")
        values = [next((word[name] for name in names if name in word), None) for names in _NAMES]
        values[0] = _id(values[0] if values[0] is not None else number)
        lines.append("\t".join(_text(value) for value in values))
    return lines


def without_lost_arcs(lines: Iterable[str]) -> list[str]:
    """Lines of CoNLL-U without the enhanced arcs from empty nodes that are not there, as stanza leaves them
    where it was not asked to read the nodes; a word that has no other gets its basic one.
    """
    rows = [line.split("\t") for line in lines]
    known = {row[0] for row in rows}
    for row in rows:
        if len(row) == 10 and "." in row[8]:
            arcs = [(head, label) for head, label in parse_deps(row[8]) if "." not in head or head in known]
            row[8] = "|".join(f"{head}:{label}" for head, label in arcs or [(row[6], row[7])])
    return ["\t".join(row) for row in rows]


def _id(value: Any) -> str:
    """``3``, ``3-4`` or ``3.1``, from a number, stanza's (3,), (3, 4) or (3, 1), or conllu's (3, "-", 4)."""
    if not isinstance(value, tuple | list):
        return str(value)
    if len(value) != 2:
        return "".join(map(str, value))
    first, second = value
    return f"{first}-{second}" if 0 < first < second else f"{first}.{second}"


def _text(value: Any) -> str:
    """A value as CoNLL-U writes it; ``_`` for none."""
    if isinstance(value, Mapping):
        pairs = (f"{key}={item}" if item is not None else str(key) for key, item in value.items())
        return "|".join(pairs) or "_"
    if isinstance(value, list | tuple):  # conllu's enhanced arcs: (label, head)
        return "|".join(f"{_id(head)}:{label}" for label, head in value) or "_"
    return "_" if value is None or value == "" else str(value)
