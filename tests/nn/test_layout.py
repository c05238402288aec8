from __future__ import annotations

import random

import pytest
import torch
from torch_geometric.data import Batch, Data

from graphdep import Vocab, to_data
from graphdep.nn.attention import AttentionLayout
from graphdep.nn.attention.layout import own_layout
from graphdep.nn.conv import AttentionConv, DAMConv
from graphdep.nn.models import GraphTransformer
from graphdep.testing import assert_same_data
from graphdep.transforms import ChainTree, RelationNodes, resolve
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")


def example(seed: int) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 5)) for _ in range(2)], vocab=VOCAB)


def batch_of(edges: str, implicit: bool = True) -> Batch:
    batch = Batch.from_data_list([example(seed) for seed in range(3)])
    return resolve(edges, implicit=implicit)(batch)


def without_ptr(batch: Batch) -> Data:
    """As the data looks where only the example of each node is kept."""
    return Data(**{key: value for key, value in batch if key != "ptr"})


@pytest.mark.parametrize("edges", ["transformer", "dt", "dra"])
@pytest.mark.parametrize("implicit", [True, False])
def test_examples_are_told_apart_without_ptr(edges, implicit):
    batch = batch_of(edges, implicit)
    layout, again = AttentionLayout.of(batch), AttentionLayout.of(without_ptr(batch))
    assert torch.equal(layout.pairs, again.pairs)
    source, target = again.pairs
    assert torch.equal(batch.batch[source], batch.batch[target])
    assert (layout.edge_type is None) == (edges != "dt")
    assert layout.edge_type is None or torch.equal(layout.edge_type, again.edge_type)
    assert torch.equal(layout.ptr, again.ptr)


def test_states_are_the_same_without_ptr():
    torch.manual_seed(0)
    model = GraphTransformer(
        len(VOCAB), lambda _: DAMConv(8, 4, 2), hidden_channels=8, num_layers=2, ff_channels=8
    ).eval()
    batch = batch_of("transformer")
    assert torch.equal(model(batch), model(without_ptr(batch)))
    alone = torch.cat([model(data) for data in batch.to_data_list()])
    torch.testing.assert_close(model(without_ptr(batch)), alone)
    torch.testing.assert_close(model(batch_of("transformer", implicit=False)), alone)


def test_one_example_has_neither():
    data = resolve("transformer")(example(1))
    assert AttentionLayout.of(data).pairs.size(1) == data.num_nodes**2


def test_edges_that_join_examples_are_refused():
    for implicit in (True, False):
        batch, key = batch_of("dt", implicit), "edge_index_explicit" if implicit else "edge_index"
        batch[key] = batch[key].clone()
        batch[key][:, 2] = torch.tensor([0, batch.num_nodes - 1])
        with pytest.raises(ValueError, match=f"different examples \\(edge 2: \\[0, {batch.num_nodes - 1}\\]"):
            AttentionLayout.of(batch)


def test_data_without_edges_or_with_two_kinds_is_refused():
    with pytest.raises(ValueError, match="the data has no 'edge_index': apply an edge constructor"):
        AttentionLayout.of(example(1))
    data = resolve("transformer", implicit=True)(example(1))
    data.edge_index = torch.tensor([[0], [1]])
    with pytest.raises(ValueError, match="an 'edge_index' beside the 'clique' of implicit edges: which are"):
        AttentionLayout.of(data)


def test_data_of_others_needs_no_node_table():
    edge_index = torch.tensor([[0, 1], [1, 2]])
    layout = AttentionLayout.of(Data(x=torch.zeros(4, 3), edge_index=edge_index))
    assert layout.num_nodes == 4
    assert torch.equal(layout.pairs, edge_index)


@pytest.mark.parametrize("implicit", [True, False])
def test_layers_may_have_edges_of_their_own(implicit):
    batch = batch_of("dt", implicit)
    kept = batch.clone()
    layout = own_layout(batch, resolve("dra"), AttentionConv.reads)
    assert torch.equal(layout.pairs, batch_of("dra").edge_index)
    assert layout.edge_type is None
    assert_same_data(batch, kept)
    with pytest.raises(ValueError, match="'edges' must keep the nodes of the data"):
        own_layout(batch, RelationNodes(), AttentionConv.reads)
    with pytest.raises(ValueError, match="no 'edge_index': apply an edge constructor"):
        own_layout(batch, ChainTree(), AttentionConv.reads)


def test_written_out_layouts_keep_types_and_marks():
    for name in ("dt", "lisa-complete"):
        layout = AttentionLayout.of(batch_of(name)).materialize()
        expected = AttentionLayout.of(batch_of(name, implicit=False))
        order = (layout.pairs[1] * layout.num_nodes + layout.pairs[0]).argsort()
        assert torch.equal(layout.pairs[:, order], expected.pairs)
        assert torch.equal(layout.ptr, expected.ptr)
        for got, wanted in zip(
            (layout.edge_type, layout.edge_mark), (expected.edge_type, expected.edge_mark)
        ):
            assert got is wanted is None or torch.equal(got[order], wanted)
