"""What an encoder is given: checked, and as the model takes it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.data import NodeType

logger = logging.getLogger("graphdep.nn.pretrained")


def check_texts(texts: Sequence[str | tuple[str, str]]) -> list[tuple[str, ...]]:
    """One or two strings a text."""
    if isinstance(texts, str) or len(texts) == 0:
        raise ValueError(f"'texts' must be a list of at least one text (got {texts!r})")
    parts = []
    for number, text in enumerate(texts):
        part = tuple(text) if isinstance(text, (tuple, list)) else (text,)
        if len(part) not in (1, 2) or not all(isinstance(x, str) for x in part):
            raise ValueError(f"'texts[{number}]' must be a string or a pair of strings (got {text!r})")
        if not all(x.strip() for x in part):
            raise ValueError(f"'texts[{number}]' is blank: it has no words (got {text!r})")
        parts.append(part)
    return parts


def warn_of_cuts(cut_words: Tensor, max_length: int) -> None:
    """One warning for all texts that do not fit."""
    texts, words = int(cut_words.any(dim=1).sum()), int(cut_words.sum())
    if words:
        logger.warning(
            "%d of %d texts do not fit into %d nodes: %d words are cut (see 'cut_words')",
            texts,
            len(cut_words),
            max_length,
            words,
        )


def check_nodes(data: Data, max_length: int, has_relations: bool) -> None:
    """Raises :class:`ValueError` unless the node table is one that an encoder can read.

    Args:
        data: One example or a batch.
        max_length: The number of positions that there are.
        has_relations: Whether RELATION nodes can be read.
    """
    for key in ("input_ids", "position", "segment"):
        if key not in data:
            raise ValueError(
                f"the data has no {key!r}: make it with to_data(), text_data() or selection_data()"
            )
    kind = data.get("node_type")
    if not has_relations and kind is not None and bool((kind == NodeType.RELATION).any()):
        raise ValueError(
            "the data has RELATION nodes, for which the encoder has no vectors: give it some with "
            "add_relations(RelationEmbedding(len(relations), encoder.embedding_channels))"
        )
    beyond = (data.position >= max_length).nonzero()
    if beyond.numel():
        raise ValueError(_too_long(data, max_length, int(beyond[0])))


def _too_long(data: Data, max_length: int, node: int) -> str:
    batch, kind = data.get("batch"), data.get("node_type")
    example = 0 if batch is None else int(batch[node])
    inside = data.position if batch is None else data.position[batch == example]
    way = "give a smaller 'max_length' where the data is made"
    if kind is not None and kind[node] == NodeType.RELATION:
        way = f"give relation nodes those of words, e.g. resolve('dam', position='dependent'), or {way}"
    return f"example {example} has {int(inside.max()) + 1} positions, the encoder {max_length}: {way}"


def node_inputs(model: Any, relations: nn.Module | None, data: Data) -> Tensor:
    """Ids of nodes; where relations have an embedding, the vectors that the model adds positions to."""
    if relations is None:
        return data.input_ids
    related = (data.node_type == NodeType.RELATION).nonzero().view(-1)
    # The id of a relation may be none of a word; the vector that it gets at first is replaced.
    words = model.get_input_embeddings()(data.input_ids.index_fill(0, related, 0))
    return words.index_copy(0, related, relations(data.deprel[related]).to(words.dtype))
