"""The node table as constructors read it, nodes that others added or dropped, and relation nodes."""

from __future__ import annotations

import pytest
import torch
import torch_geometric.transforms as T
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from graphdep import NodeType, RelationVocab, Sentence, to_data
from graphdep.data import EncodedUtterance, text_data
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.models import SpanReadout
from graphdep.testing import assert_batch_law, assert_same_batch, assert_same_data
from graphdep.transforms import (
    AncestorEdges,
    CompleteEdges,
    Nodes,
    RelationNodes,
    RerootedTree,
    SelfLoops,
    SpanPathEdges,
    resolve,
)
from tests.kit.strategies import example_lists, examples
from tests.kit.trees import SlowTree


@given(examples())
def test_words_and_governors(data):
    nodes, slow = Nodes(data), SlowTree(data)
    assert nodes.first.tolist() == slow.first
    assert nodes.has_pieces == (slow.first != list(range(slow.size)))
    assert nodes.in_tree.nonzero().view(-1).tolist() == sorted(slow.tree)
    for node, parent in enumerate(nodes.parent.tolist()):
        governors = list(slow.tree.predecessors(node)) if node in slow.tree else []
        assert [parent] == (governors or [-1])


@settings(max_examples=25)
@given(example_lists())
def test_batch(datas):
    nodes = Nodes(Batch.from_data_list(datas))
    starts = nodes.ptr[:-1]
    for k, data in enumerate(datas):
        inside = nodes.example == k
        assert nodes.local[inside].tolist() == list(range(data.num_nodes))
        assert torch.equal(nodes.first[inside] - starts[k], Nodes(data).first)
    same = nodes.block[:, None] == nodes.block
    utterance = nodes["utterance"]
    assert torch.equal(same, (nodes.example[:, None] == nodes.example) & (utterance[:, None] == utterance))


def test_pieces_need_not_stand_together():
    word = torch.tensor([1, 0, -1, 1, 0, -1])
    zeros = torch.zeros_like(word)
    nodes = Nodes(Data(node_type=zeros, word=word, utterance=zeros))
    assert nodes.first.tolist() == [0, 1, 2, 0, 1, 5]
    source, target, pair = nodes.piece_pairs(torch.tensor([0, 2]), torch.tensor([1, 5]), "all")
    assert set(zip(source.tolist(), target.tolist(), pair.tolist())) == {
        *((s, t, 0) for s in (0, 3) for t in (1, 4)),
        (2, 5, 1),
    }


def test_words_in_any_order_without_pieces():
    word = torch.tensor([2, 0, 1])
    nodes = Nodes(Data(node_type=torch.zeros_like(word), word=word, utterance=torch.zeros_like(word)))
    assert nodes.first.tolist() == [0, 1, 2]
    assert not nodes.has_pieces


class Letters:
    """A piece for every letter of a word."""

    cls_id, sep_id, eou_id, fingerprint = 1, 2, 3, "letters"

    def encode(self, words):
        return [[ord(letter) % 50 for letter in word] for word in words]


def test_the_pieces_of_an_empty_node_are_linked():
    """Empty nodes have no number; two of them in one utterance are two all the same."""
    rows = [
        (f"1.{i}", form, *"______", arcs, "_") for i, form, arcs in ((1, "def", "1:conj"), (2, "gh", "2:dep"))
    ]
    deps = [[("0", "root")], [("1.1", "obj")]]
    sentence = Sentence(["ab", "c"], [0, 1], ["root", "obj"], deps=deps, empty=rows)
    relations = RelationVocab()
    text = EncodedUtterance.of(sentence, Letters(), relations, arcs="enhanced")
    data = text_data(text, tokens=Letters(), max_length=20)
    assert data.word.tolist() == [-1, 0, 0, 1, -1, -1, -1, -1, -1, -1]
    first = [0, 1, 1, 3, 4, 4, 4, 7, 7, 9]
    batch = Batch.from_data_list([data, data])
    assert Nodes(batch).first.tolist() == [*first, *(10 + node for node in first)]
    assert Nodes(resolve("dam")(data)).first.tolist() == [*first, 10, 11, 12]
    for pieces, wanted in (
        ("all", {(1, 10), (2, 10), (4, 10), (5, 10), (6, 10)}),
        ("first", {(1, 10), (4, 10)}),
    ):
        out = resolve("dam", pieces=pieces, overview=())(data)
        assert out.arc_index.T.tolist() == [[4, 3], [1, 4], [3, 7]]
        linked = {*zip(*out.edge_index.tolist())} - {(node, node) for node in range(13)}
        arc = out.arc_node_index[1]  # from the first word to the first empty node
        assert {pair for pair in linked if pair[1] == arc} == {(a, int(arc)) for a, _ in wanted}


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        # As a column of words would be, one place off where there is a ROOT.
        (torch.tensor([1, 0, 2]), r"'mark' must be of shape \[4\] \(got \[3\]\)"),
        (torch.zeros(4, 1, dtype=torch.long), r"'mark' must be of shape \[4\] \(got \[4, 1\]\)"),
        # All bits of -1 are set: it would be a mark of every span.
        (torch.tensor([0, -1, 0, 0]), r"'mark' must be whole numbers from 0 on \(got -1\)"),
        (torch.ones(4), r"'mark' must be whole numbers from 0 on"),
    ],
)
def test_marks_that_do_not_fit(mark, message):
    data = to_data([Sentence.chain(["a", "b", "c"])])
    with pytest.raises(ValueError, match=r"the data has no 'mark': call graphdep.data.node_table\("):
        _ = Nodes(data).mark
    data.mark = mark
    for read in (SpanPathEdges(), RerootedTree(), lambda data: SpanReadout()(data, torch.ones(4, 1))):
        with pytest.raises(ValueError, match=message):
            read(data)


STALE = "the node table does not fit the nodes"


@given(examples(pieces=False), st.data())  # with pieces, those left of a root word may stand for a ROOT
def test_a_subgraph_is_right_or_refused(data, draw):
    """What is let through has for every node the governor and the arcs that it had."""
    keep = draw.draw(st.lists(st.booleans(), min_size=data.num_nodes, max_size=data.num_nodes))
    keep = torch.tensor(keep)
    part = SelfLoops()(data).subgraph(keep)
    try:
        Nodes(part)
    except ValueError as error:
        assert STALE in str(error)
        return
    old = keep.nonzero().view(-1)
    assert torch.equal(old[part.governor_index], data.governor_index[old])
    arcs = set(map(tuple, data.arc_index.t().tolist()))
    assert set(map(tuple, old[part.arc_index].t().tolist())) <= arcs


@settings(max_examples=25)
@given(example_lists(max_size=3), st.sampled_from([None, RelationNodes()]))
def test_what_the_library_makes_is_right(datas, transform):
    for data in [*datas, Batch.from_data_list(datas)]:
        Nodes(data if transform is None else transform(data))


@pytest.mark.parametrize("name", ["dra", "dt"])
def test_dropped_nodes_are_refused_where_the_tree_is_read(example, name):
    data = resolve(name)(to_data([example]))
    part = data.subgraph(torch.tensor([0, 1, 2, 3, 5]))
    for read in (AncestorEdges(), AttentionLayout.of):
        with pytest.raises(ValueError, match=f"{STALE}: '(arc|governor)_index' .*before to_data\\(\\)"):
            read(part)
    two = Batch.from_data_list([data, data])
    with pytest.raises(ValueError, match=STALE):
        AncestorEdges()(two.subgraph(torch.arange(10)))


def test_largest_connected_component_is_refused(example):
    data = resolve("gate")(to_data([Sentence.chain(["x"] * 2), example]))
    part = T.LargestConnectedComponents()(data)
    assert part.num_nodes == 10
    with pytest.raises(ValueError, match=STALE):
        AncestorEdges()(part)


@pytest.mark.parametrize("name", ["dra", "dt"])
def test_a_virtual_node_is_refused(example, name):
    data = T.VirtualNode()(resolve(name)(to_data([example])))
    for read in (AncestorEdges(), AttentionLayout.of):
        with pytest.raises(ValueError, match=f"{STALE}: node 10 \\(ROOT\\) cannot have node 0"):
            read(data)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("word", torch.zeros(3, dtype=torch.long), "'word' has \\[3\\] entries for 10 nodes"),
        ("governor_index", torch.full((10,), 10), "'governor_index' names node 10, but there are 10"),
        ("arc_index", torch.tensor([[-1], [3]]), "'arc_index' names node -1, but there are 10"),
        ("arc_index", torch.tensor([[3], [0]]), "'arc_index' has an arc from node 3 to node 0"),
        ("arc_node_index", torch.tensor([1]), "'arc_node_index' names nodes that are no RELATION nodes"),
        ("ptr", torch.tensor([0, 9]), "'ptr' ends at 9, but there are 10 nodes"),
    ],
)
def test_each_column_by_itself(example, key, value, message):
    data = to_data([example])
    data[key] = value
    with pytest.raises(ValueError, match=message):
        Nodes(data)


def test_data_is_left_as_it_is_and_needs_no_node_table(example):
    data = to_data([example])
    kept = data.clone()
    Nodes(data)
    assert_same_data(data, kept)
    Nodes(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2))
    Nodes(Data(node_type=torch.zeros(0, dtype=torch.long)))


positions = st.sampled_from(["sequence", "dependent", "zero", "none"])


def slow_relation_nodes(data: Data, position: str) -> Data:
    out = Data(num_nodes=data.num_nodes + data.arc_index.size(1))
    rows = {
        key: value.tolist()
        for key, value in data.items()
        if key not in ("num_nodes", "arc_index", "arc_type")
    }
    last, nodes = max(rows["position"]), []
    for k, (dependent, label) in enumerate(zip(data.arc_index[1].tolist(), data.arc_type.tolist())):
        places = {"sequence": last + 1 + k, "dependent": rows["position"][dependent], "zero": 0, "none": -1}
        place = places[position]
        nodes.append(len(rows["depth"]))
        new = {"node_type": NodeType.RELATION, "governor_index": nodes[-1], "deprel": label, "depth": -1}
        new |= {"utterance": rows["utterance"][dependent], "word": -1, "position": place}
        new |= {"segment": rows["segment"][dependent], "input_ids": label}
        for key, row in rows.items():
            row.append(int(new[key]))
    for key, row in rows.items():
        out[key] = torch.tensor(row)
    out.arc_index, out.arc_type = data.arc_index, data.arc_type
    out.arc_node_index = torch.tensor(nodes, dtype=torch.long)
    return out


@given(examples(), positions)
def test_against_loop(data, position):
    assert_same_data(RelationNodes(position)(data), slow_relation_nodes(data, position))


def more_keys(data: Data, k: int) -> Data:
    data.response_index = torch.tensor([0, data.num_nodes - 1])
    data.target_ids = torch.arange(data.num_nodes)  # as long as the nodes by chance
    data.y = torch.tensor([float(k)])
    data.name = f"example {k}"
    return data


@settings(max_examples=20)
@given(example_lists(input_ids=False))
def test_other_keys(datas):
    datas = [more_keys(data, k) for k, data in enumerate(datas)]
    batch = assert_batch_law(RelationNodes(), datas)
    ends = [data.num_nodes - 1 for data in datas]
    offset = batch.ptr[:-1].repeat_interleave(2)
    assert (batch.response_index - offset).view(-1, 2).tolist() == [[0, end] for end in ends]


@settings(max_examples=15)
@given(example_lists())
def test_edges_that_are_there_keep_their_nodes(datas):
    for implicit in (True, False):
        edges = CompleteEdges(node_types=["WORD"], implicit=implicit) | SelfLoops()
        batch = assert_batch_law(RelationNodes(), [edges(data) for data in datas])
        new = batch.node_type == NodeType.RELATION
        assert not implicit or bool((batch.clique[new] == -1).all())
        assert not bool(new[batch["edge_index_explicit" if implicit else "edge_index"]].any())


def test_follow_batch(example):
    datas = [to_data([example]), to_data([example, Sentence.chain(["a"])])]
    follow = ["word", "arc_index", "edge_index"]
    datas = [SelfLoops()(data) for data in datas]
    batch = next(iter(DataLoader(datas, batch_size=2, follow_batch=follow)))
    got = RelationNodes()(batch)
    expected = Batch.from_data_list([RelationNodes()(data) for data in datas], follow_batch=follow)
    assert_same_batch(got, expected)
    got = SelfLoops()(got)
    assert torch.equal(got.edge_index_batch, got.batch)


def test_refusals(example):
    data = RelationNodes()(to_data([example]))
    with pytest.raises(ValueError, match="RelationNodes must come before .* 'arc_node_index'"):
        RelationNodes()(data)
    data = to_data([example])
    data.x = torch.zeros(10, 4)
    with pytest.raises(ValueError, match="RelationNodes must come before the transform that makes 'x'"):
        RelationNodes()(data)
