"""Constituents that are there already."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from graphdep.io import read_ptb
from graphdep.parsing.bundled_parser import BundledParser
from graphdep.parsing.chain_parser import ChainParser
from graphdep.parsing.digest import files_digest
from graphdep.parsing.items import Item, Words
from graphdep.parsing.parsed import Parsed
from graphdep.parsing.parser import Parser
from graphdep.parsing.sentence_lookup import SentenceLookup
from graphdep.sentence import Sentence
from graphdep.sentence.ptb import plain_words

_DEPENDENCIES = {"bundled": BundledParser, "chain": ChainParser}


class PtbParser(Parser):
    """Looks sentences up in a file of Penn Treebank brackets, by their text or by their words.

    The words, the tags and :attr:`Sentence.constituents` are those of the file
    (:func:`~graphdep.io.read_ptb`), the dependency tree is that of another parser for these words. A text is
    one sentence of the file, or several that follow one another there. White space is not compared, for
    brackets do not tell of it; the Treebank's quotes and escaped slashes and stars are compared as the plain
    signs, the first of equal sentences is taken, and an unknown text is an error.

    Args:
        path: The file.
        dependencies: ``"bundled"`` (English), ``"chain"`` (no parse), or a :class:`Parser`.
            (default: ``"bundled"``)
        functions: Keep function tags and indices on labels. (default: :obj:`False`)
        progress: Show a progress bar; see :class:`Parser`. (default: :obj:`None`)

    Raises:
        PtbError: If the file is not valid.
        OSError: If the file cannot be read.
        ValueError: If :obj:`dependencies` is unknown, or :obj:`functions` no bool.

    Example:
        >>> from pathlib import Path
        >>> from graphdep.parsing import PtbParser
        >>> _ = Path("trees.mrg").write_text("(ROOT (S (NP (PRP She)) (VP (VBZ sings))))")
        >>> [[sentence]] = PtbParser("trees.mrg", dependencies="chain").parse(["She sings"])
        >>> sentence.constituents
        [('S', 0, 2), ('NP', 0, 1), ('VP', 1, 2)]
    """

    gives_graphs = False
    gives_constituents = True

    def __init__(
        self,
        path: str | Path,
        *,
        dependencies: str | Parser = "bundled",
        functions: bool = False,
        progress: bool | None = None,
    ) -> None:
        super().__init__(progress=progress)
        if not isinstance(dependencies, Parser) and dependencies not in _DEPENDENCIES:
            raise ValueError(
                f"'dependencies' must be a parser or one of {', '.join(_DEPENDENCIES)} (got {dependencies!r})"
            )
        if not isinstance(functions, bool):
            raise ValueError(f"'functions' must be True or False (got {functions!r})")
        self.path, self.functions = Path(path), functions
        found = read_ptb(self.path, functions=functions)
        self._digest = files_digest([self.path])
        self._look_up = SentenceLookup(found, self.path, _without_spaces)
        named = dependencies if isinstance(dependencies, Parser) else _DEPENDENCIES[dependencies]()
        self.dependencies: Parser = named

    @property
    def fingerprint(self) -> str:
        """The digest of the file, and what else is read of it; the parser of dependencies."""
        kept = "/functions" if self.functions else ""
        return f"ptb/{self._digest}{kept}/{self.dependencies.fingerprint}"

    @property
    def fallback(self) -> str:
        """The constituents are those of the file all the same."""
        return "a chain tree"

    def parse_items(self, items: Sequence[Item]) -> list[Parsed]:
        """Looks inputs up; what is missing is an error, not a chain tree."""
        found = [self._look_up(item) for item in items]
        words: list[Item] = [*dict.fromkeys(tuple(sentence.form) for mine in found for sentence in mine)]
        trees = dict(zip(words, self.dependencies.parse_items(words)))
        return [_parsed(mine, [trees[tuple(sentence.form)] for sentence in mine]) for mine in found]

    def parse_texts(self, texts: Sequence[str]) -> list[Parsed]:
        """Looks texts up."""
        return self.parse_items(texts)

    def parse_sentences(self, sentences: Sequence[Words]) -> list[Parsed]:
        """Looks sentences up by their words."""
        return self.parse_items(sentences)


def _parsed(sentences: Sequence[Sentence], trees: Sequence[Parsed]) -> Parsed:
    whole = [
        dataclasses.replace(
            tree.sentences[0],
            xpos=sentence.xpos or tree.sentences[0].xpos,
            constituents=sentence.constituents,
        )
        for sentence, tree in zip(sentences, trees)
    ]
    failure = next((tree.failure for tree in trees if tree.failure), None)
    return Parsed(whole, failure, all(tree.final for tree in trees))


def _without_spaces(text: str) -> str:
    return plain_words("".join(text.split()))
