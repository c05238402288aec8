"""Transforms that build nodes, trees and edges; every paper is a short preset of them."""

from graphdep.transforms.complete_edges import CompleteEdges
from graphdep.transforms.dependency_edges import DependencyEdges
from graphdep.transforms.edge_constructor import EdgeConstructor
from graphdep.transforms.edge_set import EdgeSet
from graphdep.transforms.nodes import Nodes
from graphdep.transforms.presets import PRESETS, resolve
from graphdep.transforms.root_edges import RootEdges
from graphdep.transforms.self_loops import SelfLoops
from graphdep.transforms.tree_path_types import TreePathTypes

__all__ = [
    "CompleteEdges",
    "DependencyEdges",
    "RootEdges",
    "SelfLoops",
    "TreePathTypes",
    "PRESETS",
    "EdgeConstructor",
    "EdgeSet",
    "Nodes",
    "resolve",
]
