"""Sentences as PyG ``Data``: node tables, utterances as arrays, and the inputs of encoders."""

from graphdep.data.encoded_utterance import EncodedUtterance
from graphdep.data.expand import expand_pieces, utterance_data
from graphdep.data.mark_words import mark_words
from graphdep.data.node_table import NodeType, join_utterances, to_data
from graphdep.data.selection_data import selection_data
from graphdep.data.stored_batches import StoredBatches
from graphdep.data.text_data import text_data
from graphdep.data.trees_data import trees_data

__all__ = [
    "EncodedUtterance",
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
]
