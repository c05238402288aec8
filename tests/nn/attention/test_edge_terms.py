from __future__ import annotations

import torch

from graphdep.nn.attention import EdgeTerms, edge_attention


def test_they_are_the_keywords_of_edge_attention():
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 4, 2, 5, generator=generator, dtype=torch.double)
    edges = torch.tensor([[0, 1, 2, 3], [1, 1, 0, 2]])
    plain = edge_attention(q, k, v, edges)
    assert torch.equal(edge_attention(q, k, v, edges, **EdgeTerms()._asdict()), plain)
    bias, scale = torch.randn(2, 4, 2, generator=generator, dtype=torch.double)
    key, value = torch.randn(2, 4, 2, 5, generator=generator, dtype=torch.double)
    out = edge_attention(q, k, v, edges, **EdgeTerms(bias, scale, key, value)._asdict())
    options = {"attn_bias": bias, "score_scale": scale, "edge_key": key, "edge_value": value}
    assert torch.equal(out, edge_attention(q, k, v, edges, **options))
    assert not torch.allclose(out, plain)
