"""Which precision ``precision="auto"`` is on this machine."""

from __future__ import annotations

import time
from functools import lru_cache

import torch
from torch import nn

from graphdep.training.family.train_config import TrainConfig

FULL, HALF = "32-true", "bf16-mixed"
# Of the test: rows of a batch, repetitions, and how much faster bf16 must be to be worth its rounding.
_ROWS, _TIMES, _GAIN = 512, 10, 1.3
# In narrower models the casts cost what the products gain: steps of 300 and of 96 channels took 1.07 and 3.1
# times as long in bf16, where projections alone were faster (examples/research/results/speed.md).
_LEAST_CHANNELS = 384
# A pretrained encoder is not read for this: the width of small ones; wider ones gain more.
_PRETRAINED_CHANNELS = 384


def settled(config: TrainConfig) -> TrainConfig:
    """The settings with what ``precision="auto"`` is here in place of it; others as they are.

    That is ``"bf16-mixed"`` on a GPU that has bf16, and for models of 384 channels and more on a processor
    that is faster in it, which a test of milliseconds says, with matrices of the model's width and once a
    process. Else it is ``"32-true"``. A run is known by what it became.

    Args:
        config: The settings.

    Example:
        >>> from graphdep.training import TrainConfig
        >>> settled(TrainConfig.of("dt", precision="16-mixed")).precision
        '16-mixed'
    """
    if config.precision != "auto":
        return config
    if config.accelerator != "cpu" and torch.cuda.is_available():
        return config.replace(precision=HALF if torch.cuda.is_bf16_supported(False) else FULL)
    if config.accelerator != "cpu" and torch.backends.mps.is_available():
        return config.replace(precision=FULL)
    channels = _PRETRAINED_CHANNELS if config.pretrained else config.hidden_channels
    wide = channels >= _LEAST_CHANNELS
    gains = wide and gain_of_bf16(channels, torch.get_num_threads()) > _GAIN
    return config.replace(precision=HALF if gains else FULL)


@lru_cache
def gain_of_bf16(channels: int, threads: int) -> float:
    """How many times as fast a projection of a layer is forward and backward under bf16 autocast, on the CPU
    with so many threads: the best of a few repetitions that take turns.
    """
    with torch.random.fork_rng(devices=[]):  # the seed of a run gives the same with and without this
        projection = nn.Linear(channels, channels)
        x = torch.randn(_ROWS, channels, requires_grad=True)
    seconds = {False: float("inf"), True: float("inf")}
    for number in range(_TIMES + 1):
        for half in seconds:
            start = time.process_time()  # other work on the machine must not decide
            with torch.enable_grad():
                with torch.autocast("cpu", torch.bfloat16, enabled=half):
                    y = projection(x)
                y.float().sum().backward()
            if number:  # the first finds its kernels
                seconds[half] = min(seconds[half], time.process_time() - start)
    return seconds[False] / seconds[True]
