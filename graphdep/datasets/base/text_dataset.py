"""What the corpora of raw text share: a parser and the trees that it gives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from graphdep.datasets.base.parsed_dataset import ParsedDataset
from graphdep.datasets.base.parsed_options import ParsedOptions
from graphdep.parsing import Parser, enhance, enhance_fingerprint, resolve_parser
from graphdep.parsing.parser import parse_joined
from graphdep.sentence import Sentence


class TextDataset(ParsedDataset):
    """Base of the corpora whose texts need a parser; parses are kept in ``cache/parses.sqlite``.

    Args:
        root: Folder of the corpus.
        split: ``"train"``, ``"val"`` or ``"test"``.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser.
        options: Further ones, see :class:`ParsedOptions`.
    """

    shared_options: ClassVar[type] = ParsedOptions

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        parser: str | Parser,
        *,
        root_node: bool = True,
        **options: Any,
    ) -> None:
        cache = Path(root).expanduser() / "cache" / "parses.sqlite"
        reads = {"arcs": options.get("arcs", "basic"), "constituents": bool(options.get("constituents"))}
        self._parser = resolve_parser(parser, cache=cache, **reads)
        self.parser_fingerprint = self._parser.fingerprint
        super().__init__(root, split, to_data_options={"root": root_node}, **options)

    def __getstate__(self) -> dict[str, Any]:
        # Models and a database do not travel to the workers of a DataLoader.
        return {key: value for key, value in self.__dict__.items() if key != "_parser"}

    def options(self) -> dict[str, Any]:
        enhanced = {} if self.arcs == "basic" else {"enhance": enhance_fingerprint(self.arcs)}
        return {"parser": self.parser_fingerprint, **enhanced}

    def trees_of_texts(self, texts: Sequence[str], roots: str = "first") -> list[Sentence]:
        """One tree a text (:func:`parse_joined`)."""
        trees, failures = parse_joined(self._parser, texts, roots=roots)
        self.parser_failures += failures
        return self._enhanced(trees)

    def trees_of_words(self, words: Sequence[Sequence[str]]) -> list[Sentence]:
        """One tree a list of words, which are kept as they are."""
        before = self._parser.failures
        trees = self._parser.parse_words(words)
        self.parser_failures += self._parser.failures - before
        return self._enhanced(trees)

    def _enhanced(self, trees: list[Sentence]) -> list[Sentence]:
        return trees if self.arcs == "basic" else enhance(trees, level=self.arcs)
