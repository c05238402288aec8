"""Data whose nodes were added or dropped by somebody who does not know of the tree."""

from __future__ import annotations

import pytest
import torch
import torch_geometric.transforms as T
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphdep import Sentence, to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.testing import assert_same_data
from graphdep.transforms import AncestorEdges, Nodes, RelationNodes, SelfLoops, resolve
from tests.kit.strategies import example_lists, examples

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


@given(example_lists(max_size=3), st.sampled_from([None, RelationNodes()]))
def test_what_the_library_makes_is_right(datas, transform):
    for data in [*datas, Batch.from_data_list(datas)]:
        Nodes(data if transform is None else transform(data))


@pytest.mark.parametrize("name", ["dra", "transformer", "dt"])
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


@pytest.mark.parametrize("name", ["dra", "transformer", "dt"])
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
