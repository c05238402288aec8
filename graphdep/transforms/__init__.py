"""Transforms that build nodes, trees and edges; every paper is a short preset of them."""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_face

if TYPE_CHECKING:
    from graphdep.transforms.ancestor_edges import AncestorEdges
    from graphdep.transforms.chain_tree import ChainTree
    from graphdep.transforms.complete_edges import CompleteEdges
    from graphdep.transforms.constituent_edges import ConstituentEdges
    from graphdep.transforms.dependency_edges import DependencyEdges
    from graphdep.transforms.depth_edges import DepthEdges
    from graphdep.transforms.edge_constructor import EdgeConstructor
    from graphdep.transforms.edge_origins import EdgeOrigins
    from graphdep.transforms.edge_set import EdgeSet
    from graphdep.transforms.marked_edges import MarkedEdges
    from graphdep.transforms.merge_types import MergeTypes
    from graphdep.transforms.nodes import Nodes
    from graphdep.transforms.noisy_tree import NoisyTree
    from graphdep.transforms.phrase_nodes import PhraseNodes
    from graphdep.transforms.phrase_word_edges import PhraseWordEdges
    from graphdep.transforms.phrases import Phrases
    from graphdep.transforms.presets import PHRASE_PRESETS, PRESETS
    from graphdep.transforms.random_brackets import RandomBrackets
    from graphdep.transforms.random_tree import RandomTree
    from graphdep.transforms.registry import edge_names, preset_options, register_edges, resolve
    from graphdep.transforms.relation_edges import RelationEdges
    from graphdep.transforms.relation_links import RelationLinks
    from graphdep.transforms.relation_nodes import RelationNodes
    from graphdep.transforms.rerooted_tree import RerootedTree
    from graphdep.transforms.reversed_tree import ReversedTree
    from graphdep.transforms.rewired_edges import RewiredEdges
    from graphdep.transforms.right_brackets import RightBrackets
    from graphdep.transforms.root_edges import RootEdges
    from graphdep.transforms.same_constituent_edges import SameConstituentEdges
    from graphdep.transforms.self_loops import SelfLoops
    from graphdep.transforms.shuffled_positions import ShuffledPositions
    from graphdep.transforms.sibling_edges import SiblingEdges
    from graphdep.transforms.span_path_edges import SpanPathEdges
    from graphdep.transforms.special_edges import SpecialEdges
    from graphdep.transforms.tree_distance_edges import TreeDistanceEdges
    from graphdep.transforms.tree_path_types import TreePathTypes
    from graphdep.transforms.unlabelled import Unlabelled

__all__ = [
    # edges
    "AncestorEdges",
    "CompleteEdges",
    "ConstituentEdges",
    "DependencyEdges",
    "DepthEdges",
    "MarkedEdges",
    "MergeTypes",
    "PhraseWordEdges",
    "RelationEdges",
    "RelationLinks",
    "RewiredEdges",
    "RootEdges",
    "SameConstituentEdges",
    "SelfLoops",
    "ShuffledPositions",
    "SiblingEdges",
    "SpanPathEdges",
    "SpecialEdges",
    "TreeDistanceEdges",
    "TreePathTypes",
    # nodes and trees, to put before the edges
    "ChainTree",
    "NoisyTree",
    "PhraseNodes",
    "RandomBrackets",
    "RandomTree",
    "RelationNodes",
    "RerootedTree",
    "ReversedTree",
    "RightBrackets",
    "Unlabelled",
    # what they are made of
    "PHRASE_PRESETS",
    "PRESETS",
    "EdgeConstructor",
    "EdgeOrigins",
    "EdgeSet",
    "Nodes",
    "Phrases",
    "edge_names",
    "preset_options",
    "register_edges",
    "resolve",
]

__getattr__, __dir__ = lazy_face(__name__)
