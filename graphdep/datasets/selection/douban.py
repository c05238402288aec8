"""Douban: conversations of a Chinese social network."""

from __future__ import annotations

import os
from collections.abc import Callable

from graphdep.datasets.selection.rows_selection import TEXT_FILES, ChineseSelection
from graphdep.parsing import Parser
from graphdep.vocab import RelationVocab, Tokens, Vocab


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
        pool_size: The number of candidates that every pool of test must have; :obj:`None` for any number.
            (default: :obj:`10`)
        raw_from: Local folder that has the raw files. (default: :obj:`None`)
        tokens: Ids of words' pieces; :obj:`None` for those of the vocabulary. (default: :obj:`None`)
        max_length: The largest number of nodes of an example. (default: :obj:`256`)
        max_turns: The number of utterances of a context, the last ones; :obj:`None` for all.
            (default: :obj:`None`)
        vocab: Vocabulary; :obj:`None` builds it from the training split. (default: :obj:`None`)
        relations: Ids of relations. (default: a fresh :class:`~graphdep.RelationVocab`)
        min_freq: Words seen less often are unknown, where the vocabulary is built. (default: :obj:`1`)
        lower: Look words up in lower case, where the vocabulary is built. (default: :obj:`True`)
        limit: Use that many pairs, of pools spread over the split; acts before parsing. (default:
            :obj:`None`)
        keep_parses, cache_size, transform, log, force_reload: As in :class:`SelectionDataset`.

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
        *,
        raw_from: str | os.PathLike[str] | None = None,
        tokens: Tokens | None = None,
        max_length: int = 256,
        max_turns: int | None = None,
        pool_size: int | None = 10,
        vocab: Vocab | None = None,
        relations: RelationVocab | None = None,
        min_freq: int = 1,
        lower: bool = True,
        limit: int | None = None,
        keep_parses: bool = True,
        cache_size: int = 20_000,
        transform: Callable | None = None,
        log: bool = True,
        force_reload: bool = False,
    ) -> None:
        super().__init__(
            root,
            split,
            parser,
            raw_from=raw_from,
            tokens=tokens,
            max_length=max_length,
            max_turns=max_turns,
            pool_size=pool_size,
            vocab=vocab,
            relations=relations,
            min_freq=min_freq,
            lower=lower,
            limit=limit,
            keep_parses=keep_parses,
            cache_size=cache_size,
            transform=transform,
            log=log,
            force_reload=force_reload,
        )
