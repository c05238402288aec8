"""Parsed texts as one example of a task."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from torch_geometric.data import Data

from graphdep.data.encoded_utterance import EncodedUtterance, check_copies
from graphdep.data.node_table import to_data
from graphdep.data.text_data import text_data
from graphdep.parsing.enhanced import check_arcs
from graphdep.sentence import Sentence
from graphdep.vocab import RelationVocab, Vocab
from graphdep.vocab.vocab import Tokens

# What the layout of text_data() settles by itself.
_SETTLED = ("segment", "root")


def trees_data(
    trees: Sequence[Sentence],
    relations: RelationVocab,
    *,
    vocab: Vocab | None = None,
    tokens: Tokens | None = None,
    max_length: int | None = None,
    arcs: str = "basic",
    copies: str = "word",
    phrases: bool | str = False,
    **options: Any,
) -> Data:
    r"""Parsed texts as one example: with :obj:`tokens`, as pretrained encoders read a text or a pair, that of
    :func:`text_data`; else that of :func:`graphdep.to_data`.

    Args:
        trees: The tree of each text; with :obj:`tokens`, of one text or two.
        relations: Ids of relations.
        vocab: Ids of words, which :obj:`tokens` have in place of it. (default: :obj:`None`)
        tokens: Ids of words' pieces. (default: :obj:`None`)
        max_length: With :obj:`tokens`, the largest number of nodes, and :obj:`None` cuts nothing; without,
            nothing is cut and it is not read. (default: :obj:`None`)
        arcs: ``"basic"``, or ``"enhanced"`` or ``"enhanced++"`` for those of :attr:`Sentence.deps`, which
            one of the two has made. (default: ``"basic"``)
        copies: With :obj:`tokens`, what becomes of copies of words in enhanced graphs: ``"word"`` gives their
            arcs to the word itself, ``"node"`` gives them nodes (:meth:`EncodedUtterance.of`). Without, they
            are nodes and it is not read. (default: ``"word"``)
        phrases: Read :attr:`Sentence.constituents`, without nodes for them, which edges ``"constituents"``
            make: :obj:`phrase_index` and :obj:`phrase_type`; ``"tagged"`` also :obj:`tag`, where there are no
            :obj:`tokens`. (default: :obj:`False`)
        **options: Further arguments of :func:`graphdep.to_data`. With :obj:`tokens` there are only
            :obj:`segment` and :obj:`root`, which are not read: an example has the segments of a pair and no
            ROOT nodes.

    Shapes:
        - all keys as in :func:`text_data` or :func:`graphdep.to_data`

    Raises:
        ValueError: If :obj:`arcs` or :obj:`copies` is unknown, :obj:`tokens` get an option that they have no
            use for, or there is no text, or with :obj:`tokens` more than two; and as :func:`text_data` and
            :func:`graphdep.to_data`.
    """
    check_arcs(arcs)
    check_copies(copies)
    graph = "basic" if arcs == "basic" else "enhanced"  # the levels differ in the sentences only
    if tokens is None:
        return to_data(
            trees,
            vocab=vocab,
            relations=relations,
            arcs=graph,
            phrases="spans" if phrases is True else phrases,
            **options,
        )
    unread = sorted(options.keys() - set(_SETTLED))
    if unread:
        raise ValueError(f"{unread[0]!r} is not for 'tokens' (got {options[unread[0]]!r})")
    if not 1 <= len(trees) <= 2:
        raise ValueError(f"'trees' must be of one text or two where 'tokens' are given (got {len(trees)})")
    texts = [
        EncodedUtterance.of(tree, tokens, relations, graph, copies=copies, phrases=bool(phrases))
        for tree in trees
    ]
    return text_data(*texts, tokens=tokens, max_length=sys.maxsize if max_length is None else max_length)
