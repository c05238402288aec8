"""What the papers' encoders are given, for ``probe_theory``."""

from __future__ import annotations

from probe_theory import Sight
from torch_geometric.transforms import BaseTransform, Compose

from graphdep.transforms import (
    ChainTree,
    DependencyEdges,
    MarkedEdges,
    RelationEdges,
    RelationNodes,
    SelfLoops,
    TreeDistanceEdges,
    resolve,
)


def _both(
    edges: BaseTransform, steps: BaseTransform | None, types: str | None = None, *, position: bool = True
) -> tuple[Sight, Sight]:
    return Sight(edges, types, position), Sight(steps or edges, types, position)


_TYPE, _MARK, _NEAR = "edge_type", "edge_mark", "dt-related"
_NEIGHBOURS = DependencyEdges("both") | SelfLoops()
# GATE's heads with distances 1 and 2 tell one arc from two, and not the ways that they lead.
_TWO = MarkedEdges(TreeDistanceEdges(1), TreeDistanceEdges(2))
_LINKS = Compose([RelationNodes(), RelationEdges("both") | SelfLoops()])
_DT, _TRANSFORMER = resolve("dt", implicit=True), resolve("transformer", implicit=True)
_PLAIN_DT = resolve("dt", labels=False, implicit=True)

PROBE_SIGHTS: dict[str, tuple[Sight, Sight]] = {
    "transformer-nopos": _both(_TRANSFORMER, SelfLoops(), position=False),
    "transformer": _both(_TRANSFORMER, SelfLoops()),
    "dt@chain": _both(Compose([ChainTree(), _DT]), None, _TYPE),
    "neighbours-nopos": _both(_NEIGHBOURS, None, position=False),
    "neighbours": _both(_NEIGHBOURS, None),
    "dra": _both(resolve("dra"), None, position=False),
    "sia": _both(resolve("sia"), None),
    "gate": _both(_TWO, None, _MARK),
    "lisa": (Sight(resolve("lisa-complete"), _MARK, True), Sight(resolve("lisa"), position=True)),
    "dam": _both(resolve("dam", implicit=True), _LINKS),
    "g2g": _both(resolve("g2g", implicit=True), resolve(_NEAR, max_distance=1), _TYPE),
    "dt@unlabelled": _both(_PLAIN_DT, resolve(_NEAR, labels=False), _TYPE),
    "dt-nopos": _both(_DT, resolve(_NEAR), _TYPE, position=False),
    "dt": _both(_DT, resolve(_NEAR), _TYPE),
}
"""By the name of a row: all that is given, and of it what follows the arcs of the tree.

Where all words see one another, the second layer brings to each word what every other one knows of what is
around it, and in principle that is enough to put the whole tree together. The second of the two leaves those
pairs out, so that what it reads comes step by step. Where there are no such pairs, the two are the same.
Positions are as in the papers, which is without them for DRA.
"""

PHRASE_SIGHTS: dict[str, Sight] = {
    "constituents": Sight(resolve("constituents", implicit=True), position=True),
    "same-constituent": Sight(resolve("same-constituent"), position=True),
}
"""Rows that read the constituents of projective trees; walks among those are not made, so that there is no
theory of them.
"""
