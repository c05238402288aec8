"""What the corpora with one candidate a line share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graphdep.datasets.selection.selection_dataset import SelectionDataset
from graphdep.datasets.selection.selection_options import RowsOptions
from graphdep.datasets.selection.selection_rows import read_pools
from graphdep.datasets.selection.store.selection_pool import Pool, Utterance, given_words
from graphdep.parsing import Parser, ParserUnavailableError, resolve_parser

_TAKES = (
    "is in Chinese: it takes a parser of Chinese, such as 'stanza:zh', StanzaParser('zh', directory=FOLDER), "
    "'bundled:FOLDER' with models that examples/research/train_bundled_parser.py made, or 'conllu:FILE' with "
    "the trees"
)

Names = dict[str, tuple[str, ...]]

TEXT_FILES: Names = {
    "train": ("train.txt",),
    "val": ("valid.txt", "dev.txt"),
    "test": ("test.txt",),
}


class RowsSelection(SelectionDataset):
    """Base of the corpora in the layout ``label <TAB> utterances ... <TAB> response``.

    Words are those that white space separates. Lines with the same context that follow one another are one
    pool. Those of test are published with ten candidates each.

    Args:
        root, split, parser: As in :class:`SelectionDataset`.
        pool_size, options: See :class:`RowsOptions`.
    """

    shared_options = RowsOptions

    # The names of each split's file; the first that is there counts.
    files: Mapping[str, tuple[str, ...]] = TEXT_FILES
    sized: tuple[str, ...] = ("test",)

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str,
        parser: str | Parser,
        *,
        pool_size: int | None = 10,
        **options: Any,
    ) -> None:
        if pool_size is not None and pool_size < 1:
            raise ValueError(f"'pool_size' must be at least 1 (got {pool_size})")
        self.pool_size = pool_size
        super().__init__(root, split, parser, **options)

    def raw_files(self, folder: Path, split: str) -> list[Path]:
        return [folder / name for name in self.files[split] if (folder / name).is_file()][:1]

    def raw_file_pattern(self, split: str) -> str:
        return " or ".join(self.files[split])

    def options(self, split: str) -> dict[str, Any]:
        return {"pool_size": self._size(split)}

    def read(self, folder: Path, split: str) -> Iterator[Pool]:
        (path,) = self.raw_files(folder, split)
        return read_pools(path, self.utterance, size=self._size(split))

    def utterance(self, text: str) -> Utterance:
        """An utterance of a column."""
        return given_words(text)

    def _size(self, split: str) -> int | None:
        return self.pool_size if split in self.sized else None


class ChineseSelection(RowsSelection):
    """Base of the corpora in segmented Chinese, for which no parser comes with the package."""

    def _resolve(self, parser: str | Parser, cache: Path, keep_parses: bool) -> Parser:
        made = resolve_parser(parser)
        if made.language is not None and made.language.split("-")[0] != "zh":
            shown = repr(parser) if isinstance(parser, str) else type(parser).__name__
            raise ValueError(f"'parser' is {shown}, of language {made.language!r}. {self.corpus} {_TAKES}")
        resolved = super()._resolve(made, cache, keep_parses)
        try:
            resolved.fingerprint  # noqa: B018  # loads the models, if they are there
        except ParserUnavailableError as error:
            raise ParserUnavailableError(f"{error} {self.corpus} {_TAKES}") from error
        return resolved
