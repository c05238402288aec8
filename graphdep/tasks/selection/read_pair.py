"""Raw turns and a response as one example."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from torch_geometric.data import Data

from graphdep.data import EncodedUtterance, selection_data
from graphdep.parsing import Parser
from graphdep.parsing.parser import parse_joined
from graphdep.sentence import Sentence
from graphdep.vocab import RelationVocab
from graphdep.vocab.vocab import Tokens


def read_pair(
    texts: Sequence[str],
    parser: Parser,
    tokens: Tokens,
    relations: RelationVocab,
    max_length: int,
    max_turns: int | None = None,
) -> tuple[Data, list[Sentence]]:
    """A context and its response as :func:`~graphdep.data.encoded` has them, and their trees.

    Args:
        texts: The turns of the context, oldest first, and then the response.
        parser: Gives the trees.
        tokens: Ids of words.
        relations: Ids of relations.
        max_length: The largest number of nodes.
        max_turns: Turns of the context, the last ones. (default: all)

    Raises:
        ValueError: If there is no turn beside the response.
    """
    if len(texts) < 2:
        raise ValueError(
            f"'texts' must be the turns of a context, and then a response: at least two (got {len(texts)})"
        )
    *context, response = texts
    trees, _ = parse_joined(parser, [*context[-(max_turns or sys.maxsize) :], response], roots="all")
    *before, last = [EncodedUtterance.of(tree, tokens, relations) for tree in trees]
    return selection_data(before, last, tokens, max_length=max_length), trees
