from __future__ import annotations

import torch
from hypothesis import given
from torch_geometric.data import Batch, Data

from graphdep.testing.slow_tree import SlowTree
from graphdep.testing.strategies import example_lists, examples
from graphdep.transforms import Nodes


@given(examples())
def test_words_and_governors(data):
    nodes, slow = Nodes(data), SlowTree(data)
    assert nodes.first.tolist() == slow.first
    assert nodes.has_pieces == (slow.first != list(range(slow.size)))
    assert nodes.in_tree.nonzero().view(-1).tolist() == sorted(slow.tree)
    for node, parent in enumerate(nodes.parent.tolist()):
        governors = list(slow.tree.predecessors(node)) if node in slow.tree else []
        assert [parent] == (governors or [-1])


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
    source, target, pair = nodes.spread(torch.tensor([0, 2]), torch.tensor([1, 5]), "all")
    assert set(zip(source.tolist(), target.tolist(), pair.tolist())) == {
        *((s, t, 0) for s in (0, 3) for t in (1, 4)),
        (2, 5, 1),
    }


def test_words_in_any_order_without_pieces():
    word = torch.tensor([2, 0, 1])
    nodes = Nodes(Data(node_type=torch.zeros_like(word), word=word, utterance=torch.zeros_like(word)))
    assert nodes.first.tolist() == [0, 1, 2]
    assert not nodes.has_pieces
