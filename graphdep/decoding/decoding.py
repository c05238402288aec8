"""Decoding: greedy, beam search and sampling."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, Protocol

import torch
from torch import Tensor

from graphdep.io.limits import (
    LIMITS,
    check_above,
    check_between,
    check_choice,
    check_flag,
    check_least,
    check_length,
    check_share,
    check_whole,
)
from graphdep.vocab.vocab import CLS_ID, EOU_ID, ROOT_ID, SEP_ID, UNK_ID


class Memory(Protocol):
    """Encoded contexts, packed: ``x`` ``[num_rows, channels]`` has the rows of one example after another."""

    @property
    def x(self) -> Tensor: ...

    @property
    def num_examples(self) -> int: ...


class Decoder(Protocol):
    """Computes the logits of the next token step by step: :class:`~graphdep.nn.models.ResponseDecoder`."""

    def start(self, memory: Any) -> Any:
        """The state before the first token."""

    def step(self, state: Any, tokens: Tensor) -> tuple[Tensor, Any]:
        """Logits ``[examples, beams, words]`` after ``tokens`` ``[examples, beams]``, and the new state."""

    def select(self, state: Any, example: Tensor, beam: Tensor) -> Any:
        """The state of the given examples and of their remaining beams."""


@dataclass(frozen=True)
class Hypothesis:
    """A response to a context.

    Args:
        ids: Ids of the words, without ``[EOU]``.
        score: Log-probability of the tokens including ``[EOU]``, divided by their number to the power of
            ``length_penalty``.
        finished: Whether it ended with ``[EOU]``; otherwise it was cut at the maximum length.

    Example:
        >>> from graphdep import Vocab
        >>> from graphdep.decoding import Hypothesis
        >>> best = Hypothesis(ids=(5, 6), score=-0.7, finished=True)
        >>> Vocab(["She", "sings"]).words_of(best.ids)
        ['She', 'sings']
    """

    ids: tuple[int, ...]
    score: float
    finished: bool


STRATEGIES = ("greedy", "beam", "sample")

_WHOLE = ("beams", "num_return", "max_length", "min_length", "top_k", "no_repeat_ngram", "seed")
_LEAST_TEMPERATURE = LIMITS["temperature"][0]
_LARGEST_SCORE = 3.4e38  # float32


@dataclass(frozen=True, kw_only=True)
class DecodeConfig:
    r"""Options for generating responses with a model.

    ``"greedy"`` takes the most probable token at every step. ``"beam"`` is the search of "Sequence to
    Sequence Learning with Neural Networks": it keeps the :obj:`beams` best continuations; a finished one
    leaves the beam, which becomes narrower by one. Responses are ranked by

    .. math::
        \frac{\log p(y_1, \dots, y_t)}{t^{\alpha}}

    with the :obj:`length_penalty` :math:`\alpha` and :math:`t` tokens, including ``[EOU]``. ``"sample"``
    draws every token at random: the logits are divided by the temperature, then filtered by :obj:`top_k`,
    then by :obj:`top_p`.

    Args:
        strategy: ``"greedy"``, ``"beam"`` or ``"sample"``. (default: ``"greedy"``)
        beams: Width of the beam, at most 10,000. (default: :obj:`1`)
        num_return: Number of responses per context: the best, or draws; at most 10,000. (default: :obj:`1`)
        max_length: Largest number of tokens, including ``[EOU]``; a longer response is cut. At most 100,000.
            (default: :obj:`50`)
        min_length: Least number of words, unless only ``[EOU]`` is allowed. (default: :obj:`0`)
        length_penalty: :math:`\alpha`: 0 prefers short responses, 1 ranks by the mean. ``max_length`` to this
            power must fit into float32. (default: :obj:`1.0`)
        top_k: Sample from the k most probable tokens; 0 for all. (default: :obj:`0`)
        top_p: Sample from the fewest most probable tokens with this total probability. (default: :obj:`1.0`)
        temperature: Values below 1 sharpen the distribution; at least 1e-06. (default: :obj:`1.0`)
        no_repeat_ngram: Size of the n-grams that must not repeat in a response; 0 for no such rule. (default:
            :obj:`0`)
        allow_unk: Whether a response may contain ``[UNK]``. (default: :obj:`False`)
        seed: Random seed of sampling. (default: :obj:`0`)

    Raises:
        ValueError: If a value is outside its range; the message names the argument.

    Example:
        >>> from graphdep.decoding import DecodeConfig
        >>> config = DecodeConfig(strategy="beam", beams=4, num_return=2)
        >>> config.beams, config.max_length
        (4, 50)
    """

    strategy: str = "greedy"
    beams: int = 1
    num_return: int = 1
    max_length: int = 50
    min_length: int = 0
    length_penalty: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    temperature: float = 1.0
    no_repeat_ngram: int = 0
    allow_unk: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("strategy", self.strategy, STRATEGIES)
        for name in _WHOLE:
            check_whole(name, getattr(self, name))
        check_flag("allow_unk", self.allow_unk)
        for name in ("length_penalty", "top_p", "temperature"):
            self._check_number(name)
        self._check_length_penalty()
        check_above("top_p", self.top_p, 0)
        check_share("top_p", self.top_p)
        check_between("temperature", self.temperature, _LEAST_TEMPERATURE, sys.float_info.max)
        if not 0 <= self.min_length < self.max_length:
            raise ValueError(
                f"'min_length' must be below 'max_length' ({self.max_length}) (got {self.min_length})"
            )
        if self.strategy == "greedy" and (self.beams > 1 or self.num_return > 1):
            name = "beams" if self.beams > 1 else "num_return"
            raise ValueError(
                f"strategy='greedy' gives one response: {name!r} must be 1 (got {getattr(self, name)})"
            )
        if self.strategy == "beam" and self.num_return > self.beams:
            raise ValueError(f"'num_return' must be at most 'beams' ({self.beams}) (got {self.num_return})")

    def _check_number(self, name: str) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{name!r} must be a number (got {value!r})")

    def _check_length_penalty(self) -> None:
        check_least("length_penalty", self.length_penalty, 0)
        try:
            largest = float(self.max_length) ** float(self.length_penalty)
        except OverflowError:
            largest = inf
        if largest > _LARGEST_SCORE or not isfinite(float(self.length_penalty)):
            raise ValueError(
                f"'length_penalty' is too large for max_length={self.max_length} (got {self.length_penalty})"
            )


def banned(history: Tensor, num_words: int, config: DecodeConfig) -> Tensor:
    """Mask of the tokens that must not come next.

    If all tokens would be banned, ``[EOU]`` is allowed, so that a response never gets stuck.

    Args:
        history: Words so far ``[examples, hypotheses, length]``.
        num_words: Size of the vocabulary.
        config: The rules.

    Returns:
        ``[examples, hypotheses, num_words]``, True for banned tokens.
    """
    never = [ROOT_ID, CLS_ID, SEP_ID] + ([] if config.allow_unk else [UNK_ID])
    mask = repeating(history, num_words, config.no_repeat_ngram)
    mask[..., never] = True
    mask[..., EOU_ID] = history.size(-1) < config.min_length
    mask[..., EOU_ID] &= ~mask.all(dim=-1)
    return mask


def repeating(history: Tensor, num_words: int, n: int) -> Tensor:
    """Mask of the tokens that would repeat an n-gram of the history; empty for ``n = 0``."""
    # An additional column takes the writes that mark no word.
    mask = history.new_zeros(*history.shape[:-1], num_words + 1, dtype=torch.bool)
    if 0 < n <= history.size(-1):
        run = history.unfold(-1, n, 1)  # [examples, hypotheses, runs, n]
        latest = history[..., None, history.size(-1) - n + 1 :]
        same = (run[..., :-1] == latest).all(dim=-1)
        mask.scatter_(-1, run[..., -1].where(same, num_words), True)
    return mask[..., :num_words]


class BeamSearch:
    """Keeps the best continuations of every example; see :class:`DecodeConfig`.

    An example is done when its beam is empty, or when no hypothesis in it can still get among the
    :obj:`num_return` best: log-probabilities can only fall, and are divided by the maximum length at best.

    Args:
        config: Beam width, length penalty, number of responses.
        num_examples: Number of examples in the batch.
        device: Device of the search.
    """

    def __init__(self, config: DecodeConfig, num_examples: int, device: torch.device) -> None:
        self.config = config
        self.found: list[list[Hypothesis]] = [[] for _ in range(num_examples)]
        self.room = torch.full((num_examples,), config.beams, device=device)  # free places in the beam
        # Score of the worst returned hypothesis, once there are enough.
        self.worst = torch.full((num_examples,), -torch.inf, device=device)

    def choose(self, example: Tensor, score: Tensor, log_probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The best continuations: parents, tokens and scores ``[E, W']``, -inf for unused places."""
        num_words = log_probs.size(-1)
        total = (score.unsqueeze(-1) + log_probs).flatten(1)
        score, place = total.topk(min(self.config.beams, total.size(1)), dim=1)
        rank = torch.arange(score.size(1), device=score.device)
        score = score.masked_fill(rank >= self.room[example][:, None], -torch.inf)
        return place // num_words, place % num_words, score

    def set_aside(
        self, example: Tensor, words: Tensor, score: Tensor, which: Tensor, *, finished: bool
    ) -> None:
        """TensorContainer hypotheses from the beams to the results."""
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
        """Whether each example needs no further search ``[E]``."""
        best = score.masked_fill(~alive, -torch.inf).amax(dim=1)
        return best / self.config.max_length ** float(self.config.length_penalty) <= self.worst[example]

    def select(self, kept: Tensor, order: Tensor) -> None:
        """Nothing to do: no state follows the hypotheses."""

    def results(self) -> list[list[Hypothesis]]:
        return [found[: self.config.num_return] for found in self.found]


class Sampling:
    """Samples each response token by token.

    Every draw has its own stream of random numbers, seeded by the seed, the example's key and the index of
    the draw, so it does not depend on the rest of the batch.

    Args:
        config: Filters of the distribution, and number of responses per example.
        keys: A number for each example.
        seed: Seed of all draws.
        device: Device of the search.
    """

    def __init__(self, config: DecodeConfig, keys: Sequence[int], seed: int, device: torch.device) -> None:
        self.config = config
        self.found: list[dict[int, Hypothesis]] = [{} for _ in keys]
        draws = range(config.num_return)
        self.streams = [[random.Random(f"{seed} {key} {draw}") for draw in draws] for key in keys]
        self.draw = torch.arange(len(draws), device=device).repeat(len(keys), 1)  # for each open hypothesis
        self.length = 0

    def choose(self, example: Tensor, score: Tensor, log_probs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """A random continuation of each hypothesis: parents, tokens and scores ``[E, W]``."""
        first = self.length == 0  # a single hypothesis, from which all draws start
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
        """Records finished hypotheses."""
        length = words.size(-1) + finished
        final = score[which] / length ** float(self.config.length_penalty)
        number = example[:, None].expand_as(which)[which].tolist()
        draws = self.draw[which].tolist()
        for row, draw_, ids, value in zip(number, draws, words[which].tolist(), final.tolist()):
            self.found[row][draw_] = Hypothesis(tuple(ids), value, finished)

    def done(self, example: Tensor, score: Tensor, alive: Tensor) -> Tensor:
        """Whether each example needs no further search, having no open hypotheses."""
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
    """The filtered distribution, not normalised ``[..., num_words]``."""
    logits = log_probs.double() / config.temperature
    if 0 < config.top_k < logits.size(-1):
        best = logits.topk(config.top_k, dim=-1).indices
        logits = torch.full_like(logits, -torch.inf).scatter(-1, best, logits.gather(-1, best))
    probs = logits.softmax(dim=-1)
    if config.top_p < 1:
        ordered, order = probs.sort(dim=-1, descending=True, stable=True)
        before = ordered.cumsum(dim=-1) - ordered  # a token stays until the tokens before it reach top_p
        probs = torch.zeros_like(probs).scatter(-1, order, ordered.masked_fill(before >= config.top_p, 0.0))
    return probs


def draw(probs: Tensor, noise: Tensor) -> Tensor:
    """The token at which the cumulative probability exceeds a number between 0 and 1: ``[...]``."""
    total = probs.cumsum(dim=-1)
    # Strictly below the total, despite rounding; a token of probability 0 is never chosen.
    goal = (noise.unsqueeze(-1) * total[..., -1:]).minimum(
        total[..., -1:].nextafter(torch.zeros_like(total[..., -1:]))
    )
    return torch.searchsorted(total, goal, right=True).squeeze(-1)


@torch.no_grad()
def generate(
    decoder: Decoder,
    memory: Memory,
    config: DecodeConfig,
    *,
    keys: Sequence[int] | None = None,
    generator: torch.Generator | None = None,
) -> list[list[Hypothesis]]:
    """Generates responses to a batch of encoded contexts, with the same result as one by one.

    Finished hypotheses and examples leave the batch. The decoder stays in its mode; the caller sets
    evaluation mode.

    Args:
        decoder: Returns the logits of the next token.
        memory: The contexts.
        config: Decoding options.
        keys: A number for each example that determines its draws, together with the seed, in any batch.
            (default: its index in the batch)
        generator: Source of the seed instead of :obj:`config`, so that calls differ. (default: :obj:`None`)

    Returns:
        For each example its :obj:`num_return` hypotheses, best first; for ``"sample"`` in the order of the
        draws. There are fewer only if so many different responses do not exist.

    Raises:
        ValueError: If the numbers of :obj:`keys` and examples differ, or logits are NaN, infinite, or -inf
            for every allowed token.
    """
    size, device = memory.num_examples, memory.x.device
    if keys is not None:
        check_length("keys", keys, size, "examples")
    if size == 0:
        return []
    strategy: BeamSearch | Sampling = BeamSearch(config, size, device)
    if config.strategy == "sample":
        seed = config.seed
        if generator is not None:
            seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
        strategy = Sampling(config, keys if keys is not None else range(size), seed, device)
    state = decoder.start(memory)
    example = torch.arange(size, device=device)  # the unfinished examples
    tokens = torch.full((size, 1), ROOT_ID, device=device)
    history = tokens.new_empty(size, 1, 0)
    score = torch.zeros(size, 1, device=device)
    for length in range(1, config.max_length + 1):
        logits, state = decoder.step(state, tokens)
        log_probs = logits.float().log_softmax(dim=-1)
        log_probs = log_probs.masked_fill(banned(history, log_probs.size(-1), config), -torch.inf)
        _check(example, score, log_probs, length)
        parent, token, score = strategy.choose(example, score, log_probs)
        history = torch.cat([take(history, parent), token.unsqueeze(-1)], dim=-1)
        alive = score > -torch.inf
        ended = alive & (token == EOU_ID)
        strategy.set_aside(example, history[..., :-1], score, ended, finished=True)
        alive = alive & ~ended
        if length == config.max_length:
            strategy.set_aside(example, history, score, alive, finished=False)
            break
        kept, order, alive = _drop_finished(alive & ~strategy.done(example, score, alive)[:, None])
        if kept.numel() == 0:
            break
        parent, tokens = take(parent[kept], order), take(token[kept], order)
        history = take(history[kept], order)
        score = take(score[kept], order).masked_fill(~alive, -torch.inf)
        strategy.select(kept, order)
        example = example[kept]
        state = decoder.select(state, kept, parent)
    return strategy.results()


def take(x: Tensor, order: Tensor) -> Tensor:
    """Reorders the hypotheses of each example: ``[E, W, ...]``, ``[E, W']`` -> ``[E, W', ...]``."""
    return x[torch.arange(x.size(0), device=x.device)[:, None], order]


def _check(example: Tensor, score: Tensor, log_probs: Tensor, length: int) -> None:
    """Raises :class:`ValueError` if an open hypothesis has no distribution over the allowed tokens."""
    bad = ((score > -torch.inf) & ~log_probs.amax(dim=-1).isfinite()).any(dim=1)
    if bad.any():
        raise ValueError(
            f"the logits are not finite for token {length} of example {int(example[bad][0])} (NaN, inf, or "
            "-inf for every allowed token): the model has diverged"
        )


def _drop_finished(alive: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Examples with live hypotheses, an order with live ones first, and a mask of the live ones."""
    kept = alive.any(dim=1).nonzero().view(-1)
    alive = alive[kept]
    width = int(alive.sum(dim=1).max()) if kept.numel() else 0
    order = (~alive).byte().argsort(dim=1, stable=True)[:, :width]
    return kept, order, alive.gather(1, order)
