from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import to_dense_adj

from graphdep import NodeType, RelationVocab, Sentence, to_data
from graphdep.transforms import PRESETS, RelationLinks, RelationNodes, SelfLoops, resolve
from tests.kit.strategies import examples
from tests.kit.trees import SlowTree, attended


@settings(max_examples=8)
@given(examples())
def test_implicit_edges_are_the_same_pairs(data):
    for name in PRESETS:
        written, implicit = resolve(name)(data), resolve(name, implicit=True)(data)
        assert "clique" not in written
        assert attended(implicit) == attended(written), name
        has_clique = name in ("transformer", "transformer-utterance", "dam", "dt", "g2g", "lisa-complete")
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


@settings(max_examples=30)
@given(examples(), st.integers(0, 7))
def test_sia_equations_3_and_4(data, max_sum):
    slow = SlowTree(data)
    special = {NodeType.CLS, NodeType.SEP, NodeType.EOU}

    def intra(s, t):
        return slow.first[s] in slow.upwards(slow.first[t]) or slow.first[s] == slow.first[t]

    def inter(s, t):
        return min(slow.depth[s], slow.depth[t]) >= 0 and slow.depth[s] + slow.depth[t] <= max_sum

    def either(s, t):
        return slow.kind[s] in special or slow.kind[t] in special

    loop = {(i, i) for i in range(slow.size)}
    both = slow.pairs(lambda s, t: intra(s, t) or inter(s, t) or either(s, t))
    assert set(attended(resolve("sia", max_sum=max_sum)(data))) == both
    assert set(attended(resolve("sia-intra")(data))) == slow.pairs(lambda s, t: intra(s, t) or either(s, t))
    got = set(attended(resolve("sia-inter", max_sum=max_sum)(data)))
    same = slow.pairs(lambda s, t: slow.first[s] == slow.first[t])
    assert got == slow.pairs(lambda s, t: inter(s, t) or either(s, t)) | same | loop


DIRECTIONS = st.sampled_from(["ancestors", "descendants", "both"])
SPECIAL = st.sampled_from(["example", "cls", "none"])
PIECES = st.sampled_from(["all", "first"])


@settings(max_examples=30)
@given(examples(), DIRECTIONS, SPECIAL, PIECES)
def test_sia_direction_and_special(data, direction, special, pieces):
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
        return whole and min(slow.depth[s], slow.depth[t]) >= 0 and slow.depth[s] + slow.depth[t] <= 3

    def own(s, t):
        return s == t or (pieces == "all" and slow.first[s] == slow.first[t])

    def with_special(wanted):
        return slow.pairs(lambda s, t: wanted(s, t) or slow.kind[s] in joined or slow.kind[t] in joined)

    options = {"special": special, "pieces": pieces}
    intra = resolve("sia-intra", direction=direction, **options)
    assert set(attended(intra(data))) == with_special(words)
    both = resolve("sia", max_sum=3, direction=direction, **options)
    assert set(attended(both(data))) == with_special(lambda s, t: words(s, t) or shallow(s, t))
    inter = resolve("sia-inter", max_sum=3, **options)
    assert set(attended(inter(data))) == with_special(lambda s, t: own(s, t) or shallow(s, t))


@settings(max_examples=30)
@given(examples(), st.sampled_from(["sia", "sia-intra", "sia-inter"]), SPECIAL, PIECES)
def test_no_row_of_sia_is_empty(data, name, special, pieces):
    got = attended(resolve(name, special=special, pieces=pieces)(data))
    assert {t for _, t in got} == set(range(data.num_nodes))


@settings(max_examples=30)
@given(examples(special=True))
def test_what_special_nodes_of_sia_see(data):
    slow = SlowTree(data)
    special = {i for i in range(slow.size) if data.word[i] < 0 and slow.depth[i] < 0}
    special = {i for i in special if slow.kind[i] != NodeType.WORD}
    rows = {}
    for name in ("cls", "none"):
        got = attended(resolve("sia", special=name)(data))
        rows[name] = {i: {s for s, t in got if t == i} for i in special}
    assert rows["cls"] == {i: {0, i} for i in special if i} | {0: set(range(slow.size))}
    assert rows["none"] == {i: {i} for i in special}


def test_sia_contract(example):
    data = resolve("sia", max_sum=4)(to_data([example, example], root=False))
    assert data.num_nodes == 18
    got = attended(data)
    assert (2, 11) in got  # "like" of one utterance and of the other
    assert (5, 14) not in got  # "a" and "a": too deep


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


LONG = Sentence(  # several governors, a cycle, two arcs between the same words
    ["rooms", "and", "hotels", "that", "open"],
    [0, 3, 1, 5, 1],
    ["root", "cc", "conj", "nsubj", "acl:relcl"],
    deps=[
        [("0", "root"), ("5", "nsubj")],
        [("3", "cc")],
        [("1", "conj:and"), ("5", "nsubj"), ("5", "obj")],
        [("1", "ref")],
        [("1", "acl:relcl")],
    ],
)
SHORT = Sentence(["yes", "please"], [2, 0], ["discourse", "root"])
SHORT = replace(SHORT, deps=[[("2", "discourse")], [("0", "root")]])
ONE = Sentence(["no"], [0], ["root"], deps=[[("0", "root")]])


def text_of(sentences: list[Sentence]) -> tuple[Data, list[str], list[tuple[int, int]]]:
    """[CLS] a [SEP] or [CLS] a [SEP] b [SEP] with as many pieces a word as it has vowels, at least one; also
    the symbols, and the arcs of column DEPS between first pieces, put together by hand.
    """
    symbols, arcs, rows = ["[CLS]"], [], [(NodeType.CLS, 0, -1)]
    labels, relations = [], RelationVocab()
    for utterance, sentence in enumerate(sentences):
        first = []
        for word, form in enumerate(sentence.form):
            first.append(len(symbols))
            count = max(1, sum(letter in "aeiou" for letter in form))
            symbols += [f"{form}{utterance}"] * count
            rows += [(NodeType.WORD, utterance, word)] * count
        for word, deps in enumerate(sentence.deps):
            arcs += [(first[int(head) - 1], first[word]) for head, _ in deps if head != "0"]
            labels += [relations[label] for head, label in deps if head != "0"]
        symbols.append("[SEP]")
        rows.append((NodeType.SEP, utterance, -1))
    kind, utterance, word = torch.tensor([[int(x) for x in row] for row in rows]).T
    index = torch.arange(len(rows))
    columns = {"node_type": kind, "utterance": utterance, "word": word, "segment": utterance}
    columns |= {"position": index, "governor_index": index, "deprel": torch.ones_like(index)}
    columns |= {"depth": torch.where(word >= 0, 1, -1), "input_ids": index}
    pairs = torch.tensor(arcs, dtype=torch.long).view(-1, 2).T
    return Data(num_nodes=len(rows), arc_index=pairs, arc_type=torch.tensor(labels), **columns), symbols, arcs


def equation_1(symbols: list[str], arcs: list[tuple[int, int]], literal: bool) -> list[list[bool]]:
    """The mask of the paper's section 3.3 over [CLS] and pieces (T), then the labels (L), row by row."""
    n = len(symbols) + len(arcs)
    in_t = [i < len(symbols) for i in range(n)]
    e = {(word, len(symbols) + label) for label, arc in enumerate(arcs) for word in arc}
    mask = [[False] * n for _ in range(n)]
    for i, j in product(range(n), repeat=2):
        if (
            (i == 0 or j == 0)
            or (in_t[i] and in_t[j])
            or (in_t[i] and not in_t[j] and (i, j) in e)
            or (not in_t[i] and not in_t[j] and i == j)
            or (not literal and not in_t[i] and in_t[j] and (j, i) in e)
        ):
            mask[i][j] = True
    return mask


@pytest.mark.parametrize("literal", [False, True])
def test_dam_mask_of_a_sentence_and_of_a_pair(literal):
    for sentences in ([LONG], [SHORT], [ONE], [LONG, SHORT], [ONE, LONG], [ONE, ONE]):
        data, symbols, arcs = text_of(sentences)
        got = resolve("dam", **({"direction": "to_word"} if literal else {}))(data)
        n = len(symbols) + len(arcs)
        assert got.num_nodes == n
        assert got.deprel[len(symbols) :].tolist() == data.arc_type.tolist()
        attends = {(t, s) for s, t in attended(got)}
        mask = equation_1(symbols, arcs, literal)
        for i, j in product(range(n), repeat=2):
            assert mask[i][j] == ((i, j) in attends), (i, j)
        # Some of the entries by name: "rooms" has two pieces, the first of which has the links.
        if sentences == [LONG]:
            assert symbols[1:3] == ["rooms0", "rooms0"]
            assert sum(mask[1][len(symbols) :]) == 4
            assert not any(mask[2][len(symbols) :])


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
