"""Layers with a window of their own, as ModernBERT has them."""

from __future__ import annotations

import pytest
import torch

from graphdep.nn.attention import AttentionLayout, RelationVectors, edge_attention
from graphdep.nn.pretrained.anatomy import near_edges

# The first layer sees all, the others two places on either side.
OPTIONS = {"local_attention": 4, "global_attn_every_n_layers": 3}
TEXTS = ["a bee sees a low hotel", "hi", "the cat was chased by the dog ."]


@pytest.fixture
def encoder(make):
    return make("modernbert", **OPTIONS)


def padded_states(encoder, padded, batch):
    """Of each example alone, by the model's own attention and windows."""
    parts = [batch.input_ids[batch.batch == number] for number in range(batch.num_graphs)]
    return torch.cat([padded(input_ids=part[None]).last_hidden_state[0] for part in parts])


def test_full_edges_are_the_padded_model(encoder):
    encoder, padded = encoder
    batch = encoder.to_data(TEXTS, parser="chain")
    assert batch.input_ids.numel() > 3 * 5
    torch.testing.assert_close(encoder(batch), padded_states(encoder, padded, batch), rtol=1e-5, atol=1e-6)


def test_dropped_windows_are_a_model_without_any(make, encoder):
    own, _ = encoder
    wide, without = make("modernbert", **{**OPTIONS, "local_attention": 64})
    batch = own.to_data(TEXTS, parser="chain")
    with_windows = own(batch)
    own.windows = "dropped"
    torch.testing.assert_close(own(batch), padded_states(wide, without, batch), rtol=1e-5, atol=1e-6)
    assert not torch.allclose(own(batch), with_windows, atol=1e-3)
    assert "windows='dropped'" in repr(own)


def test_edges_are_met_with_the_window(encoder):
    """As if the far edges were not there, in the layers that have a window."""
    encoder, _ = encoder
    batch = encoder.to_data(TEXTS, parser="chain", edges="dra")
    layers = encoder(batch, return_layers=True)[1]
    source, target = batch.edge_index
    position = torch.cat([torch.arange(n) for n in batch.ptr.diff().tolist()])
    near = (position[source] - position[target]).abs() <= 2
    assert 0 < near.sum() < near.numel()
    encoder.windows = "dropped"
    cut = batch.clone()
    cut.edge_index = batch.edge_index[:, near]
    for key in ("edge_type", "edge_mark"):
        if cut.get(key) is not None:
            cut[key] = cut[key][near]
    torch.testing.assert_close(
        encoder(batch, return_layers=True)[1][1], layers[1]
    )  # the first layer sees all
    # From the same states, a layer over the near edges alone gives what the windowed one did.
    states = {}

    def take(module, args, kwargs, output):
        states["out"] = output[0] if isinstance(output, tuple) else output

    def give(module, args, kwargs):
        return ((layers[1][None],), kwargs) if args else ((), {**kwargs, "hidden_states": layers[1][None]})

    layer = encoder.model.layers[1]
    handles = [
        layer.register_forward_pre_hook(give, with_kwargs=True),
        layer.register_forward_hook(take, with_kwargs=True),
    ]
    encoder(cut)
    for handle in handles:
        handle.remove()
    torch.testing.assert_close(states["out"][0], layers[2])


def test_weights_are_those_of_near_pairs(encoder):
    encoder, _ = encoder
    batch = encoder.to_data(TEXTS[:1], parser="chain")
    (pairs, _), (near, alpha), _ = encoder.attention(batch)
    assert pairs.size(1) == batch.num_nodes**2
    assert ((near[0] - near[1]).abs() <= 2).all()
    total = torch.zeros(batch.num_nodes, alpha.size(1), dtype=alpha.dtype).index_add(0, near[1], alpha)
    torch.testing.assert_close(total, torch.ones_like(total))


@pytest.mark.parametrize("clique", [False, True])
def test_terms_are_those_of_the_edges_that_are_left(clique):
    torch.manual_seed(0)
    edge_index = torch.tensor([[0, 3, 5, 1, 4], [1, 0, 5, 1, 5]])
    position = torch.tensor([0, 1, 2, 3, 4, 5])
    group = torch.zeros(6, dtype=torch.long) if clique else None
    layout = AttentionLayout(edge_index, 6, clique=group)
    near = near_edges(layout, position, 3)
    kept = [0, 2, 3, 4]  # 3 -> 0 is three places away
    query, key, value = torch.randn(3, 6, 2, 4).unbind()
    table, relation = torch.randn(7, 4), torch.tensor([1, 2, 3, 0, 6])
    terms = {
        "attn_bias": torch.randn(5, 2),
        "score_scale": torch.randn(5, 2),
        "edge_key": RelationVectors(table, relation, heads=2),
        "edge_value": None,
    }
    found = edge_attention(query, key, value, near.layout.edge_index, layout=near.layout, **near.terms(terms))
    allowed = torch.zeros(6, 6, dtype=torch.bool)
    for source, target in layout.pairs.T.tolist():
        allowed[target, source] = abs(source - target) < 3
    scores = torch.einsum("ihd,jhd->hij", query, key) / 2
    for number in kept:
        source, target = edge_index[:, number].tolist()
        own = (query[target] * (key[source] + table[relation[number]])).sum(-1) / 2
        scores[:, target, source] = terms["score_scale"][number] * own + terms["attn_bias"][number]
    alpha = scores.masked_fill(~allowed, -torch.inf).softmax(-1).nan_to_num()
    torch.testing.assert_close(found, torch.einsum("hij,jhd->ihd", alpha, value), rtol=1e-5, atol=1e-5)


def test_short_examples_stay_as_they_are():
    layout = AttentionLayout(torch.tensor([[0], [1]]), 4, clique=torch.tensor([0, 0, 1, 1]))
    assert near_edges(layout, torch.tensor([0, 1, 0, 1]), 2).layout is layout
