"""Transforms that build nodes, trees and edges; the edges of each paper are a short preset."""

from typing import TYPE_CHECKING

from graphdep.io.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from graphdep.transforms.controls import (
        ChainTree,
        NoisyTree,
        RandomBrackets,
        RandomTree,
        RerootedTree,
        ReversedTree,
        RewiredEdges,
        RightBrackets,
        ShuffledPositions,
        Unlabelled,
    )
    from graphdep.transforms.edge_set import EdgeConstructor, EdgeSet
    from graphdep.transforms.edges import (
        AncestorEdges,
        CompleteEdges,
        DependencyEdges,
        DepthEdges,
        MarkedEdges,
        OwnEdges,
        RelationEdges,
        RelationLinks,
        RelationNodes,
        RootEdges,
        SelfLoops,
        SpecialEdges,
        TreeDistanceEdges,
    )
    from graphdep.transforms.nodes import Nodes
    from graphdep.transforms.phrases import (
        ConstituentEdges,
        PhraseNodes,
        Phrases,
        PhraseWordEdges,
        SameConstituentEdges,
        SiblingEdges,
        SpanPathEdges,
    )
    from graphdep.transforms.presets import (
        PHRASE_PRESETS,
        PRESETS,
        edge_names,
        preset_options,
        register_edges,
        resolve,
    )
    from graphdep.transforms.types import (
        ArcTypes,
        CompactTypes,
        EdgeOrigins,
        MergeTypes,
        PositionTypes,
        TreePathTypes,
    )

__all__ = [
    # edges
    "AncestorEdges",
    "ArcTypes",
    "CompactTypes",
    "CompleteEdges",
    "ConstituentEdges",
    "DependencyEdges",
    "DepthEdges",
    "MarkedEdges",
    "MergeTypes",
    "OwnEdges",
    "PhraseWordEdges",
    "PositionTypes",
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
    # transforms of nodes and trees, applied before the edges
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
    # building blocks, and presets by name
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

__getattr__, __dir__ = lazy_imports(__name__)
