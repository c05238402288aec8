from __future__ import annotations

import pytest
import torch
from torch import nn

from graphdep.nn.conv import AttentionConv
from graphdep.nn.models import TransformerLayer


def complete(num_nodes: int) -> torch.Tensor:
    return torch.ones(num_nodes, num_nodes).nonzero().t()


@pytest.mark.parametrize("norm_first", [False, True])
def test_equals_torch(norm_first: bool) -> None:
    torch.manual_seed(0)
    layer = TransformerLayer(AttentionConv(8, 4, heads=2), 8, 16, dropout=0.0, norm_first=norm_first).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    peer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, norm_first=norm_first).double()
    conv = layer.conv
    peer.load_state_dict(
        {
            "self_attn.in_proj_weight": torch.cat(
                [conv.lin_query.weight, conv.lin_key.weight, conv.lin_value.weight]
            ),
            "self_attn.in_proj_bias": torch.cat(
                [conv.lin_query.bias, conv.lin_key.bias, conv.lin_value.bias]
            ),
            "self_attn.out_proj.weight": layer.lin_out.weight,
            "self_attn.out_proj.bias": layer.lin_out.bias,
            "linear1.weight": layer.feed_forward[0].weight,
            "linear1.bias": layer.feed_forward[0].bias,
            "linear2.weight": layer.feed_forward[3].weight,
            "linear2.bias": layer.feed_forward[3].bias,
            "norm1.weight": layer.norm_attention.weight,
            "norm1.bias": layer.norm_attention.bias,
            "norm2.weight": layer.norm_feed_forward.weight,
            "norm2.bias": layer.norm_feed_forward.bias,
        }
    )
    x = torch.randn(5, 8, dtype=torch.float64)
    torch.testing.assert_close(layer(x, complete(5)), peer(x[None])[0], rtol=0, atol=1e-12)


def test_dropout_in_training_only() -> None:
    layer = TransformerLayer(AttentionConv(8, 4, heads=2), 8, 16, dropout=0.5)
    x = torch.randn(5, 8)
    assert not torch.equal(layer(x, complete(5)), layer(x, complete(5)))
    layer.eval()
    assert torch.equal(layer(x, complete(5)), layer(x, complete(5)))


def test_reset_parameters() -> None:
    layer = TransformerLayer(AttentionConv(8, 4, heads=2), 8, 16)
    for parameter in layer.parameters():
        nn.init.constant_(parameter, torch.nan)
    layer.reset_parameters()
    assert all(bool(parameter.isfinite().all()) for parameter in layer.parameters())
