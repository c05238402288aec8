"""Parsed sentences: their trees, how they are joined and cut."""

from graphdep.sentence.binarize import binarize
from graphdep.sentence.clear import clear_to_ud, is_clear
from graphdep.sentence.constituent_heads import constituent_heads
from graphdep.sentence.constituents import FLAT, Constituent, check_constituents
from graphdep.sentence.exchange.as_sentences import as_sentences
from graphdep.sentence.joining import join_sentences
from graphdep.sentence.sentence import Sentence
from graphdep.sentence.tree import EMPTY_ID, RANGE_ID, Row, check_tree, moved_copy, parse_deps

__all__ = [
    "EMPTY_ID",
    "FLAT",
    "RANGE_ID",
    "Constituent",
    "Row",
    "Sentence",
    "as_sentences",
    "binarize",
    "check_constituents",
    "check_tree",
    "clear_to_ud",
    "constituent_heads",
    "is_clear",
    "join_sentences",
    "moved_copy",
    "parse_deps",
]
