"""What parsers around another parser share."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from graphdep.parsing.items import Item, Words
from graphdep.parsing.parsed import Parsed
from graphdep.parsing.parser import Parser


class AroundParser(Parser):
    """A parser that gives what another one gives, in a way of its own.

    Args:
        parser: The other one.
    """

    def __init__(self, parser: Parser) -> None:
        super().__init__(progress=parser.progress)
        self.parser, self.language, self.gives_graphs = parser, parser.language, parser.gives_graphs
        self.gives_constituents = parser.gives_constituents

    @property
    def fingerprint(self) -> str:
        """The parser's fingerprint."""
        return self.parser.fingerprint

    @property
    def fallback(self) -> str:
        """What the parser gives an input that it fails on."""
        return self.parser.fallback

    def known(self, items: Sequence[Item]) -> dict[Item, Parsed]:
        """What the parser knows."""
        return self.parser.known(items)

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Parses a chunk of texts."""
        return self.parser.parse_texts(texts)

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Parses a chunk of sentences whose words are given."""
        return self.parser.parse_sentences(sentences)

    def _pickled(self) -> bytes:
        """The parser, to be sent to other processes."""
        try:
            return pickle.dumps(self.parser)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            name = type(self.parser).__name__
            raise ValueError(f"'parser' cannot be copied to other processes: {name} ({error})") from error
