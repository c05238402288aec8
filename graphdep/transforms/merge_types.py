"""Typed edges that tell less apart: the ablations of a relation matrix."""

from __future__ import annotations

import copy

from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from graphdep.transforms._options import constructor_repr
from graphdep.vocab import RelationVocab


class MergeTypes(BaseTransform):
    r"""Makes one type of several, to see what the difference between them is good for.

    It stands after :class:`TreePathTypes`. Without :obj:`labels` every arc has the label ``dep``, so that
    only its direction and the path codes are told apart. Without :obj:`directions` an arc has the same type
    from both of its ends, and the path codes :math:`(a, b)` and :math:`(b, a)` are one.

    Args:
        labels: Tell labels apart. (default: :obj:`False`)
        directions: Tell directions apart. (default: :obj:`True`)

    Shapes:
        - ``edge_type``: :math:`(|\mathcal{E}|)`, long

    Raises:
        ValueError: If an argument is no bool, or the data has no ``edge_type``.

    Example:
        >>> from graphdep import Sentence, to_data
        >>> from graphdep.transforms import MergeTypes, resolve
        >>> sentence = Sentence(["I", "saw", "big", "dogs"], [2, 0, 4, 2], ["nsubj", "root", "amod", "obj"])
        >>> data = resolve("dt")(to_data([sentence]))
        >>> len(data.edge_type.unique()), len(MergeTypes()(data).edge_type.unique())
        (13, 7)
    """

    def __init__(self, *, labels: bool = False, directions: bool = True) -> None:
        for name, value in (("labels", labels), ("directions", directions)):
            if not isinstance(value, bool):
                raise ValueError(f"'{name}' must be True or False (got {value!r})")
        self.labels, self.directions = labels, directions

    def forward(self, data: Data) -> Data:
        if "edge_type" not in data:
            raise ValueError("MergeTypes merges types of edges: put TreePathTypes() before it")
        out = copy.copy(data)  # also for who calls forward() itself
        out.edge_type = RelationVocab.merge(data.edge_type, labels=self.labels, directions=self.directions)
        return out

    def __repr__(self) -> str:
        return constructor_repr(self)
