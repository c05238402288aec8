"""Information that edges carry beside their pairs, and whether a model reads it."""

from __future__ import annotations

import functools
from collections.abc import Set
from typing import Any

import torch
from torch_geometric.data import Batch
from torch_geometric.transforms import BaseTransform

from graphdep.data import EncodedUtterance, NodeType, text_data
from graphdep.sentence import Sentence
from graphdep.transforms.edge_set import (
    CLIQUES,
    CLS,
    CLS_ALL,
    DISTANCES,
    MARKS,
    NODES,
    ROOT,
    TYPES,
    EdgeSet,
    steps_of,
)
from graphdep.transforms.fingerprint import applied_to_probe, with_marks
from graphdep.transforms.nodes import Nodes
from graphdep.vocab import RelationVocab, Vocab, VocabTokens

_COLUMNS = {"edge_type": frozenset({TYPES, DISTANCES}), "edge_mark": frozenset({MARKS})}
_PAIRS = ("edge_index", "edge_index_explicit")


def carried(edges: BaseTransform) -> frozenset[str]:
    """Kinds of information that edges carry, by their names in :mod:`graphdep.transforms.edge_set`.

    Transforms declare their kinds (``carries``). In a sequence each transform adds its kinds and drops the
    kinds that it overwrites (``drops``). A transform that declares nothing, such as custom edges, is tried on
    a small batch; there each further ``edge_...`` column counts as a kind of its own, named by its key.

    Args:
        edges: A constructor, the transform of a preset, or any other transform.

    Raises:
        ValueError: If a transform that declares nothing fails on that batch.
    """
    found: frozenset[str] = frozenset()
    for step in steps_of(edges):
        own: frozenset[str] | None = getattr(step, "carries", None)
        if own is None:
            return observed(edges)
        found = (found - getattr(step, "drops", frozenset())) | own
    return found


def observed(edges: BaseTransform) -> frozenset[str]:
    """Kinds of information that edges carry on a small batch; arguments and errors as in :func:`carried`."""
    before, after = applied_to_probe(edges)
    found: frozenset[str] = frozenset()
    for key in after:
        if key.startswith("edge_") and key not in _PAIRS:
            found |= _COLUMNS.get(key, frozenset({key}))
    if "clique" in after:
        found |= {CLIQUES}
    if after["node_type"].numel() != before["node_type"].numel():
        found |= {NODES}
    source, target, kind = _pairs(after)
    if bool(((kind[target] == NodeType.ROOT) & (kind[source] != NodeType.ROOT)).any()):
        found |= {ROOT}
    return found | _seen_by_cls(edges)


def unread(carries: Set[str], reads: Set[str]) -> frozenset[str]:
    """Kinds that edges carry and a model does not read.

    Types and distances share one column, so a model that reads one of them reads both. A model that does not
    read ROOT or [CLS] may ignore their edges.
    """
    column = {TYPES, DISTANCES} if reads & {TYPES, DISTANCES} else set()
    return frozenset(carries - reads - column - {ROOT, CLS, CLS_ALL})


def missing(carries: Set[str], reads: Set[str]) -> frozenset[str]:
    """Kinds that a model reads and edges lack. Added nodes and cliques are optional."""
    return frozenset(reads - carries - {NODES, CLIQUES})


def _pairs(data: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Source and target of all pairs, including pairs of cliques, and the node types."""
    nodes = Nodes(Batch(**data))
    clique = data.get("clique")
    edge_index = data.get("edge_index" if clique is None else "edge_index_explicit")
    if edge_index is None:
        edge_index = nodes.index.new_zeros(2, 0)
    source, target = EdgeSet(nodes, edge_index[0], edge_index[1], clique).materialize().edge_index
    return source, target, data["node_type"]


def _seen_by_cls(edges: BaseTransform) -> frozenset[str]:
    try:
        source, target, kind = _pairs(edges(_text_pair().clone()).to_dict())
    except Exception:  # custom edges may support words only
        return frozenset()
    words = kind == NodeType.WORD
    seen = torch.zeros_like(words)
    seen[source[kind[target] == NodeType.CLS]] = True
    if bool(seen[words].all()):
        return frozenset({CLS, CLS_ALL})
    return frozenset({CLS} if bool(seen[words].any()) else ())


@functools.cache
def _text_pair() -> Batch:
    """A pair of texts of two words each, in the format of a pretrained encoder."""
    sentence = Sentence(["a", "b"], [0, 1], ["root", "dep"], constituents=[("NP", 0, 2)])
    tokens = VocabTokens(Vocab([]))
    text = EncodedUtterance.of(sentence, tokens, RelationVocab(), phrases=True)
    batch: Batch = with_marks(Batch.from_data_list([text_data(text, text, tokens=tokens, max_length=16)]))
    return batch
