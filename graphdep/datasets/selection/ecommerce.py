"""E-commerce: conversations of customers and staff of Taobao."""

from __future__ import annotations

import os
from typing import Unpack

from graphdep.datasets.selection.rows_selection import TEXT_FILES, ChineseSelection
from graphdep.datasets.selection.selection_options import RowsOptions
from graphdep.parsing import Parser


class ECommerce(ChineseSelection):
    r"""Response selection of `"Modeling Multi-turn Conversation with Deep Utterance Aggregation"
    <https://aclanthology.org/C18-1317/>`_, in Chinese.

    A line is ``label <TAB> utterances ... <TAB> response``. The words are given: white space separates them.
    Train and val have one negative for each true response, test nine.

    Args:
        root: Folder of the corpus. (default: ``"datasets/ecommerce"``)
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
        >>> from graphdep.datasets import ECommerce
        >>> dataset = ECommerce("datasets/ecommerce", split="test", parser="chain", pool_size=None)
        >>> len(dataset), [float(dataset[i].y) for i in range(3)]
        (10, [1.0, 0.0, 0.0])
    """

    corpus = "E-commerce"
    published = "https://github.com/cooelf/DeepUtteranceAggregation"
    files = {  # noqa: RUF012
        "train": (*TEXT_FILES["train"], "ECD_sample-train.txt"),
        "val": (*TEXT_FILES["val"], "ECD_sample-valid.txt"),
        "test": (*TEXT_FILES["test"], "ECD_sample-test.txt"),
    }

    def __init__(
        self,
        root: str | os.PathLike[str] = "datasets/ecommerce",
        split: str = "train",
        parser: str | Parser = "stanza:zh",
        **options: Unpack[RowsOptions],
    ) -> None:
        super().__init__(root, split, parser, **options)
