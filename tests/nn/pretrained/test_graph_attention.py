from __future__ import annotations

import sys

import pytest
import torch
from torch import nn

from graphdep.nn.attention import AttentionLayout, edge_attention
from graphdep.nn.pretrained.anatomy import LayerEdges, graph_attention, register

EDGES = torch.tensor([[0, 1, 2, 0], [0, 1, 1, 2]])
MODULE = nn.Identity()


def states(heads=4, key_heads=4):
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randn(1, count, 3, 5, generator=generator, dtype=torch.double)
        for count in (heads, key_heads, key_heads)
    ]


def rows(x):
    return x[0].transpose(0, 1)


def graph(**options):
    return LayerEdges(AttentionLayout(EDGES, 3), **options)


def test_it_is_edge_attention():
    q, k, v = states()
    out, weights = graph_attention(MODULE, q, k, v, None, graph=graph())
    assert weights is None
    torch.testing.assert_close(out[0], edge_attention(rows(q), rows(k), rows(v), EDGES))


def test_the_models_own_scale():
    q, k, v = states()
    out, _ = graph_attention(MODULE, q, k, v, None, graph=graph(), scaling=1.0)
    torch.testing.assert_close(out[0], edge_attention(rows(q) * 5**0.5, rows(k), rows(v), EDGES))


def test_keys_shared_by_several_heads():
    q, k, v = states(key_heads=2)
    out, _ = graph_attention(MODULE, q, k, v, None, graph=graph())
    for head in range(4):
        own = [rows(x)[:, [number]] for x, number in ((q, head), (k, head // 2), (v, head // 2))]
        torch.testing.assert_close(out[0][:, [head]], edge_attention(*own, EDGES))


def test_a_layer_with_edges_of_its_own():
    q, k, v = states()
    loops = torch.arange(3).expand(2, 3)
    edges = graph(own={MODULE: AttentionLayout(loops, 3)})
    torch.testing.assert_close(graph_attention(MODULE, q, k, v, None, graph=edges)[0][0], rows(v))
    other = graph_attention(nn.Identity(), q, k, v, None, graph=edges)[0][0]
    torch.testing.assert_close(other, edge_attention(rows(q), rows(k), rows(v), EDGES))


def test_weights_are_put_aside():
    q, k, v = states()
    edges = graph(weights=[])
    graph_attention(MODULE, q, k, v, None, graph=edges)
    (pairs, alpha), *more = edges.weights
    assert not more
    assert torch.equal(pairs, EDGES)
    _, (_, wanted) = edge_attention(rows(q), rows(k), rows(v), EDGES, return_attention_weights=True)
    torch.testing.assert_close(alpha, wanted)


def test_dropout_of_all_weights():
    q, k, v = states()
    out, _ = graph_attention(MODULE, q, k, v, None, graph=graph(), dropout=1.0)
    assert not out.any()


def test_what_edges_would_overrule():
    with pytest.raises(ValueError, match="Identity has a mask of its own"):
        graph_attention(MODULE, *states(), torch.zeros(1, 1, 3, 3), graph=graph())
    with pytest.raises(ValueError, match="a window of 8 places of its own"):
        graph_attention(MODULE, *states(), None, graph=graph(), sliding_window=8)
    with pytest.raises(ValueError, match="call the PretrainedEncoder around it"):
        graph_attention(MODULE, *states(), None)


def test_without_transformers(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"need transformers: install graphdep\[pretrained\]"):
        register()
