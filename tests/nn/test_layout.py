from __future__ import annotations

import random

import pytest
import torch
from torch_geometric.data import Batch, Data

from graphdep import Vocab, to_data
from graphdep.nn._layout import layout_of, typed_layout_of
from graphdep.nn.conv import DAMConv
from graphdep.nn.models import GraphTransformer
from graphdep.testing import random_sentence
from graphdep.transforms import resolve

VOCAB = Vocab("abcdefgh")


def example(seed: int) -> Data:
    rng = random.Random(seed)
    return to_data([random_sentence(rng, rng.randint(1, 5)) for _ in range(2)], vocab=VOCAB)


def batch_of(edges: str) -> Batch:
    return resolve(edges)(Batch.from_data_list([example(seed) for seed in range(3)]))


def without_ptr(batch: Batch) -> Data:
    """As the data looks where only the example of each node is kept."""
    return Data(**{key: value for key, value in batch if key != "ptr"})


@pytest.mark.parametrize("edges", ["transformer", "dt", "dra"])
def test_examples_are_told_apart_without_ptr(edges):
    batch = batch_of(edges)
    layout, edge_type = typed_layout_of(batch)
    again, same_type = typed_layout_of(without_ptr(batch))
    assert torch.equal(layout.pairs, again.pairs)
    source, target = again.pairs
    assert torch.equal(batch.batch[source], batch.batch[target])
    assert (edge_type is None) == (edges != "dt")
    assert edge_type is None or torch.equal(edge_type, same_type)


def test_states_are_the_same_without_ptr():
    torch.manual_seed(0)
    model = GraphTransformer(
        len(VOCAB), lambda _: DAMConv(8, 4, 2), hidden_channels=8, num_layers=2, ff_channels=8
    ).eval()
    batch = batch_of("transformer")
    assert torch.equal(model(batch), model(without_ptr(batch)))
    alone = torch.cat([model(data) for data in batch.to_data_list()])
    torch.testing.assert_close(model(without_ptr(batch)), alone)


def test_one_example_has_neither():
    data = resolve("transformer")(example(1))
    assert layout_of(data).pairs.size(1) == data.num_nodes**2
