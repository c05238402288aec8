from __future__ import annotations

import torch
from torch_geometric.data import Batch

from graphdep import Sentence, Vocab, to_data
from graphdep.nn.conv import DRAConv
from graphdep.nn.models import ContextTransformer, GraphTransformer
from graphdep.transforms import resolve

VOCAB = Vocab("abc")


def test_rows_are_the_states_of_all_nodes() -> None:
    encoder = GraphTransformer(len(VOCAB), lambda number: DRAConv(8, 4, 2), hidden_channels=8, ff_channels=8)
    model = ContextTransformer(encoder).eval()
    sentences = [Sentence.chain(["a", "b"]), Sentence.chain(["c"])]
    data = resolve("dra")(Batch.from_data_list([to_data(sentences, vocab=VOCAB) for _ in range(2)]))
    memory = model(data)
    assert torch.equal(memory.x, encoder(data))
    assert torch.equal(memory.ptr, torch.tensor([0, 5, 10]))
    assert torch.equal(memory.group, torch.tensor([0, 0, 0, 1, 1] * 2))
    assert model.embedding is encoder.embedding
    assert model.hidden_channels == 8
