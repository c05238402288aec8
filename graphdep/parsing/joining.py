"""Several sentences as one tree, and one tree a text."""

from __future__ import annotations

from collections.abc import Sequence

from graphdep.parsing.parsed import chain_sentence
from graphdep.parsing.parser import Parser
from graphdep.sentence import Sentence, join_sentences


def parse_joined(parser: Parser, texts: Sequence[str], *, roots: str = "first") -> tuple[list[Sentence], int]:
    """One tree a text, also where the parser sees several sentences (:func:`join_sentences`).

    A text that the parser finds no word in has a chain for a tree, cut at white space.

    Args:
        parser: The parser.
        texts: The texts, none of them blank.
        roots: As in :func:`join_sentences`. (default: ``"first"``)

    Returns:
        The trees, and how many are chains instead of parses.
    """
    before = parser.failures
    parses = parser.parse(texts)
    trees = [
        join_sentences(parse, roots=roots) if parse else chain_sentence(text.split(), "no sentence in it")
        for text, parse in zip(texts, parses)
    ]
    return trees, parser.failures - before + sum(not parse for parse in parses)
