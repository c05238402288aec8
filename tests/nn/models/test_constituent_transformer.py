from __future__ import annotations

import random

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data

from graphdep import Vocab, to_data
from graphdep.nn.models import ConstituentTransformer, TextEncoder
from tests.kit.trees import random_sentence

VOCAB = Vocab("abcdefgh")


def make(**options) -> ConstituentTransformer:
    torch.manual_seed(0)
    sizes = {"hidden_channels": 8, "heads": 2, "ff_channels": 6, "num_layers": 3, "dropout": 0.0}
    model = ConstituentTransformer(len(VOCAB), **(sizes | options)).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


def example(seed: int) -> Data:
    rng = random.Random(seed)
    sentences = [random_sentence(rng, rng.randint(1, 6)) for _ in range(2)]
    return to_data(sentences, vocab=VOCAB, positions="example")


@pytest.mark.parametrize("options", [{}, {"renormalize": True}, {"position_embedding": False}])
def test_equals_blocks_by_hand(options: dict) -> None:
    """Constituents grow from block to block; what a block is, its own test says."""
    model, examples = make(**options), [example(seed) for seed in range(3)]
    out = model(Batch.from_data_list(examples))
    states = []
    for data in examples:
        x, ptr = model.embedding.word.weight[data.input_ids], torch.tensor([0, data.num_nodes])
        if options != {"position_embedding": False}:
            x = x + model.embedding.position.weight[data.position]
        link = torch.zeros(data.num_nodes, dtype=torch.float64)
        for layer in model.layers:
            own = layer.conv.links(x, ptr)
            link = link + (1 - link) * own
            x = layer.norm_attention(x + layer.lin_out(layer.conv(x, link, ptr)))
            x = layer.norm_feed_forward(x + layer.feed_forward(x))
        states.append(x)
        torch.testing.assert_close(model(data), x)
    torch.testing.assert_close(out, torch.cat(states))


def test_no_parse_and_no_edges_are_read() -> None:
    model, data = make(), example(1)
    out = model(data)
    for key in ("governor_index", "depth", "deprel", "arc_index", "arc_type"):
        data[key] = torch.zeros_like(data[key])
    assert torch.equal(model(data), out)


def test_utterances_see_one_another() -> None:
    model, data = make(), example(1)
    out = model(data)
    data.input_ids[-1] = 0
    assert not torch.equal(model(data)[0], out[0])


def test_reset_readout_and_dropout() -> None:
    model, data = make(dropout=0.5), example(1)
    assert isinstance(model, TextEncoder)
    assert not torch.equal(model(data), model(data))
    model.eval()
    out = model(data)
    assert torch.equal(model(data), out)
    assert model.readout(data, out).shape == (2, 8)
    for parameter in model.parameters():
        nn.init.constant_(parameter, torch.nan)
    model.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())


def test_errors() -> None:
    for heads in (3, 0):
        with pytest.raises(ValueError, match=f"'heads' \\({heads}\\) must divide 'hidden_channels' \\(8\\)"):
            make(heads=heads)
    with pytest.raises(ValueError, match="'num_layers' must be a whole number of at least 1 \\(got 0\\)"):
        make(num_layers=0)
