from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from graphdep import NodeType, RelationVocab, Sentence, to_data
from graphdep.testing import assert_batch_law, assert_same_batch, assert_same_data
from graphdep.transforms import CompleteEdges, RelationNodes, SelfLoops
from tests.kit.strategies import example_lists, examples

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


@given(example_lists(), positions)
def test_law(datas, position):
    batch = assert_batch_law(RelationNodes(position), datas)
    assert torch.equal(batch.batch, torch.repeat_interleave(torch.arange(len(datas)), batch.ptr.diff()))


def more_keys(data: Data, k: int) -> Data:
    data.response_index = torch.tensor([0, data.num_nodes - 1])
    data.target_ids = torch.arange(data.num_nodes)  # as long as the nodes by chance
    data.y = torch.tensor([float(k)])
    data.name = f"example {k}"
    return data


@given(example_lists(input_ids=False))
def test_other_keys(datas):
    datas = [more_keys(data, k) for k, data in enumerate(datas)]
    batch = assert_batch_law(RelationNodes(), datas)
    ends = [data.num_nodes - 1 for data in datas]
    offset = batch.ptr[:-1].repeat_interleave(2)
    assert (batch.response_index - offset).view(-1, 2).tolist() == [[0, end] for end in ends]


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


def test_labels_and_links(example):
    data = RelationNodes()(to_data([example]))
    relations = RelationVocab()
    assert data.num_nodes == 10 + 9
    assert [relations.label(i) for i in data.deprel[data.arc_node_index].tolist()] == example.deprel
    assert torch.equal(data.deprel[data.arc_node_index], data.arc_type)


def test_one_word_without_root_has_no_relation():
    data = RelationNodes()(to_data([Sentence.chain(["x"])], root=False))
    assert data.num_nodes == 1
    assert data.arc_node_index.shape == (0,)


def test_refusals(example):
    with pytest.raises(ValueError, match="'position' must be one of"):
        RelationNodes("last")
    data = RelationNodes()(to_data([example]))
    with pytest.raises(ValueError, match="RelationNodes would leave 'arc_node_index' stale"):
        RelationNodes()(data)
    data = to_data([example])
    data.x = torch.zeros(10, 4)
    with pytest.raises(ValueError, match="RelationNodes would leave 'x' stale"):
        RelationNodes()(data)
