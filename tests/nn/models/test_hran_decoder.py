from __future__ import annotations

import pytest
import torch
from torch import Tensor

from graphdep.nn.models import HRANDecoder, NodeEmbedding
from graphdep.nn.models.transformer import Memory

WORDS, CHANNELS = 9, 6


def literal(decoder: HRANDecoder, utterances: list[Tensor], inputs: list[int]) -> list[Tensor]:
    """The formulas, one word and one utterance after the other."""
    state, logits = torch.zeros(CHANNELS), []
    w_s, w_l = decoder.word_query.weight.split(CHANNELS, dim=1)
    for previous in inputs:
        level, levels = torch.zeros(CHANNELS), []
        for words in reversed(utterances):
            scores = [
                decoder.word_score.weight[0] @ (w_s @ state + w_l @ level + decoder.word_key(h)).tanh()
                for h in words
            ]
            summary = sum(weight * h for weight, h in zip(torch.stack(scores).softmax(0), words))
            level = decoder.utterance_gru(summary, level)
            levels.append(level)
        scores = [
            decoder.utterance_score.weight[0]
            @ (decoder.utterance_query.weight @ state + decoder.utterance_key(level)).tanh()
            for level in levels
        ]
        context = sum(weight * level for weight, level in zip(torch.stack(scores).softmax(0), levels))
        state = decoder.gru(torch.cat([decoder.embedding.word.weight[previous], context]), state)
        logits.append(decoder.embedding.word.weight @ decoder.output.lin(state) + decoder.output.bias)
    return logits


def make() -> HRANDecoder:
    torch.manual_seed(0)
    embedding = NodeEmbedding(WORDS, CHANNELS, max_positions=0, max_levels=0)
    return HRANDecoder(embedding, CHANNELS).eval()


def test_formulas() -> None:
    decoder = make()
    for parameter in decoder.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    contexts = [[torch.randn(n, CHANNELS) for n in sizes] for sizes in ((2, 4, 1), (3,), (1, 2))]
    flat = [words for context in contexts for words in context]
    group = torch.tensor([0, 0, 1, 1, 1, 1, 2, 0, 0, 0, 1, 3, 3])  # utterances without rows are passed over
    memory = Memory(torch.cat(flat), torch.tensor([0, 7, 10, 13]), group)
    ids, ptr = torch.tensor([4, 5, 6, 7, 4, 8, 4]), torch.tensor([0, 1, 5, 7])
    expected = [
        logits
        for context, inputs in zip(contexts, ([1], [1, 5, 6, 7], [1, 8]))
        for logits in literal(decoder, context, inputs)
    ]
    assert torch.allclose(decoder(memory, ids, ptr), torch.stack(expected), atol=1e-4)


def test_words_must_have_utterances() -> None:
    memory = Memory(torch.randn(3, CHANNELS), torch.tensor([0, 3]))
    with pytest.raises(ValueError, match="no 'group'"):
        make()(memory, torch.tensor([4]), torch.tensor([0, 1]))
