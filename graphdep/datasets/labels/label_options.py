"""The options that corpora of labelled words have in common."""

from __future__ import annotations

from collections.abc import Sequence

from graphdep.datasets.base.parsed_options import ParsedOptions
from graphdep.datasets.base.text_rows import Label


class LabelOptions(ParsedOptions, total=False):
    """Options of every corpus of labelled words: those of :class:`ParsedOptions`, and these.

    Args:
        labels: The classes, e.g. a checkpoint's; :obj:`None` learns them from the training split, whole as it
            is. (default: :obj:`None`)
    """

    labels: Sequence[Label] | None
