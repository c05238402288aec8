"""Responses from a decoder, a batch at a time."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from graphdep.decoding.beam_search import BeamSearch
from graphdep.decoding.constraints import banned
from graphdep.decoding.decode_config import DecodeConfig
from graphdep.decoding.decoder import Decoder, Memory
from graphdep.decoding.hypothesis import Hypothesis
from graphdep.decoding.sampling import Sampling
from graphdep.vocab import EOU_ID, ROOT_ID


@torch.no_grad()
def generate(
    decoder: Decoder,
    memory: Memory,
    config: DecodeConfig,
    *,
    keys: Sequence[int] | None = None,
    generator: torch.Generator | None = None,
) -> list[list[Hypothesis]]:
    """Responses to a batch of encoded contexts, each as if its context were alone.

    Hypotheses that ended are taken out of the batch, and so are examples that are done. The caller puts the
    decoder in evaluation mode; here it stays in the mode that it is in.

    Args:
        decoder: Gives the logits of the next token.
        memory: The contexts.
        config: How to decode.
        keys: A number for each example, which with the seed decides what is drawn, whatever the batch is.
            (default: its place in the batch)
        generator: Where the seed comes from instead of :obj:`config`, so that calls differ.
            (default: :obj:`None`)

    Returns:
        For each example its :obj:`num_return` hypotheses, best first; those of ``"sample"`` in the order of
        the draws. They are fewer only where so many different responses do not exist.

    Raises:
        ValueError: If there are not as many :obj:`keys` as examples, or logits are NaN, infinite or -inf for
            every token that is allowed.
    """
    size, device = memory.num_examples, memory.x.device
    if keys is not None and len(keys) != size:
        raise ValueError(f"'keys' must have one entry an example: {size} (got {len(keys)})")
    if size == 0:
        return []
    strategy: BeamSearch | Sampling = BeamSearch(config, size, device)
    if config.strategy == "sample":
        seed = config.seed
        if generator is not None:
            seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
        strategy = Sampling(config, keys if keys is not None else range(size), seed, device)
    state = decoder.start(memory)
    example = torch.arange(size, device=device)  # the examples that are not done
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
        kept, order, alive = _close_up(alive & ~strategy.done(example, score, alive)[:, None])
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
    """Hypotheses of every example in another order: ``[E, W, ...]``, ``[E, W']`` -> ``[E, W', ...]``."""
    return x[torch.arange(x.size(0), device=x.device)[:, None], order]


def _check(example: Tensor, score: Tensor, log_probs: Tensor, length: int) -> None:
    """Raises :class:`ValueError` where a hypothesis that is open has no distribution over what may follow."""
    bad = ((score > -torch.inf) & ~log_probs.amax(dim=-1).isfinite()).any(dim=1)
    if bad.any():
        raise ValueError(
            f"the logits are not finite for token {length} of example {int(example[bad][0])} (NaN, inf, or "
            "-inf for every token that is allowed): the model has diverged"
        )


def _close_up(alive: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Which examples have something alive, the order that puts it in front, and what then is alive."""
    kept = alive.any(dim=1).nonzero().view(-1)
    alive = alive[kept]
    width = int(alive.sum(dim=1).max()) if kept.numel() else 0
    order = (~alive).byte().argsort(dim=1, stable=True)[:, :width]
    return kept, order, alive.gather(1, order)
