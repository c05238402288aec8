from __future__ import annotations

import torch
from torch import nn

from graphdep.nn.models import HREDDecoder, NodeEmbedding
from graphdep.nn.models.transformer import Memory

WORDS, CHANNELS = 9, 6


def test_the_context_starts_the_decoder_and_is_read_at_every_step() -> None:
    torch.manual_seed(0)
    embedding = NodeEmbedding(WORDS, CHANNELS, max_positions=0, max_levels=0)
    decoder = HREDDecoder(embedding, CHANNELS).eval()
    x = torch.randn(3, CHANNELS)
    ids, ptr = torch.tensor([5, 6, 4, 7, 4]), torch.tensor([0, 3, 5])
    logits = decoder(Memory(x, torch.tensor([0, 2, 3])), ids, ptr)  # the first example has two rows
    cell = nn.GRUCell(2 * CHANNELS, CHANNELS)
    cell.load_state_dict(
        {name.removesuffix("_l0"): value for name, value in decoder.gru.state_dict().items()}
    )
    expected = []
    for context, response in ((x[1], [1, 5, 6]), (x[2], [1, 7])):
        state = decoder.lin_start(context).tanh()
        for word in response:
            state = cell(torch.cat([embedding.word.weight[word], context]), state)
            expected.append(embedding.word.weight @ decoder.output.lin(state) + decoder.output.bias)
    assert torch.allclose(logits, torch.stack(expected), atol=1e-5)
