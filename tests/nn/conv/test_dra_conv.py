from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch_geometric.utils import to_dense_adj

from graphdep import Sentence, to_data
from graphdep.nn.conv import DRAConv
from graphdep.transforms import resolve


def literal(conv: DRAConv, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Eq. 3-5 with a mask of 0 and -inf."""
    heads = []
    for h in range(conv.heads):
        part = slice(h * conv.out_channels, (h + 1) * conv.out_channels)
        query, key, value = (
            F.linear(x, lin.weight[part], lin.bias[part])
            for lin in (conv.lin_query, conv.lin_key, conv.lin_value)
        )
        score = query @ key.T / conv.out_channels**0.5 + mask
        heads.append(score.softmax(dim=-1) @ value)
    return torch.cat(heads, dim=1)


@pytest.fixture
def relation_mask(example: Sentence) -> torch.Tensor:
    """Eq. 2, entry by entry, of the paper's example: 0 is ROOT."""
    mask = torch.full((10, 10), -torch.inf, dtype=torch.float64)
    pairs = {(head, word) for word, head in enumerate(example.head, start=1)}
    for u in range(10):
        for v in range(10):
            if u == 0 or u == v or (u, v) in pairs:
                mask[u, v] = 0
    return mask


def test_the_papers_example(example: Sentence, relation_mask: torch.Tensor) -> None:
    data = resolve("dra")(to_data([example]))
    assert torch.equal(to_dense_adj(data.edge_index)[0].T.bool(), relation_mask == 0)
    x = torch.randn(10, 8, dtype=torch.float64)
    conv = DRAConv(8, 4, heads=2).double()
    torch.testing.assert_close(conv(x, data.edge_index), literal(conv, x, relation_mask), rtol=0, atol=1e-12)


def test_eq_5_read_literally(example: Sentence, relation_mask: torch.Tensor) -> None:
    edge_index = resolve("dra")(to_data([example])).edge_index
    x = torch.randn(10, 8, dtype=torch.float64)
    conv = DRAConv(8, 4, heads=2, residual=True).double()
    out, (_, alpha) = conv(x, edge_index, return_attention_weights=True)
    torch.testing.assert_close(out, x + literal(conv, x, relation_mask), rtol=0, atol=1e-12)
    assert torch.equal(out, conv(x, edge_index))
    assert alpha.shape == (edge_index.size(1), 2)


def test_residual_needs_equal_sizes() -> None:
    with pytest.raises(
        ValueError, match="'residual' needs equal sizes of input and output \\(got 8 and 12\\)"
    ):
        DRAConv(8, 4, heads=3, residual=True)
    with pytest.raises(ValueError, match="got 8 and 4"):
        DRAConv(8, 4, heads=2, concat=False, residual=True)
    DRAConv(8, 8, heads=2, concat=False, residual=True)
