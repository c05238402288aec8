"""What the corpora of raw text share: a parser and the trees that it gives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphdep.datasets.parsed_dataset import ParsedDataset
from graphdep.parsing import Parser, resolve_parser
from graphdep.parsing.joining import parse_joined
from graphdep.sentence import Sentence


class TextDataset(ParsedDataset):
    """Base of the corpora whose texts need a parser; parses are kept in ``cache/parses.sqlite``.

    Args:
        root: Folder of the corpus.
        split: ``"train"``, ``"val"`` or ``"test"``.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser.
        root_node: Put a ROOT node before the words of each sentence. (default: :obj:`True`)
        options: As in :class:`ParsedDataset`.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        parser: str | Parser,
        *,
        root_node: bool = True,
        **options: Any,
    ) -> None:
        self._parser = resolve_parser(parser, cache=Path(root).expanduser() / "cache" / "parses.sqlite")
        self.parser_fingerprint = self._parser.fingerprint
        super().__init__(root, split, to_data_options={"root": root_node}, **options)

    def __getstate__(self) -> dict[str, Any]:
        # Models and a database do not travel to the workers of a DataLoader.
        return {key: value for key, value in self.__dict__.items() if key != "_parser"}

    def options(self) -> dict[str, Any]:
        return {"parser": self.parser_fingerprint}

    def trees_of_texts(self, texts: Sequence[str]) -> list[Sentence]:
        """One tree a text (:func:`parse_joined`)."""
        trees, failures = parse_joined(self._parser, texts)
        self.parser_failures += failures
        return trees

    def trees_of_words(self, words: Sequence[Sequence[str]]) -> list[Sentence]:
        """One tree a list of words, which are kept as they are."""
        before = self._parser.failures
        trees = self._parser.parse_words(words)
        self.parser_failures += self._parser.failures - before
        return trees
