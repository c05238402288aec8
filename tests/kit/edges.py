"""A user's own edges."""

from __future__ import annotations

from graphdep.transforms import EdgeConstructor, EdgeSet, Nodes


class Ahead(EdgeConstructor):
    """Edges from the node ``step`` places before; the repr does not have the step."""

    def __init__(self, step: int = 1) -> None:
        self.step = step

    def build(self, nodes: Nodes) -> EdgeSet:
        source, target = nodes.index[: -self.step], nodes.index[self.step :]
        same = nodes.example[source] == nodes.example[target]
        return EdgeSet(nodes, source[same], target[same])

    def __repr__(self) -> str:
        return "Ahead()"
