"""Sentences as PyG ``Data``: node tables, utterances as arrays, and encoder inputs."""

from graphdep.data.encoded import selection_data, text_data, trees_data
from graphdep.data.filler import Filler, without_fillers
from graphdep.data.node_table import (
    EncodedUtterance,
    NodeType,
    expand_pieces,
    join_utterances,
    mark_words,
    to_data,
    utterance_data,
)
from graphdep.data.stored_batches import StoredBatches

__all__ = [
    "EncodedUtterance",
    "Filler",
    "NodeType",
    "StoredBatches",
    "expand_pieces",
    "join_utterances",
    "mark_words",
    "selection_data",
    "text_data",
    "to_data",
    "trees_data",
    "utterance_data",
    "without_fillers",
]
