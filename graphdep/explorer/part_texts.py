"""Why a constructor makes an edge, for people."""

from __future__ import annotations

from torch_geometric.transforms import BaseTransform

_TEXTS = {
    "AncestorEdges": "one is above the other in the tree",
    "CompleteEdges": "every node sees every other",
    "ConstituentEdges": "a phrase and what is directly in it",
    "DependencyEdges": "an arc of the tree joins them",
    "DepthEdges": "both are near the top of their trees",
    "PhraseWordEdges": "a phrase and the words in it",
    "RelationEdges": "a relation node and the words of its arc",
    "RelationLinks": "relations whose arcs share a word",
    "RewiredEdges": "a wrong edge, put in as noise",
    "RootEdges": "ROOT sees the words below it",
    "SameConstituentEdges": "they are in the same phrase",
    "SelfLoops": "it sees itself",
    "SiblingEdges": "they are parts of the same phrase",
    "SpanPathEdges": "on the way from one marked span to the other",
    "SpecialEdges": "a special node sees all, and is seen by all",
    "TreeDistanceEdges": "they are near one another in the tree",
}


def part_text(part: BaseTransform) -> str:
    """Why this part of a constructor makes an edge; of parts that are not known, how they print."""
    return _TEXTS.get(type(part).__name__, "made by this transform")
