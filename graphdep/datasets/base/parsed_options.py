"""The options that corpora have in common."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypedDict

from graphdep.vocab import RelationVocab, Tokens, Vocab


class CorpusOptions(TypedDict, total=False):
    """Options of every corpus, all of them keywords.

    Args:
        raw_from: Local folder to copy the raw files from, which are read first: a damaged one is not copied.
            (default: :obj:`None`)
        vocab: The vocabulary, e.g. a checkpoint's; :obj:`None` builds it from the training split, and from
            it alone. (default: :obj:`None`)
        relations: Ids of relations. (default: a fresh :class:`~graphdep.RelationVocab`; where ``arcs`` are
            enhanced, with labels learned from the training split, :meth:`RelationVocab.learn`)
        min_freq: Words seen less often are unknown, where the vocabulary is built. (default: :obj:`1`; of
            dialogues :obj:`3`)
        lower: Look words up in lower case, where the vocabulary is built. (default: :obj:`True`)
        limit: Use so many examples of the split only, the first ones unless the corpus says otherwise; acts
            before parsing. A vocabulary that is built is then that of the limited training split, or for
            another split that of the whole training split. (default: :obj:`None`)
        transform: Applied to an example each time that it is asked for, as in PyG. (default: :obj:`None`)
        log: Say on stderr what is processed, as in PyG. (default: :obj:`True`)
        force_reload: Process again what has been processed, as in PyG. (default: :obj:`False`)
    """

    raw_from: str | os.PathLike[str] | None
    vocab: Vocab | None
    relations: RelationVocab | None
    min_freq: int
    lower: bool
    limit: int | None
    transform: Callable | None
    log: bool
    force_reload: bool


class SavedOptions(CorpusOptions, total=False):
    """Options of the corpora whose examples are saved: those of :class:`CorpusOptions`, and these.

    Args:
        pre_transform, pre_filter: Applied before examples are saved, as in PyG; objects, not functions.
            (default: :obj:`None`)
    """

    pre_transform: Callable | None
    pre_filter: Callable | None


class ParsedOptions(SavedOptions, total=False):
    """Options of every corpus of sentences: those of :class:`SavedOptions`, and these.

    Args:
        vocab_from: Where a vocabulary is built from. ``"train"``: the training split alone, so that a word it
            does not have is [UNK], whatever the split. ``"vectors"``: besides, each word of any split, be it
            ever so rare, that has a vector in :obj:`vectors` gets a row of its own, after the others, which
            keep their ids. No label is seen, but the words of the test split are, as by all who load GloVe
            for the words of a whole corpus (Tree-LSTM's code does). It is not the default, so that a score
            is one of a model which has not seen the test texts. (default: ``"train"``)
        vectors: With ``vocab_from="vectors"`` the file, as :func:`~graphdep.vocab.vectors.load_vectors` reads
            it. (default: :obj:`None`)
        tokens: Ids of words' pieces, in place of a vocabulary; an example then is one text or a pair, and
            :attr:`vocab` has no words. (default: :obj:`None`)
        max_length: With ``tokens``, the largest number of nodes of an example; :obj:`None` cuts nothing.
            (default: :obj:`None`)
        arcs: Where ``arc_index`` comes from: the ``"basic"`` trees, or enhanced graphs, made of trees for
            which the parser gives none (:func:`graphdep.parsing.enhanced`): ``"ud"`` or ``"ud++"``, or by
            pybart ``"enhanced"`` or ``"enhanced++"``. (default: ``"basic"``)
        constituents: Read constituents, which the parser has to give
            (``resolve_parser("bundled", constituents=True)``), for edges such as ``"constituents"``;
            ``"tagged"`` also the tags of words, where there are no ``tokens``. (default: :obj:`False`)
        root_node: Put a ROOT node before the words of each sentence; there is none where ``tokens`` are
            given. (default: :obj:`True`)
    """

    vocab_from: str
    vectors: str | os.PathLike[str] | None
    tokens: Tokens | None
    max_length: int | None
    arcs: str
    constituents: bool | str
    root_node: bool
