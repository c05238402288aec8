"""The node table read with loops and networkx: what transforms are tested against."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import networkx as nx
import torch
from torch_geometric.data import Data

from graphdep.data import NodeType


class SlowTree:
    """One example as a networkx forest over words; a word is named by its first piece."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.size = data.node_type.numel()
        self.kind = [NodeType(kind) for kind in data.node_type.tolist()]
        self.depth = data.depth.tolist()
        self.utterance = data.utterance.tolist()
        self.first: list[int] = []
        seen: dict[tuple[int, int], int] = {}
        for node, word in enumerate(data.word.tolist()):
            self.first.append(node if word < 0 else seen.setdefault((self.utterance[node], word), node))
        self.tree: nx.DiGraph = nx.DiGraph()
        for node, governor in enumerate(data.governor_index.tolist()):
            if self.depth[node] >= 0 and self.first[node] == node:
                self.tree.add_node(node)
                if governor != node:
                    self.tree.add_edge(governor, node)

    def spread(self, words: set[tuple[int, int]], pieces: str) -> set[tuple[int, int]]:
        """Pairs of nodes that stand for pairs of words (given by first pieces)."""
        if pieces == "first":
            return words
        return self.pairs(lambda s, t: (self.first[s], self.first[t]) in words)

    def pairs(self, wanted: Callable[[int, int], bool]) -> set[tuple[int, int]]:
        """All pairs (source, target) that are wanted."""
        return {(s, t) for s, t in product(range(self.size), repeat=2) if wanted(s, t)}

    def path(self, i: int, j: int) -> tuple[int, int] | None:
        """Arcs from words i and j up to their lowest common ancestor; None in different trees."""
        up_i, up_j = self.upwards(i), self.upwards(j)
        for a, node in enumerate(up_i):
            if node in up_j:
                return a, up_j.index(node)
        return None

    def upwards(self, word: int) -> list[int]:
        """The word, its governor, and so on."""
        if word not in self.tree:
            return []
        path = [word]
        while governors := list(self.tree.predecessors(path[-1])):
            path += governors
        return path


def attended(data: Data) -> dict[tuple[int, int], int]:
    """All pairs (source, target) of an example, written out or in a clique, with their type (0: none).

    Asserts what every transform promises: sorted by target, then source, each pair once, int64.
    """
    assert ("clique" in data) == ("edge_index_explicit" in data) != ("edge_index" in data)
    edge_index = data["edge_index_explicit" if "clique" in data else "edge_index"]
    assert edge_index.dtype == torch.long
    assert edge_index.shape[0] == 2
    source, target = edge_index.tolist()
    order = list(zip(target, source))
    assert order == sorted(set(order)), "edges are not sorted by target and source"
    types = data.edge_type.tolist() if "edge_type" in data else [0] * len(source)
    assert len(types) == len(source)
    pairs = dict(zip(zip(source, target), types))
    if "clique" in data:
        clique = data.clique.tolist()
        assert len(clique) == data.num_nodes
        assert min(clique) >= -1
        for s, t in product(range(len(clique)), repeat=2):
            if clique[s] == clique[t] >= 0:
                pairs.setdefault((s, t), 0)
    return pairs
