from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.utils import to_dense_adj

from graphdep import NodeType, RelationVocab, Sentence, to_data
from graphdep.transforms import PRESETS, RelationLinks, RelationNodes, SelfLoops, resolve
from tests.kit.strategies import examples
from tests.kit.trees import WITH_CLIQUES, SlowTree, attended


@settings(max_examples=8)
@given(examples())
def test_implicit_edges_are_the_same_pairs(data):
    for name in PRESETS:
        written, implicit = resolve(name)(data), resolve(name, implicit=True)(data)
        assert "clique" not in written
        assert attended(implicit) == attended(written), name
        has_clique = name in WITH_CLIQUES
        assert (("clique" in implicit), ("edge_index" in implicit)) == (has_clique, not has_clique), name


def test_a_preset_of_ones_own_need_not_know_of_implicit(monkeypatch, example):
    monkeypatch.setitem(PRESETS, "own", lambda *, pieces="all": SelfLoops(pieces=pieces))
    assert resolve("own", implicit=True)(to_data([example])).num_edges == 10
    with pytest.raises(ValueError, match="preset 'own' has no option 'scope'; it takes pieces"):
        resolve("own", implicit=True, scope="example")


def test_dra_equation_2(example):
    """The mask that the triples of section 3.1 give."""
    data = resolve("dra")(to_data([example]))
    mask = to_dense_adj(data.edge_index)[0].T.bool()
    arcs = {(3, 1), (3, 2), (0, 3), (5, 4), (3, 5), (8, 6), (8, 7), (5, 8), (3, 9)}
    for u, v in product(range(10), repeat=2):
        assert mask[u, v] == (u == 0 or u == v or (u, v) in arcs), (u, v)


def test_dra_with_one_root_for_the_dialogue(example):
    data = to_data([example, example])
    got = attended(resolve("dra", root_scope="example")(data))
    assert {s for s, t in got if t == 0} == set(range(20))
    assert {s for s, t in attended(resolve("dra")(data)) if t == 0} == set(range(10))


DIRECTIONS = st.sampled_from(["ancestors", "descendants", "both"])
SPECIAL = st.sampled_from(["example", "cls", "none"])
PIECES = st.sampled_from(["all", "first"])


@settings(max_examples=30)
@given(examples(), DIRECTIONS, SPECIAL, PIECES, st.integers(0, 7))
def test_sia_equations_3_and_4(data, direction, special, pieces, max_sum):
    slow = SlowTree(data)
    joined = {
        "example": {NodeType.CLS, NodeType.SEP, NodeType.EOU},
        "cls": {NodeType.CLS},
        "none": set(),
    }[special]

    def words(s, t):
        if pieces == "first":
            return s == t or (slow.first[s] == s and slow.first[t] == t and related(s, t))
        return slow.first[s] == slow.first[t] or related(slow.first[s], slow.first[t])

    def related(s, t):
        up, down = s in slow.upwards(t), t in slow.upwards(s)
        return {"ancestors": up, "descendants": down, "both": up or down}[direction]

    def shallow(s, t):
        whole = pieces == "all" or (slow.first[s] == s and slow.first[t] == t)
        return whole and min(slow.depth[s], slow.depth[t]) >= 0 and slow.depth[s] + slow.depth[t] <= max_sum

    def own(s, t):
        return s == t or (pieces == "all" and slow.first[s] == slow.first[t])

    def with_special(wanted):
        return slow.pairs(lambda s, t: wanted(s, t) or slow.kind[s] in joined or slow.kind[t] in joined)

    options = {"special": special, "pieces": pieces}
    intra = resolve("sia-intra", direction=direction, **options)
    assert set(attended(intra(data))) == with_special(words)
    both = resolve("sia", max_sum=max_sum, direction=direction, **options)
    assert set(attended(both(data))) == with_special(lambda s, t: words(s, t) or shallow(s, t))
    inter = resolve("sia-inter", max_sum=max_sum, **options)
    assert set(attended(inter(data))) == with_special(lambda s, t: own(s, t) or shallow(s, t))


@pytest.mark.parametrize("direction", ["both", "to_word"])
@settings(max_examples=30)
@given(data=examples(special=True, root=False))
def test_dam_equation_1(direction, data):
    """Entry by entry: a_ij says whether i attends to j; [CLS] is node 0."""
    data = resolve("dam", direction=direction)(data)
    slow = SlowTree(data)
    relation = [kind == NodeType.RELATION for kind in slow.kind]
    connected = set()
    for node, arc in zip(data.arc_node_index.tolist(), data.arc_index.t().tolist()):
        connected |= {(word, node) for word in arc}
    attends = {(t, s) for s, t in attended(data)}
    for i, j in product(range(slow.size), repeat=2):
        a = i == 0 or j == 0
        a |= not relation[i] and not relation[j]
        a |= not relation[i] and relation[j] and (i, j) in connected
        a |= direction == "both" and relation[i] and (j, i) in connected
        a |= relation[i] and i == j
        assert a == ((i, j) in attends), (i, j)


@settings(max_examples=30)
@given(examples(special=True, root=False), st.sampled_from(["both", "to_word", "to_relation", "none"]))
def test_the_parts_of_dam_that_ablations_leave_out(data, direction):
    full = set(attended(resolve("dam", direction=direction)(data)))
    out = resolve("dam", direction=direction, overview=(), labels=False)(data)
    relation = {int(i) for i in out.arc_node_index}
    linked = {
        pair
        for node, arc in zip(out.arc_node_index.tolist(), out.arc_index.t().tolist())
        for word in arc
        for pair in ((word, node), (node, word))
    }
    view = {(s, t) for s, t in full if 0 in (s, t) and {s, t} & relation}
    assert view == {(0, node) for node in relation} | {(node, 0) for node in relation}
    assert set(attended(out)) == full - (view - linked)
    assert out.deprel[out.arc_node_index].unique().numel() <= 1
    links = set(attended(RelationLinks()(RelationNodes()(data))))
    assert set(attended(resolve("dam", direction=direction, relation_links=True)(data))) == full | links


def test_dam_of_words_alone(example):
    data = resolve("dam")(to_data([example]))
    assert data.num_nodes == 19
    got = attended(data)
    assert all((i, j) in got for i, j in product(range(10), repeat=2))
    assert (12, 0) in got  # the relation "root" and ROOT, which is its governor
    assert (10, 0) not in got
    overview = attended(resolve("dam", overview=("CLS", "ROOT"))(to_data([example])))
    assert all((i, 0) in overview and (0, i) in overview for i in range(19))


def test_dam_reads_enhanced_arcs():
    deps = [[("2", "nsubj"), ("3", "nsubj:xsubj")], [("0", "root")], [("2", "xcomp")]]
    s = Sentence(["a", "b", "c"], [2, 0, 2], ["nsubj", "root", "xcomp"], deps=deps)
    assert resolve("dam")(to_data([s], arcs="enhanced")).num_nodes == 4 + 4
    assert resolve("dam")(to_data([s])).num_nodes == 4 + 3


@settings(max_examples=30)
@given(examples())
def test_dt_is_complete_within_utterances(data):
    slow = SlowTree(data)
    got = attended(resolve("dt")(data))
    assert set(got) == slow.pairs(lambda s, t: slow.utterance[s] == slow.utterance[t])
    assert set(attended(resolve("transformer-utterance")(data))) == set(got)


@settings(max_examples=30)
@given(examples())
def test_g2g_types_arcs_both_ways(data):
    slow, got = SlowTree(data), attended(resolve("g2g")(data))
    assert set(got) == slow.pairs(lambda s, t: True)
    arcs = {}
    for governor, dependent in slow.tree.edges:
        label = data.deprel[dependent]
        arcs[governor, dependent] = int(label)
        arcs[dependent, governor] = int(RelationVocab.inverse(label))
    first = {
        (slow.first[s], slow.first[t]): kind for (s, t), kind in got.items() if kind != RelationVocab.NONE
    }
    assert first == arcs


@settings(max_examples=30)
@given(examples())
def test_lisa_attends_to_the_governor_alone(data):
    slow = SlowTree(data)
    expected = slow.pairs(lambda s, t: slow.first[s] == slow.first[int(data.governor_index[t])])
    assert set(attended(resolve("lisa")(data))) == expected


@settings(max_examples=30)
@given(examples())
def test_lisa_complete_marks_the_governor_among_all(data):
    alone, marked = resolve("lisa")(data), resolve("lisa-complete")(data)
    assert torch.equal(marked.edge_index[:, marked.edge_mark], alone.edge_index)
    assert torch.equal(marked.edge_index, resolve("transformer")(data).edge_index)
    marked = resolve("lisa-complete", implicit=True)(data)
    assert torch.equal(marked.edge_index_explicit, alone.edge_index)
    assert torch.equal(marked.clique, torch.zeros(data.num_nodes, dtype=torch.long))
    inside = resolve("lisa-complete", scope="utterance", implicit=True)(data)
    assert torch.equal(inside.clique, data.utterance)


@settings(max_examples=30)
@given(examples())
def test_gate_types_tell_the_distance(data):
    slow = SlowTree(data)
    got = attended(resolve("gate", max_distance=3)(data))
    assert RelationVocab.NONE not in got.values()
    codes = {RelationVocab.path(a, b): a + b for a in range(4) for b in range(4 - a)}
    for (s, t), kind in got.items():
        path = slow.path(slow.first[s], slow.first[t]) or (0, 0)  # a node outside the trees sees itself alone
        assert codes.get(kind, 1) == sum(path)


@settings(max_examples=30)
@given(examples())
def test_dt_related_is_dt_without_untyped_pairs(data):
    full = attended(resolve("dt")(data))
    related = attended(resolve("dt-related")(data))
    assert related == {pair: kind for pair, kind in full.items() if kind != RelationVocab.NONE}
