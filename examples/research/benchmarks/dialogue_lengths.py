"""Batches of random dialogues with the lengths of real ones, for the benchmarks beside this file."""

from __future__ import annotations

import random
import statistics
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import torch
from attention import random_sentence
from torch_geometric.data import Data

from graphdep import Vocab, to_data
from graphdep.transforms import resolve

# DailyDialog's 76,053 training pairs, measured: share of contexts with 1 to 4 turns (the last 4 at most), and
# the 0, 5, ..., 100 % quantiles of the words of a turn (50 at most; the response is a turn too).
TURNS = (0.146, 0.140, 0.135, 0.579)
WORDS = (1, 4, 5, 6, 7, 7, 8, 9, 9, 10, 11, 12, 13, 14, 15, 17, 19, 22, 26, 33, 50)
ALIKE = 0.3  # correlation of the turns of a dialogue: who talks at length is answered at length
MAX_TURNS, MAX_WORDS = 4, 50

Lengths = tuple[list[int], int]  # words of each turn of the context, and of the response


def sample_lengths(count: int, seed: int = 0) -> list[Lengths]:
    """Lengths that follow the table."""
    source, normal = random.Random(seed), statistics.NormalDist()
    results = []
    for _ in range(count):
        turns = min(bisect([*accumulate(TURNS)], source.random()), 3) + 1
        common = source.gauss(0, 1)
        ranks = [
            normal.cdf(ALIKE**0.5 * common + (1 - ALIKE) ** 0.5 * source.gauss(0, 1))
            for _ in range(turns + 1)
        ]
        *context, response = [_quantile(rank) for rank in ranks]
        results.append((context, response))
    return results


def read_lengths(path: Path) -> list[Lengths]:
    """Lengths of all pairs of a raw file of DailyDialog: a dialogue a line, ``__eou__`` after each turn."""
    results = []
    for line in path.read_text(encoding="utf-8").splitlines():
        turns = [min(len(turn.split()), MAX_WORDS) for turn in line.split("__eou__") if turn.strip()]
        results += [(turns[max(0, i - MAX_TURNS) : i], turns[i]) for i in range(1, len(turns))]
    if not results:
        raise ValueError(f"{path}: no dialogue of two turns or more")
    return results


def make_dialogues(lengths: Sequence[Lengths], num_words: int, seed: int = 0) -> list[Data]:
    """Random words and trees of these lengths, with DRA's edges and a response."""
    generator = torch.Generator().manual_seed(seed)
    edges, dialogues = resolve("dra"), []
    for context, response in lengths:
        data = to_data([random_sentence(words, generator) for words in context], vocab=Vocab())
        words = data.input_ids == 0
        data.input_ids[words] = torch.randint(5, num_words, (int(words.sum()),), generator=generator)
        target = torch.randint(5, num_words, (response + 1,), generator=generator)
        target[-1] = Vocab()["[EOU]"]
        data.target_ids = target
        dialogues.append(edges(data))
    return dialogues


def _quantile(rank: float) -> int:
    place = rank * (len(WORDS) - 1)
    low = min(int(place), len(WORDS) - 2)
    return round(WORDS[low] + (place - low) * (WORDS[low + 1] - WORDS[low]))
