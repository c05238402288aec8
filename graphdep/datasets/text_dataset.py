"""What the corpora of raw text share: a parser and the trees that it gives."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from graphdep.datasets.joining import join_sentences
from graphdep.datasets.parsed_dataset import ParsedDataset
from graphdep.parsing import Parser, resolve_parser
from graphdep.sentence import Sentence

T = TypeVar("T")


class TextDataset(ParsedDataset):
    """Base of the corpora whose texts need a parser; parses are kept in ``cache/parses.sqlite``.

    Args:
        root: Folder of the corpus.
        split: ``"train"``, ``"val"`` or ``"test"``.
        parser: Name for :func:`graphdep.parsing.resolve_parser`, or a parser.
        root_node: Put a ROOT node before the words of each sentence. (default: :obj:`True`)
        options: As in :class:`ParsedDataset`.
    """

    labels: tuple[str, ...]

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
        super().__init__(root, split, to_data_options={"root": root_node}, **options)

    def __getstate__(self) -> dict[str, Any]:
        # Models and a database do not travel to the workers of a DataLoader.
        return {key: value for key, value in self.__dict__.items() if key != "_parser"}

    def options(self) -> dict[str, Any]:
        return {"parser": self._parser.fingerprint}

    @property
    def num_classes(self) -> int:
        """The number of labels, whatever the split holds."""
        return len(self.labels)

    def trees_of_texts(self, texts: Sequence[str]) -> list[Sentence]:
        """One tree a text, also where the parser sees several sentences (:func:`join_sentences`)."""
        return [join_sentences(parse) for parse in self._counting(self._parser.parse, texts)]

    def trees_of_words(self, words: Sequence[Sequence[str]]) -> list[Sentence]:
        """One tree a list of words, which are kept as they are."""
        return self._counting(self._parser.parse_words, words)

    def _counting(self, parse: Callable[[Any], list[T]], items: Sequence[Any]) -> list[T]:
        before = self._parser.failures
        parsed = parse(items)
        self.parser_failures += self._parser.failures - before
        return parsed
