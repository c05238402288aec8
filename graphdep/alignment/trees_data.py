"""Parsed texts as one example of a task."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from torch_geometric.data import Data

from graphdep.alignment.encoded_utterance import EncodedUtterance
from graphdep.alignment.text_data import text_data
from graphdep.alignment.tokens import Tokens
from graphdep.data import to_data
from graphdep.sentence import Sentence
from graphdep.vocab import RelationVocab, Vocab


def trees_data(
    trees: Sequence[Sentence],
    relations: RelationVocab,
    *,
    vocab: Vocab | None = None,
    tokens: Tokens | None = None,
    max_length: int | None = None,
    arcs: str = "basic",
    **options: Any,
) -> Data:
    """Parsed texts as one example: with :obj:`tokens`, as pretrained encoders read a text or a pair, that of
    :func:`text_data`; else that of :func:`graphdep.to_data`.

    Args:
        trees: The tree of each text.
        relations: Ids of relations.
        vocab: Ids of words. (default: :obj:`None`)
        tokens: Ids of words' pieces. (default: :obj:`None`)
        max_length: With :obj:`tokens`, the largest number of nodes; :obj:`None` cuts nothing.
            (default: :obj:`None`)
        arcs: ``"basic"``, or another word for the arcs that :attr:`Sentence.deps` has. (default: ``"basic"``)
        **options: Further arguments of :func:`graphdep.to_data`.
    """
    graph = "basic" if arcs == "basic" else "enhanced"  # the levels differ in the sentences only
    if tokens is None:
        return to_data(trees, vocab=vocab, relations=relations, arcs=graph, **options)
    texts = [EncodedUtterance.of(tree, tokens, relations, graph) for tree in trees]
    return text_data(*texts, tokens=tokens, max_length=sys.maxsize if max_length is None else max_length)
