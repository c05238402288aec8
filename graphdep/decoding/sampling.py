"""Random responses."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch import Tensor

from graphdep.decoding.decode_config import DecodeConfig
from graphdep.decoding.hypothesis import Hypothesis


class Sampling:
    """Draws each response token by token.

    Every draw has its own stream of random numbers, made of the seed, the example's key and the number of the
    draw, so that it does not depend on the rest of the batch.

    Args:
        config: How the distribution is thinned out, and how many responses an example gets.
        keys: A number for each example.
        seed: Seed of all draws.
        device: Where the search runs.
    """

    def __init__(self, config: DecodeConfig, keys: Sequence[int], seed: int, device: torch.device) -> None:
        self.config = config
        self.found: list[dict[int, Hypothesis]] = [{} for _ in keys]
        draws = range(config.num_return)
        self.streams = [[random.Random(f"{seed} {key} {draw}") for draw in draws] for key in keys]
        self.draw = torch.arange(len(draws), device=device).repeat(len(keys), 1)  # of every open hypothesis
        self.length = 0

    def choose(self, example: Tensor, score: Tensor, log_probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """A random continuation of each hypothesis: parents, tokens and scores ``[E, W]``."""
        first = self.length == 0  # one hypothesis, which all draws start from
        if first:
            score, log_probs = (x.expand(-1, self.draw.size(1), *x.shape[2:]) for x in (score, log_probs))
        place = torch.arange(score.size(1), device=score.device).expand_as(score)
        parent = torch.zeros_like(place) if first else place
        token = draw(thin_out(log_probs, self.config), self._noise(example))
        self.length += 1
        return parent, token, score + log_probs.gather(-1, token.unsqueeze(-1)).squeeze(-1)

    def set_aside(
        self, example: Tensor, words: Tensor, score: Tensor, which: Tensor, *, finished: bool
    ) -> None:
        """Notes hypotheses that are done."""
        length = words.size(-1) + finished
        final = score[which] / length ** float(self.config.length_penalty)
        number = example[:, None].expand_as(which)[which].tolist()
        draws = self.draw[which].tolist()
        for row, draw_, ids, value in zip(number, draws, words[which].tolist(), final.tolist()):
            self.found[row][draw_] = Hypothesis(tuple(ids), value, finished)

    def done(self, example: Tensor, score: Tensor, alive: Tensor) -> Tensor:
        """Which examples need no further search: those without open hypotheses alone."""
        return torch.zeros_like(example, dtype=torch.bool)

    def select(self, kept: Tensor, order: Tensor) -> None:
        self.draw = self.draw[kept].gather(1, order)

    def _noise(self, example: Tensor) -> Tensor:
        """The next random number of each draw ``[E, W]``."""
        rows = zip(example.tolist(), self.draw.tolist())
        noise = [[self.streams[number][draw_].random() for draw_ in draws] for number, draws in rows]
        return torch.tensor(noise, dtype=torch.float64, device=example.device)

    def results(self) -> list[list[Hypothesis]]:
        return [[found[number] for number in sorted(found)] for found in self.found]


def thin_out(log_probs: Tensor, config: DecodeConfig) -> Tensor:
    """The distribution that is drawn from, not normalised ``[..., num_words]``."""
    logits = log_probs.double() / config.temperature
    if 0 < config.top_k < logits.size(-1):
        best = logits.topk(config.top_k, dim=-1).indices
        logits = torch.full_like(logits, -torch.inf).scatter(-1, best, logits.gather(-1, best))
    probs = logits.softmax(dim=-1)
    if config.top_p < 1:
        ordered, order = probs.sort(dim=-1, descending=True, stable=True)
        before = ordered.cumsum(dim=-1) - ordered  # a token stays while those before it have not enough
        probs = torch.zeros_like(probs).scatter(-1, order, ordered.masked_fill(before >= config.top_p, 0.0))
    return probs


def draw(probs: Tensor, noise: Tensor) -> Tensor:
    """The token at which the probabilities, added up, pass a number between 0 and 1: ``[...]``."""
    total = probs.cumsum(dim=-1)
    # Strictly below the sum of all, whatever was rounded; a token of probability 0 is never met.
    goal = (noise.unsqueeze(-1) * total[..., -1:]).minimum(
        total[..., -1:].nextafter(torch.zeros_like(total[..., -1:]))
    )
    return torch.searchsorted(total, goal, right=True).squeeze(-1)
