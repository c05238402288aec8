"""Words and the pieces that stand for them."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphdep.data.node_table import NodeType, to_data
from graphdep.sentence import Sentence
from graphdep.vocab import ROOT_ID, RelationVocab, Vocab
from graphdep.vocab.pieces import PieceVocab

# What a piece has of its word.
_INHERITED = ("node_type", "deprel", "depth", "utterance", "word", "segment")


def utterance_data(tree: Sentence, vocab: Vocab, relations: RelationVocab, *, root: bool = True) -> Data:
    """One utterance alone: :func:`graphdep.to_data`, with a node for each piece of a word if the vocabulary
    has pieces.

    Args:
        tree: The words and their tree.
        vocab: Ids of words or of pieces.
        relations: Ids of relations.
        root: Put a ROOT node before the words. (default: :obj:`True`)
    """
    if not isinstance(vocab, PieceVocab):
        return to_data([tree], vocab=vocab, relations=relations, root=root)
    words = [vocab.encode(word) for word in tree.form]
    return expand_pieces(to_data([tree], relations=relations, root=root), [*([[ROOT_ID]] * root), *words])


def expand_pieces(data: Data, pieces: Sequence[Sequence[int]]) -> Data:
    r"""One example with a node for each piece of a word.

    All pieces of a word have its place in the tree: its utterance, number, relation and depth, and as
    governor the first piece of its governor. Arcs run between first pieces. Transforms compute relations over
    words and let a pair of words stand for the pairs of their pieces; see
    :class:`graphdep.transforms.EdgeConstructor`.

    Args:
        data: One example with the node table of :func:`graphdep.to_data`, without edges.
        pieces: Per node the ids of its pieces, which become :obj:`input_ids`; a node that is no word has one.

    Returns:
        A new example; positions count its nodes where they counted those of :obj:`data`, from each 0 on.

    Raises:
        ValueError: If the data is a batch or has edges, the numbers of lists and nodes differ, a word has no
            piece, or a node that is no word has several.
    """
    counts = _check(data, pieces)
    first = counts.cumsum(0) - counts
    node = torch.arange(counts.numel(), device=counts.device).repeat_interleave(counts)
    out = copy.copy(data)
    for key in _INHERITED:
        out[key] = data[key][node]
    out.input_ids = torch.tensor([piece for ids in pieces for piece in ids], device=counts.device)
    out.governor_index = first[data.governor_index][node]
    for key in ("arc_index", "phrase_index", "phrase_node_index"):
        if key in data:
            out[key] = first[data[key]]
    out.position = _positions(data.position, first)[node]
    out.position += torch.arange(node.numel(), device=counts.device) - first[node]
    out.num_nodes = node.numel()
    return out


def _positions(position: Tensor, first: Tensor) -> Tensor:
    """The position of each node's first piece: the pieces since the last node of position 0."""
    start = torch.where(position == 0, first, -1).cummax(0).values
    return first - start


def _check(data: Data, pieces: Sequence[Sequence[int]]) -> Tensor:
    """The number of pieces of each node."""
    if "batch" in data or "edge_index" in data or "clique" in data:
        raise ValueError(
            "'data' must be one example without edges (expand it before batching and transforms)"
        )
    if len(pieces) != data.num_nodes:
        raise ValueError(f"'pieces' has {len(pieces)} lists for {data.num_nodes} nodes")
    for node, (ids, kind) in enumerate(zip(pieces, data.node_type.tolist())):
        if not ids or (len(ids) > 1 and kind != NodeType.WORD):
            raise ValueError(
                f"'pieces[{node}]' has {len(ids)} pieces for a node of type {NodeType(kind).name}"
            )
    return torch.tensor([len(ids) for ids in pieces], device=data.node_type.device)
