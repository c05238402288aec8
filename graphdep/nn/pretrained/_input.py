"""What an encoder is given: checked, and as the model takes it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch_geometric.data import Data

from graphdep.nn.models._marks import marks_of
from graphdep.nn.models._related import related_nodes

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


def check_nodes(data: Data, has_relations: bool) -> Tensor:
    """The RELATION nodes of a node table, or its PHRASE nodes, which are read alike.

    Args:
        data: One example or a batch.
        has_relations: Whether RELATION nodes can be read.

    Raises:
        ValueError: If the node table is none that an encoder can read.
    """
    for key in ("input_ids", "position", "segment", *(("node_type", "deprel") if has_relations else ())):
        if key not in data:
            raise ValueError(
                f"the data has no {key!r}: make it with to_data(), text_data() or selection_data()"
            )
    return related_nodes(data, has_relations, "encoder.embedding_channels")


def positions(data: Data, related: Tensor, max_length: int) -> Tensor:
    """The position of each node; RELATION nodes beyond the last one share it, and those without one, of -1,
    have 0, which :func:`without_places` keeps from them.

    Args:
        data: One example or a batch.
        related: The RELATION nodes.
        max_length: The number of positions that there are.

    Raises:
        ValueError: If another node is beyond it.
    """
    inside = data.position[related].clamp(min=0, max=max_length - 1)
    position = data.position.index_copy(0, related, inside)
    beyond = (position >= max_length).nonzero()
    if beyond.numel():
        batch = data.get("batch")
        example = 0 if batch is None else int(batch[beyond[0]])
        own = position if batch is None else position[batch == example]
        raise ValueError(
            f"example {example} has {int(own.max()) + 1} positions, the encoder {max_length}: give a "
            "smaller 'max_length' where the data is made"
        )
    return position


@contextmanager
def without_places(model: Any, data: Data, related: Tensor) -> Iterator[None]:
    """Within it, the model adds no position and no segment to the RELATION nodes of position -1.

    Args:
        model: The model, whose embeddings of positions and of segments have hooks within it.
        data: One example or a batch.
        related: The RELATION nodes.

    Raises:
        ValueError: If there are such nodes, and positions are no embedding of the model's.
    """
    tables = [module for name, module in model.named_modules() if _is_place(name, module)]
    if not related.numel() or not tables:  # to ask for the positions would stall a GPU
        if related.numel() and bool((data.position[related] < 0).any()):
            raise ValueError(
                f"{type(model).__name__} adds no embedding of positions to words, which relations could be "
                "without: give RelationNodes() another 'position' than 'none'"
            )
        yield
        return
    nowhere = (data.position < 0)[None, :, None]

    def leave_out(table: nn.Module, inputs: Any, places: Tensor) -> Tensor:
        return places.masked_fill(nowhere, 0)

    handles = [table.register_forward_hook(leave_out) for table in tables]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _is_place(name: str, module: nn.Module) -> bool:
    of_places = ("position_embeddings", "token_type_embeddings")
    return isinstance(module, nn.Embedding) and name.endswith(of_places)


def node_inputs(
    model: Any, relations: nn.Module | None, marks: nn.Embedding | None, data: Data, related: Tensor
) -> Tensor:
    """Ids of nodes; where relations or marks have an embedding, the vectors that the model adds positions
    to.
    """
    if relations is None and marks is None:
        return data.input_ids
    # The id of a relation may be none of a word; the vector that it gets at first is replaced.
    words = model.get_input_embeddings()(data.input_ids.index_fill(0, related, 0))
    if relations is not None:
        words = words.index_copy(0, related, relations(data.deprel[related]).to(words.dtype))
    return words if marks is None else words + marks_of(data, marks).to(words.dtype)
