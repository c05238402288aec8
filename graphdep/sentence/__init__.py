"""Parsed sentences: their trees, how they are joined and cut."""

from graphdep.sentence.joining import join_sentences
from graphdep.sentence.sentence import (
    EMPTY_ID,
    RANGE_ID,
    Row,
    Sentence,
    check_tree,
    moved_copy,
    parse_deps,
)

__all__ = [
    "EMPTY_ID",
    "RANGE_ID",
    "Row",
    "Sentence",
    "check_tree",
    "join_sentences",
    "moved_copy",
    "parse_deps",
]
