"""An LSTM that works under autocast on any processor."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import nn


class LSTM(nn.LSTM):
    """:class:`torch.nn.LSTM`, in the precision of its weights where autocast asks for one in which the
    processor has none: oneDNN has no LSTM in bfloat16 or float16 on processors without AVX-512, and raises.
    """

    def forward(self, input: Any, hx: Any = None) -> Any:
        if not (torch.is_autocast_enabled("cpu") and self.weight_ih_l0.device.type == "cpu"):
            return super().forward(input, hx)
        if _processor_has_one(torch.get_autocast_dtype("cpu")):
            return super().forward(input, hx)
        with torch.autocast("cpu", enabled=False):
            return super().forward(input.to(self.weight_ih_l0.dtype), hx)


@cache
def _processor_has_one(dtype: torch.dtype) -> bool:
    with torch.random.fork_rng(devices=[]):  # a model's seed gives the same model on every processor
        probe = nn.LSTM(1, 1)
    try:
        with torch.no_grad(), torch.autocast("cpu", dtype=dtype):
            probe(torch.zeros(1, 1, 1))
    except RuntimeError:
        return False
    return True
