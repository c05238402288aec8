"""Douban: conversations of a Chinese social network."""

from __future__ import annotations

import os
from typing import Unpack

from graphdep.datasets.selection.rows_selection import TEXT_FILES, ChineseSelection
from graphdep.datasets.selection.selection_options import RowsOptions
from graphdep.parsing import Parser


class Douban(ChineseSelection):
    r"""Response selection of `"Sequential Matching Network: A New Architecture for Multi-turn Response
    Selection in Retrieval-Based Chatbots" <https://aclanthology.org/P17-1046/>`_, in Chinese.

    A line is ``label <TAB> utterances ... <TAB> response``. The words are given: white space separates them.
    Train and val are made with a random negative for each true response; test has ten candidates a context
    from a search engine, judged by people. So a pool of test may have several right candidates, or none; both
    are counted and kept, and :func:`graphdep.metrics.ranking_metrics` says which to leave out.

    Args:
        root: Folder of the corpus. (default: ``"datasets/douban"``)
        split: ``"train"``, ``"val"`` or ``"test"``. (default: ``"train"``)
        parser: A parser of Chinese: name for :func:`graphdep.parsing.resolve_parser`, or a parser. None comes
            with the package. (default: ``"stanza:zh"``)
        options: Further ones, see :class:`RowsOptions`.

    Raises:
        FileNotFoundError: If a raw file is missing; the message says where to get it.
        ParserUnavailableError: If there is no parser; the message says what to give.
        ValueError: If an option is wrong, the parser is known to be of another language, or a line of a raw
            file is damaged: the message has file, line and value.

    Example:
        >>> from graphdep.datasets import Douban
        >>> dataset = Douban("datasets/douban", split="test", parser="chain", pool_size=None)
        >>> len(dataset), [float(dataset[i].y) for i in range(3)]
        (10, [1.0, 0.0, 0.0])
    """

    corpus = "Douban"
    published = "https://github.com/MarkWuNLP/MultiTurnResponseSelection"
    files = TEXT_FILES | {"train": ("train.txt", "train.sample")}

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/douban",
        split: str = "train",
        parser: str | Parser = "stanza:zh",
        **options: Unpack[RowsOptions],
    ) -> None:
        super().__init__(root, split, parser, **options)
