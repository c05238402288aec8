"""The options that corpora of words and classes have in common."""

from __future__ import annotations

from collections.abc import Sequence

from graphdep.datasets.base.parsed_options import ParsedOptions
from graphdep.datasets.base.text_rows import Label


class WordOptions(ParsedOptions, total=False):
    """Options of every corpus of labelled words or marked spans: those of :class:`ParsedOptions`, and these.

    Args:
        labels: The classes, e.g. a checkpoint's; :obj:`None` for those of the corpus, or where it has no list
            of them for those of the training split, whole as it is. (default: :obj:`None`)
    """

    labels: Sequence[Label] | None
