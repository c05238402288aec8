"""Beam search; greedy search is a beam of one."""

from __future__ import annotations

import torch
from torch import Tensor

from graphdep.decoding.decode_config import DecodeConfig
from graphdep.decoding.hypothesis import Hypothesis


class BeamSearch:
    """Keeps the best continuations of every example; see :class:`DecodeConfig`.

    An example is done when nothing is left in its beam, or nothing there can still get among its
    :obj:`num_return` best: the log-probability can only fall, and at best is divided by the greatest length.

    Args:
        config: Width of the beam, length penalty, number of responses.
        num_examples: Examples of the batch.
        device: Where the search runs.
    """

    def __init__(self, config: DecodeConfig, num_examples: int, device: torch.device) -> None:
        self.config = config
        self.found: list[list[Hypothesis]] = [[] for _ in range(num_examples)]
        self.room = torch.full((num_examples,), config.beams, device=device)  # places left in the beam
        # Score of the worst hypothesis that would be returned, once there are enough.
        self.worst = torch.full((num_examples,), -torch.inf, device=device)

    def choose(self, example: Tensor, score: Tensor, log_probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The best continuations: parents, tokens and scores ``[E, W']``, -inf where there is no place."""
        num_words = log_probs.size(-1)
        total = (score.unsqueeze(-1) + log_probs).flatten(1)
        score, place = total.topk(min(self.config.beams, total.size(1)), dim=1)
        rank = torch.arange(score.size(1), device=score.device)
        score = score.masked_fill(rank >= self.room[example][:, None], -torch.inf)
        return place // num_words, place % num_words, score

    def set_aside(
        self, example: Tensor, words: Tensor, score: Tensor, which: Tensor, *, finished: bool
    ) -> None:
        """Takes hypotheses out of the beams."""
        row, _ = which.nonzero(as_tuple=True)
        if row.numel() == 0:
            return
        length = words.size(-1) + finished
        final = score[which] / length ** float(self.config.length_penalty)
        for number, ids, value in zip(example[row].tolist(), words[which].tolist(), final.tolist()):
            self.found[number].append(Hypothesis(tuple(ids), value, finished))
        self.room.scatter_add_(0, example[row], -torch.ones_like(row))
        for number in set(example[row].tolist()):
            self.found[number].sort(key=lambda hypothesis: -hypothesis.score)
            if len(self.found[number]) >= self.config.num_return:
                self.worst[number] = self.found[number][self.config.num_return - 1].score

    def done(self, example: Tensor, score: Tensor, alive: Tensor) -> Tensor:
        """Which examples need no further search ``[E]``."""
        best = score.masked_fill(~alive, -torch.inf).amax(dim=1)
        return best / self.config.max_length ** float(self.config.length_penalty) <= self.worst[example]

    def select(self, kept: Tensor, order: Tensor) -> None:
        """Has nothing that follows the hypotheses."""

    def results(self) -> list[list[Hypothesis]]:
        return [found[: self.config.num_return] for found in self.found]
