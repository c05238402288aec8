"""Parsed sentences: reading, converting, joining and cutting their trees."""

from graphdep.sentence.clear import clear_to_ud, is_clear
from graphdep.sentence.intake import Intake, as_sentences
from graphdep.sentence.sentence import Sentence, join_sentences
from graphdep.sentence.tree import (
    EMPTY_ID,
    FLAT,
    RANGE_ID,
    Constituent,
    Row,
    check_constituents,
    check_tree,
    moved_copy,
    parse_deps,
)

__all__ = [
    "EMPTY_ID",
    "FLAT",
    "RANGE_ID",
    "Constituent",
    "Intake",
    "Row",
    "Sentence",
    "as_sentences",
    "check_constituents",
    "check_tree",
    "clear_to_ud",
    "is_clear",
    "join_sentences",
    "moved_copy",
    "parse_deps",
]
