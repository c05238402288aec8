from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from graphdep.nn.attention import AttentionLayout
from graphdep.nn.conv import DAMConv

# [CLS] I want it, with the relations nsubj(want, I) and obj(want, it) as nodes 4 and 5.
CLS, WORDS, RELATIONS = 0, (1, 2, 3), (4, 5)
LINKS = {(1, 4), (2, 4), (2, 5), (3, 5)}  # (word, relation) of the tree with relation nodes, E'


def allowed(both: bool) -> torch.Tensor:
    """Eq. 1, row by row; its third row lets words read relations, not the other way round."""
    mask = torch.zeros(6, 6, dtype=torch.bool)
    for i in range(6):
        for j in range(6):
            cls = i == CLS or j == CLS
            words = i in WORDS and j in WORDS
            link = (i, j) in LINKS or (both and (j, i) in LINKS)
            itself = i in RELATIONS and i == j
            mask[i, j] = cls or words or link or itself
    return mask


@pytest.mark.parametrize("both", [True, False], ids=["both ways", "Eq. 1"])
def test_equals_the_formula(both: bool) -> None:
    clique = torch.tensor([0, 0, 0, 0, -1, -1])
    read = [(r, w) for w, r in LINKS]  # source relation, target word
    read += [(w, r) for w, r in LINKS] if both else []
    read += [(r, r) for r in RELATIONS] + [(r, CLS) for r in RELATIONS] + [(CLS, r) for r in RELATIONS]
    edge_index = torch.tensor(read).t()
    torch.manual_seed(0)
    conv = DAMConv(8, 4, heads=2).double()
    x = torch.randn(6, 8, dtype=torch.float64)
    layout = AttentionLayout(edge_index, 6, clique=clique)
    out, (pairs, alpha) = conv(x, layout, return_attention_weights=True)
    query, key, value = (
        lin(x).view(6, 2, 4).transpose(0, 1) for lin in (conv.lin_query, conv.lin_key, conv.lin_value)
    )
    mask = allowed(both)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(out, expected.transpose(0, 1).reshape(6, 8), rtol=0, atol=1e-12)
    assert {(i, j) for j, i in pairs.t().tolist()} == {tuple(pair) for pair in mask.nonzero().tolist()}
    assert alpha.shape == (int(mask.sum()), 2)
    # Two sentences in a batch: equal clique numbers, told apart by ptr.
    both_edges, ptr = torch.cat([edge_index, edge_index + 6], dim=1), torch.tensor([0, 6, 12])
    twice = conv(torch.cat([x, x]), AttentionLayout(both_edges, 12, clique=clique.repeat(2), ptr=ptr))
    torch.testing.assert_close(twice, torch.cat([out, out]), rtol=0, atol=1e-12)
