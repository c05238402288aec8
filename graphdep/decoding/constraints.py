"""Which tokens may come next."""

from __future__ import annotations

import torch
from torch import Tensor

from graphdep.decoding.decode_config import DecodeConfig
from graphdep.vocab import CLS_ID, EOU_ID, ROOT_ID, SEP_ID, UNK_ID


def banned(history: Tensor, num_words: int, config: DecodeConfig) -> Tensor:
    """Which tokens must not follow.

    Where everything would be banned, ``[EOU]`` is let through, so that a response never gets stuck.

    Args:
        history: Words so far ``[examples, hypotheses, length]``.
        num_words: Size of the vocabulary.
        config: The rules.

    Returns:
        ``[examples, hypotheses, num_words]``, True: banned.
    """
    never = [ROOT_ID, CLS_ID, SEP_ID] + ([] if config.allow_unk else [UNK_ID])
    mask = repeating(history, num_words, config.no_repeat_ngram)
    mask[..., never] = True
    mask[..., EOU_ID] = history.size(-1) < config.min_length
    mask[..., EOU_ID] &= ~mask.all(dim=-1)
    return mask


def repeating(history: Tensor, num_words: int, n: int) -> Tensor:
    """Which tokens would complete a run of ``n`` words that is in the history already; none for ``n = 0``."""
    # One column more than there are words takes what is not to be marked.
    mask = history.new_zeros(*history.shape[:-1], num_words + 1, dtype=torch.bool)
    if 0 < n <= history.size(-1):
        run = history.unfold(-1, n, 1)  # [examples, hypotheses, runs, n]
        latest = history[..., None, history.size(-1) - n + 1 :]
        same = (run[..., :-1] == latest).all(dim=-1)
        mask.scatter_(-1, run[..., -1].where(same, num_words), True)
    return mask[..., :num_words]
