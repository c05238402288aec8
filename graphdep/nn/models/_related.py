"""The nodes of a table that stand for relations or phrases, and not for words."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data import NodeType


def related_nodes(data: Data, has_relations: bool, channels: str) -> Tensor:
    """The RELATION nodes of a node table, or its PHRASE nodes, which are read alike.

    Args:
        data: One example or a batch.
        has_relations: Whether there are vectors for them.
        channels: What their size is called, for the error.

    Raises:
        ValueError: If there are some and no vectors for them, or some that no key names.
    """
    # To look for them by their type would stall a GPU.
    given = [data[key] for key in ("arc_node_index", "phrase_node_index") if key in data]
    related = torch.cat(given) if given else data.input_ids.new_zeros(0)
    on_cpu = data.input_ids.device.type == "cpu" and not torch.compiler.is_compiling()
    if on_cpu and "node_type" in data:
        kinds = data.node_type
        found = int(((kinds == NodeType.RELATION) | (kinds == NodeType.PHRASE)).sum())
        if found != related.numel():
            raise ValueError(
                f"the data has {found} RELATION and PHRASE nodes, but 'arc_node_index' and "
                f"'phrase_node_index' name {related.numel()}: let RelationNodes() or PhraseNodes() make "
                "them, in all examples of a batch"
            )
    if related.numel() and not has_relations:
        phrases = "phrase_node_index" in data
        kind, labels = ("PHRASE", "PhraseVocab()") if phrases else ("RELATION", "relations")
        raise ValueError(
            f"the data has {kind} nodes, for which the encoder has no vectors: give it some with "
            f"add_relations(RelationEmbedding(len({labels}), {channels}))"
        )
    return related
