"""A vector for each relation as a term of edges, without one for each edge."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class RelationVectors(NamedTuple):
    r"""Vectors of edges that depend on the edges' relations alone, the same in all heads: a table and ids.

    .. math::
        \mathbf{e}_{ij} = \mathbf{r}_{t(i, j)}, \qquad
        \mathbf{q}_i^{\top} \mathbf{e}_{ij} = (\mathbf{Q} \mathbf{R}^{\top})_{i, t(i, j)}, \qquad
        \sum_j \alpha_{ij} \mathbf{e}_{ij} = \sum_t \Big( \sum_{j : t(i, j) = t} \alpha_{ij} \Big)
        \mathbf{r}_t

    :func:`~graphdep.nn.attention.edge_attention` takes it for ``edge_key`` and ``edge_value`` and needs one
    product with the table for each, where vectors of edges would be gathered, multiplied and summed one by
    one. Where the table has so many rows that these products would be more numbers than the vectors of the
    edges, those are written out. The terms are those of `"Self-Attention with Relative Position
    Representations" <https://arxiv.org/abs/1803.02155>`_ (Eq. 3-4), split as in its section 3.3.

    Args:
        weight: The vectors :math:`\mathbf{R}`.
        relation: Row of each edge.
        heads: Number of attention heads.

    Shapes:
        - weight: :math:`(R, d)`; relation: :math:`(|\mathcal{E}|)`

    Example:
        >>> import torch
        >>> from graphdep.nn.attention import RelationVectors
        >>> vectors = RelationVectors(torch.eye(3), torch.tensor([2, 0]), heads=4)
        >>> vectors.shape, torch.equal(vectors.expand()[0, 1], torch.eye(3)[2])
        (torch.Size([2, 4, 3]), True)
    """

    weight: Tensor
    relation: Tensor
    heads: int

    @property
    def shape(self) -> torch.Size:
        """That of :meth:`expand`: ``[num_edges, heads, d]``."""
        return torch.Size((self.relation.numel(), self.heads, self.weight.size(1)))

    def expand(self) -> Tensor:
        """A vector for each edge and head, of which each edge holds one."""
        return pick_rows(self.weight, self.relation).unsqueeze(1).expand(-1, self.heads, -1)

    def dot(self, query: Tensor, node: Tensor) -> Tensor:
        r"""The product of each edge's vector with the query of a node of it.

        Args:
            query: ``[num_nodes, heads, d]``.
            node: The node of each edge, ``[num_edges]``.

        Returns:
            ``[num_edges, heads]``
        """
        used = self._used()
        if not used._is_shorter(query.size(0)):
            return (pick_rows(query.flatten(1), node).view(self.shape) * self.expand()).sum(dim=-1)
        with torch.autocast(query.device.type, enabled=False):  # scores in half precision lose what edges add
            every = query.to(self.weight.dtype) @ used.weight.t()
        return pick_rows(every.flatten(), used._place(node)).view(-1, self.heads)

    def sum(self, alpha: Tensor, node: Tensor, num_nodes: int) -> Tensor:
        r"""The sum at each node of its edges' vectors, weighted.

        Args:
            alpha: Weights ``[num_edges, heads]``.
            node: The node of each edge, ``[num_edges]``.
            num_nodes: Number of nodes.

        Returns:
            ``[num_nodes, heads, d]``
        """
        alpha, used = alpha.to(self.weight.dtype), self._used()
        if not used._is_shorter(num_nodes):
            return add_rows(alpha.unsqueeze(-1) * self.expand(), node, num_nodes)
        places = num_nodes * self.heads * used.weight.size(0)
        of_relation = add_rows(alpha.reshape(-1), used._place(node), places)
        with torch.autocast(alpha.device.type, enabled=False):
            return of_relation.view(num_nodes, self.heads, -1) @ used.weight

    def _used(self) -> RelationVectors:
        """With those rows alone that edges have; elsewhere than on a CPU to look would stall the device."""
        if self.relation.device.type != "cpu" or torch.compiler.is_compiling():
            return self
        row, relation = self.relation.unique(return_inverse=True)
        return self._replace(weight=pick_rows(self.weight, row), relation=relation)

    def _is_shorter(self, num_nodes: int) -> bool:
        """Whether all products with the table are fewer numbers than the vectors of the edges."""
        return num_nodes * self.weight.size(0) <= self.relation.numel() * self.weight.size(1)

    def _place(self, node: Tensor) -> Tensor:
        """Place of every edge and head in ``[num_nodes, heads, R]``, ``[num_edges * heads]``."""
        head = torch.arange(self.heads, device=node.device)
        place = (node[:, None] * self.heads + head) * self.weight.size(0) + self.relation[:, None]
        return place.view(-1)


def pick_rows(table: Tensor, row: Tensor) -> Tensor:
    """``table[row]``, of rows or of numbers; on CUDA the gradient is summed in one order each time."""
    if not table.is_cuda:  # two to four times as fast there
        return table.index_select(0, row)
    return F.embedding(row, table.view(table.size(0), -1)).view(*row.shape, *table.shape[1:])


def add_rows(rows: Tensor, to: Tensor, count: int) -> Tensor:
    """The sum of the rows, or numbers, that go to each of so many places; on CUDA in one order each time."""
    zeros = rows.new_zeros(count, *rows.shape[1:])
    if rows.is_cuda:  # which sorts; index_add adds as its threads come
        return zeros.index_put((to,), rows, accumulate=True)
    return zeros.index_add(0, to, rows)
