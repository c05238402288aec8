"""No parse at all: words at white space, in a chain."""

from __future__ import annotations

from collections.abc import Sequence

from graphdep.parsing.items import Words
from graphdep.parsing.parsed import Parsed
from graphdep.parsing.parser import Parser
from graphdep.sentence import Sentence


class ChainParser(Parser):
    """Cuts a text at white space and makes each word depend on the one before it.

    For what does not look at trees, and for controls. Its chains are what was asked for, and are not counted
    as failures.
    """

    gives_graphs = False

    @property
    def fingerprint(self) -> str:
        """The same always: there is nothing to choose."""
        return "chain/1"

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """A chain a text; none for a text of white space."""
        return [Parsed([Sentence.chain(words)] if (words := text.split()) else []) for text in texts]

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """A chain for each list of words."""
        return [Parsed([Sentence.chain(list(words))]) for words in sentences]
