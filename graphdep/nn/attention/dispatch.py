"""Choice of the attention backend for an input."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch

from graphdep.io.limits import check_choice

P = ParamSpec("P")
T = TypeVar("T")


def on_cpu(function: Callable[P, T]) -> Callable[P, T]:
    """Makes the tensors of a function on the CPU, even if the default device is another one."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        if torch.get_default_device().type == "cpu":  # a device context slows every call of torch
            return function(*args, **kwargs)
        with torch.device("cpu"):
            return function(*args, **kwargs)

    return run


BACKENDS = ("auto", "reference", "scatter", "dense", "triton")

#: On the CPU, this many pairs of a padded block cost as much as one gathered edge.
PAIRS_PER_EDGE_CPU = 48
#: On the GPU, this many pairs of a long block cost the fused kernels at most as much as one gathered edge
#: costs plain PyTorch: a pair takes 1/123 of the time of an edge, and half of sparse long blocks is skipped.
PAIRS_PER_EDGE_FUSED = 256
#: The fused kernels accept long blocks with at most this many pairs, however sparse they are.
FEW_PAIRS = 2**20
#: Rows of the largest tile, and of the tiles of longer blocks.
TILE_ROWS = 64
#: Edges per row that a byte can number; 0 is a pair that may not attend, 255 a pair without terms.
NUMBERED_EDGES = 254


def check_backend(backend: str) -> str:
    """Raises :class:`ValueError`, with the names of all backends, if the backend is unknown."""
    check_choice("backend", backend, BACKENDS)
    return backend


def auto_backend(*, area: int, pairs: int, repeated: bool, on_cuda: bool, scatter: bool) -> str:
    """The backend of ``backend="auto"`` if the fused kernels are not applicable."""
    if area <= PAIRS_PER_EDGE_CPU * pairs and not repeated:
        return "dense"
    return "scatter" if on_cuda and scatter else "reference"
