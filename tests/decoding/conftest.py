from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_geometric.utils import cumsum

from graphdep.nn.models import ResponseDecoder
from graphdep.nn.models.transformer import Memory

EOU, SPECIALS = 4, 5


class TableDecoder(ResponseDecoder):
    """Logits drawn at random once for every history and every context (the one number in its memory)."""

    def __init__(self, words: int, scale: float = 1.5) -> None:
        super().__init__()
        self.num_words, self.scale = SPECIALS + words, scale
        self.steps: list[tuple[int, int]] = []  # examples and hypotheses of each step

    def logits(self, context: int, history: tuple[int, ...]) -> Tensor:
        seed = hash((context, history)) % 2**32
        return self.scale * torch.randn(self.num_words, generator=torch.Generator().manual_seed(seed))

    def start(self, memory: Memory) -> list[tuple[int, list[tuple[int, ...]]]]:
        return [(int(number), [()]) for number in memory.x[:, 0]]

    def step(self, state: list, tokens: Tensor) -> tuple[Tensor, list]:
        self.steps.append((tokens.size(0), tokens.size(1)))
        state = [
            (context, [(*history, token) for history, token in zip(histories, row)])
            for (context, histories), row in zip(state, tokens.tolist())
        ]
        logits = [torch.stack([self.logits(c, h[1:]) for h in histories]) for c, histories in state]
        return torch.stack(logits), state

    def select(self, state: list, example: Tensor, beam: Tensor) -> list:
        return [
            (state[e][0], [state[e][1][b] for b in row]) for e, row in zip(example.tolist(), beam.tolist())
        ]


@pytest.fixture
def table() -> Callable[..., TableDecoder]:
    return TableDecoder


@pytest.fixture
def contexts() -> Callable[..., Memory]:
    def make(*numbers: int) -> Memory:
        return Memory(torch.tensor(numbers).view(-1, 1).float(), cumsum(torch.ones(len(numbers)).long()))

    return make
