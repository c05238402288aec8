from __future__ import annotations

import pytest
import torch
from torch import nn
from torch_geometric.utils import cumsum

from graphdep.nn.models import NodeEmbedding, TransformerDecoder
from graphdep.nn.models.transformer import Memory

WORDS, CHANNELS = 9, 8


def make(norm_first: bool = False, **options: int) -> TransformerDecoder:
    torch.manual_seed(0)
    embedding = NodeEmbedding(WORDS, CHANNELS, max_positions=0, max_levels=0)
    sizes = {"num_layers": 2, "heads": 2, "ff_channels": 12} | options
    return TransformerDecoder(embedding, CHANNELS, norm_first=norm_first, **sizes).double().eval()


def torch_layer(block: nn.Module, norm_first: bool) -> nn.TransformerDecoderLayer:
    """PyTorch's own block with the same weights."""
    layer = nn.TransformerDecoderLayer(CHANNELS, 2, 12, 0.0, batch_first=True, norm_first=norm_first).double()
    names = {"self_attn": block.own, "multihead_attn": block.cross}
    with torch.no_grad():
        for name, attention in names.items():
            other = getattr(layer, name)
            lins = (attention.lin_query, attention.lin_key, attention.lin_value)
            other.in_proj_weight.copy_(torch.cat([lin.weight for lin in lins]))
            other.in_proj_bias.copy_(torch.cat([lin.bias for lin in lins]))
            other.out_proj.load_state_dict(attention.lin_out.state_dict())
    layer.linear1.load_state_dict(block.feed_forward[0].state_dict())
    layer.linear2.load_state_dict(block.feed_forward[-1].state_dict())
    for number, norm in enumerate((block.norm_own, block.norm_cross, block.norm_feed_forward), start=1):
        getattr(layer, f"norm{number}").load_state_dict(norm.state_dict())
    return layer.eval()


@pytest.mark.parametrize("norm_first", [False, True])
def test_equals_pytorchs_decoder(norm_first: bool) -> None:
    decoder = make(norm_first)
    for parameter in decoder.parameters():
        nn.init.normal_(parameter, std=0.5)
    rows, ids = [torch.randn(n, CHANNELS).double() for n in (4, 2, 7)], [[5, 6, 4], [4], [7, 7, 8, 5, 4]]
    memory = Memory(torch.cat(rows), cumsum(torch.tensor([4, 2, 7])))
    logits = decoder(
        memory, torch.tensor([token for response in ids for token in response]), torch.tensor([0, 3, 4, 9])
    )
    expected = []
    for context, response in zip(rows, ids):
        x = decoder.embedding.word(torch.tensor([1, *response[:-1]]))
        x = (x + decoder.position.weight[: len(response)])[None]
        mask = nn.Transformer.generate_square_subsequent_mask(len(response), dtype=torch.float64)
        for block in decoder.layers:
            x = torch_layer(block, norm_first)(x, context[None], tgt_mask=mask)
        x = decoder.output.lin(decoder.norm(x[0]))
        expected.append(x @ decoder.embedding.word.weight.T + decoder.output.bias)
    assert torch.allclose(logits, torch.cat(expected), atol=1e-10)


@pytest.mark.parametrize("norm_first", [False, True])
def test_what_a_response_looks_at_is_what_pytorchs_attention_says(norm_first: bool) -> None:
    decoder = make(norm_first)
    for parameter in decoder.parameters():
        nn.init.normal_(parameter, std=0.5)
    context, ids = torch.randn(4, CHANNELS).double(), torch.tensor([5, 6, 4])
    memory = Memory(context, torch.tensor([0, 4]))
    x = (decoder.embedding.word(torch.tensor([1, 5, 6])) + decoder.position.weight[:3])[None]
    mask = nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64)
    found = decoder.attention(memory, ids)
    assert len(found) == 2
    for block, weights in zip(decoder.layers, found):
        layer, asked = torch_layer(block, norm_first), []
        layer.multihead_attn.register_forward_pre_hook(lambda _, given, asked=asked: asked.append(given[0]))
        x = layer(x, context[None], tgt_mask=mask)
        wanted = layer.multihead_attn(asked[0], context[None], context[None], average_attn_weights=False)[1]
        assert torch.allclose(weights, wanted[0], atol=1e-10)
    before = decoder(memory, ids, torch.tensor([0, 3]))
    assert not decoder.layers[0].cross._forward_pre_hooks
    assert torch.equal(before, decoder(memory, ids, torch.tensor([0, 3])))
    with pytest.raises(ValueError, match=r"of one example \(got 2\)"):
        decoder.attention(Memory(context, torch.tensor([0, 2, 4])), ids)


def test_positions_beyond_the_last_share_it() -> None:
    decoder = make(max_positions=2)
    memory = Memory(torch.randn(3, CHANNELS).double(), torch.tensor([0, 3]))
    logits = decoder(memory, torch.full((6,), 5), torch.tensor([0, 6]))
    assert logits.isfinite().all()
    with torch.no_grad():
        decoder.position.weight[1] += 1
    changed = decoder(memory, torch.full((6,), 5), torch.tensor([0, 6]))
    assert torch.equal(changed[0], logits[0])
    assert not torch.isclose(changed[1:], logits[1:]).all(dim=1).any()


def test_bfloat16_training() -> None:
    decoder = make().float().train()
    memory = Memory(torch.randn(5, CHANNELS), torch.tensor([0, 2, 5]))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = decoder(memory, torch.tensor([5, 4, 6, 4]), torch.tensor([0, 2, 4]))
    assert logits.dtype == torch.bfloat16
    logits.float().square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in decoder.parameters())


def test_errors() -> None:
    for heads in (3, 0):
        with pytest.raises(ValueError, match=rf"'heads' \({heads}\) must divide 'hidden_channels' \(8\)"):
            make(heads=heads)
    with pytest.raises(ValueError, match=r"'num_layers' must be at least 1 \(got 0\)"):
        make(num_layers=0)
