"""The options that the corpora of response selection have in common."""

from __future__ import annotations

from graphdep.datasets.base.parsed_options import CorpusOptions
from graphdep.vocab import Tokens


class SelectionOptions(CorpusOptions, total=False):
    """Options of every corpus of response selection: those of :class:`CorpusOptions`, and these.

    ``vocab`` is built of the different utterances of the training split, each counted once. ``limit`` counts
    pairs, of whole pools that are spread evenly over the split: at least as many where all pools have one
    size, else about as many (``spread``).

    Args:
        tokens: Ids of words' pieces; :obj:`None` for those of ``vocab``. (default: :obj:`None`)
        max_length: The largest number of nodes of an example; see :func:`~graphdep.data.encoded`
            for what is cut. (default: :obj:`256`)
        max_turns: The number of utterances of a context, the last ones; :obj:`None` for all.
            (default: :obj:`None`)
        keep_parses: Keep parses in ``cache/parses.sqlite``; off where the parser is faster than the disk.
            (default: :obj:`True`)
        cache_size: The number of utterances that are kept in memory, those that were used last.
            (default: :obj:`20_000`)
    """

    tokens: Tokens | None
    max_length: int
    max_turns: int | None
    keep_parses: bool
    cache_size: int


class RowsOptions(SelectionOptions, total=False):
    """Options of the corpora with one candidate a line: those of :class:`SelectionOptions`, and this one.

    Args:
        pool_size: The number of candidates that every pool of test must have; :obj:`None` for any number.
            (default: :obj:`10`)
    """

    pool_size: int | None


class DrawnOptions(SelectionOptions, total=False):
    """Options of the corpora with drawn negatives: those of :class:`SelectionOptions`, and these.

    Args:
        negatives: The number of negatives of a pool; :obj:`None` for 1 in train and 9 in val and test.
            (default: :obj:`None`)
        seed: What the draws start from. (default: :obj:`0`)
    """

    negatives: int | None
    seed: int
