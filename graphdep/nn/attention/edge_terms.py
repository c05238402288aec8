"""What edges add to the attention over them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from graphdep.nn.attention.layout import AttentionLayout
from graphdep.nn.attention.relation_vectors import RelationVectors


class EdgeTerms(NamedTuple):
    r"""What edges do to scores and values: the keywords of :func:`~graphdep.nn.attention.edge_attention`.

    A module that gives them is called as ``module(x, edge_index, edge_type)``, with the states that the layer
    reads.

    Args:
        attn_bias: Added to the scores. (default: :obj:`None`)
        score_scale: Multiplies the scores. (default: :obj:`None`)
        edge_key: Added to the keys along the edges. (default: :obj:`None`)
        edge_value: Added to the values along the edges. (default: :obj:`None`)

    Keys and values that depend on the relation of an edge alone are best given as
    :class:`~graphdep.nn.attention.RelationVectors`.

    Shapes:
        - attn_bias, score_scale: :math:`(|\mathcal{E}|, H)`
        - edge_key, edge_value: :math:`(|\mathcal{E}|, H, d)`

    Example:
        >>> import torch
        >>> from graphdep.nn.attention import EdgeTerms, edge_attention
        >>> query, key, value = torch.ones(3, 2, 1, 4).unbind()
        >>> edge_index = torch.tensor([[0, 1], [1, 1]])
        >>> terms = EdgeTerms(attn_bias=torch.tensor([[0.0], [-torch.inf]]))  # node 1 does not see itself
        >>> edge_attention(query, key, value, edge_index, **terms._asdict())[1]
        tensor([[1., 1., 1., 1.]])
    """

    attn_bias: Tensor | None = None
    score_scale: Tensor | None = None
    edge_key: Tensor | RelationVectors | None = None
    edge_value: Tensor | RelationVectors | None = None


def write_out(layout: AttentionLayout, edge_type: Tensor) -> tuple[AttentionLayout, Tensor]:
    """All pairs as edges with types, which are NONE (0) where only a clique has the pair: what
    ``untyped="gate"`` acts on.
    """
    check_count(edge_type, layout.edge_index)
    missing = layout.pairs.size(1) - layout.num_edges
    return layout.materialize(), torch.nn.functional.pad(edge_type, (0, missing))


def check_edge_type(edge_type: Tensor, edge_index: Tensor, num_relations: int) -> None:
    """Raises :class:`ValueError` unless every edge has a relation of a table of so many."""
    check_count(edge_type, edge_index)
    check_relations("edge_type", edge_type, num_relations)


def check_count(edge_type: Tensor | None, edge_index: Tensor) -> None:
    """Raises :class:`ValueError` unless every edge has a relation."""
    if edge_type is None or edge_type.shape != edge_index.shape[1:]:
        got = "None" if edge_type is None else f"shapes {[*edge_type.shape]} and {[*edge_index.shape]}"
        raise ValueError(f"'edge_type' must hold one relation id an edge of 'edge_index' (got {got})")


def check_relations(name: str, relation: Tensor, num_relations: int) -> None:
    """Raises :class:`ValueError` if an id is not in a table of so many relations."""
    if torch.compiler.is_compiling():
        return  # to look would break the graph
    if relation.device.type == "cpu" and relation.numel():  # elsewhere it would stall the device
        low, high = (int(x) for x in relation.aminmax())
        if low < 0 or high >= num_relations:
            wrong = low if low < 0 else high
            raise ValueError(
                f"{name!r} holds relation {wrong}, but there are {num_relations} (PyG transforms that merge "
                "edges, such as ToUndirected, add ids up)"
            )
