"""What edges declare to carry is what they carry, and layers read what they declare to read."""

from __future__ import annotations

import pytest
import torch
import torch_geometric.transforms as T
from torch_geometric.transforms import BaseTransform

from graphdep import RelationVocab
from graphdep.nn import attention as A
from graphdep.nn import conv as C
from graphdep.nn.attention import AttentionLayout
from graphdep.transforms import (
    PHRASE_PRESETS,
    PRESETS,
    AncestorEdges,
    CompleteEdges,
    DependencyEdges,
    DepthEdges,
    EdgeConstructor,
    EdgeSet,
    MarkedEdges,
    OwnEdges,
    RandomTree,
    RelationEdges,
    RelationNodes,
    RewiredEdges,
    RootEdges,
    SameConstituentEdges,
    SelfLoops,
    SpanPathEdges,
    SpecialEdges,
    TreeDistanceEdges,
    TreePathTypes,
    resolve,
)
from graphdep.transforms.carried import carried, missing, observed, unread
from graphdep.transforms.edge_set import CLIQUES, CLS, CLS_ALL, DISTANCES, MARKS, NODES, ROOT, TYPES, Compose
from graphdep.transforms.fingerprint import probe

SPECIAL = ("CLS", "ROOT", "WORD")
EDGES = [
    *(resolve(name, implicit=implicit) for name in (*PRESETS, *PHRASE_PRESETS) for implicit in (True, False)),
    *(
        resolve("sia", special=special, direction="both", max_sum=m)
        for special in ("cls", "none")
        for m in (0, 1)
    ),
    *(
        edges(towards)
        for towards in ("governor", "dependent", "both")
        for edges in (DependencyEdges, OwnEdges)
    ),
    *(AncestorEdges(towards) for towards in ("descendant", "ancestor", "both")),
    *(
        CompleteEdges(scope, node_types=kinds)
        for scope in ("utterance", "example")
        for kinds in (["WORD"], ["WORD", "CLS"], ["WORD", "ROOT"])
    ),
    *(
        SpecialEdges(kinds, others=others)
        for kinds in ("CLS", "ROOT", "WORD")
        for others in ("CLS", "ROOT", "WORD")
    ),
    *(TreeDistanceEdges(distance) for distance in (0, 1, 2)),
    *(DepthEdges(most) for most in (0, 1)),
    *(Compose([RelationNodes(), RelationEdges(d)]) for d in ("both", "to_word", "to_relation", "none")),
    *(SameConstituentEdges(implicit=implicit) for implicit in (True, False)),
    SpanPathEdges(),
    *(RewiredEdges(edges, 0.2) for edges in (SelfLoops(), resolve("dra"), CompleteEdges(implicit=True))),
    MarkedEdges(RootEdges(), CompleteEdges("utterance", implicit=True)),
    Compose([MarkedEdges(SelfLoops(), CompleteEdges()), TreePathTypes()]),
    Compose([resolve("dt"), SelfLoops()]),
    T.Compose([RandomTree(), resolve("g2g")]),
    CompleteEdges(implicit=True) - RootEdges(),
    CompleteEdges(implicit=True) & CompleteEdges("utterance"),
]


def test_what_is_declared_is_there():
    for edges in EDGES:
        assert carried(edges) == observed(edges), edges


class Own(EdgeConstructor):
    """Edges of a user's, which declare nothing."""

    def build(self, nodes):
        return EdgeSet(nodes, nodes.index, nodes.index)


class OwnColumn(BaseTransform):
    def forward(self, data):
        data = SelfLoops()(data)
        data.edge_weight = torch.ones(data.num_edges)
        return data


class OwnOfOurs(CompleteEdges):
    """Edges that are others than those of the class whose arguments they have."""

    def build(self, nodes):
        return EdgeSet(nodes, nodes.index, nodes.index)


class Declared(Own):
    carries = frozenset({ROOT})


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        (Own(), set()),
        (Own() | RootEdges(), {ROOT}),
        (OwnOfOurs(), set()),
        (Declared() | SpecialEdges(), {ROOT, CLS, CLS_ALL}),
        (OwnColumn(), {"edge_weight"}),
        (T.Compose([RelationNodes(), Own(), TreePathTypes()]), {NODES, TYPES, DISTANCES}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_edges_of_ones_own_are_tried_unless_they_declare_it(edges, expected):
    assert carried(edges) == expected


SIZES = {"in_channels": 8, "out_channels": 4, "heads": 2}
RELATIONS = {"num_relations": len(RelationVocab())}
CONVS = {
    "AttentionConv": lambda: C.AttentionConv(**SIZES),
    "DRAConv": lambda: C.DRAConv(**SIZES),
    "DAMConv": lambda: C.DAMConv(**SIZES),
    "SIAConv": lambda: C.SIAConv(**SIZES),
    "SIAConv-multiplicative": lambda: C.SIAConv(**SIZES, mask="multiplicative"),
    "LISAConv": lambda: C.LISAConv(**SIZES),
    "GATEConv": lambda: C.GATEConv(**SIZES, max_distance=2),
    "GatedRelationConv": lambda: C.GatedRelationConv(**SIZES, **RELATIONS),
    "RelationKeyValueConv": lambda: C.RelationKeyValueConv(**SIZES, **RELATIONS),
}


def layout_of(**changes):
    """All pairs of a batch with types and marks, or with others in their place."""
    data = resolve("dt", scope="example")(probe().clone())
    data.edge_mark = (data.edge_type > RelationVocab.NONE) & (data.edge_type != RelationVocab.SELF)
    for key, change in changes.items():
        data[key] = change(data[key])
    return AttentionLayout.of(data)


def other_labels(edge_type):
    """Arcs have the label of another arc, and are as far apart as before."""
    codes = [RelationVocab.path(a, b) for a in range(3) for b in range(3 - a)]
    labels = (edge_type > RelationVocab.UNK) & ~torch.isin(edge_type, torch.tensor(codes))
    return edge_type.masked_scatter(labels, edge_type[labels].roll(1))


def other_distances(edge_type):
    """Pairs two arcs apart are four arcs apart."""
    return torch.where(edge_type == RelationVocab.path(1, 1), RelationVocab.path(2, 2), edge_type)


CHANGES = {TYPES: ("edge_type", other_labels), DISTANCES: ("edge_type", other_distances)}
CHANGES |= {MARKS: ("edge_mark", torch.logical_not)}


@pytest.mark.parametrize("name", CONVS)
def test_a_conv_reads_what_it_declares_and_no_more(name):
    torch.manual_seed(0)
    conv = CONVS[name]().double().eval()
    for parameter in conv.parameters():
        torch.nn.init.normal_(parameter)
    x = torch.randn(probe().num_nodes, 8, dtype=torch.double)
    usual = conv(x, layout_of())
    # A type tells the distance: what reads the one changes with the other.
    reads = conv.reads | ({DISTANCES} if TYPES in conv.reads else set())
    for kind, (key, change) in CHANGES.items():
        assert torch.equal(conv(x, layout_of(**{key: change})), usual) == (kind not in reads), kind
    implicit = AttentionLayout.of(resolve("dt", implicit=True)(probe().clone()))
    if CLIQUES in conv.reads:
        assert conv(x, implicit).isfinite().all()
    else:
        with pytest.raises(ValueError, match="without implicit=True"):
            conv(x, implicit)


@pytest.mark.parametrize(
    ("carries", "reads", "vain", "lacking"),
    [
        ({TYPES, DISTANCES}, {TYPES}, set(), set()),
        ({TYPES, DISTANCES}, {DISTANCES}, set(), set()),
        ({TYPES}, {DISTANCES}, set(), {DISTANCES}),
        ({TYPES, DISTANCES, MARKS, ROOT, CLS}, {CLIQUES}, {TYPES, DISTANCES, MARKS}, set()),
        (set(), {MARKS, NODES, CLIQUES, ROOT}, set(), {MARKS, ROOT}),
        ({"edge_weight", NODES}, {NODES}, {"edge_weight"}, set()),
    ],
)
def test_what_does_not_fit(carries, reads, vain, lacking):
    assert (unread(carries, reads), missing(carries, reads)) == (vain, lacking)


def test_terms_of_a_pretrained_encoder_read_types():
    assert A.GatedRelationScore.reads == A.RelationKeyValue.reads == {TYPES}
