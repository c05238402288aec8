"""Which backend serves which input."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch

from graphdep.io.limits import check_choice

P = ParamSpec("P")
T = TypeVar("T")


def on_cpu(function: Callable[P, T]) -> Callable[P, T]:
    """Makes the tensors of a function on the CPU, also where the user has set another default device."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        if torch.get_default_device().type == "cpu":  # the other way costs something at every call of torch
            return function(*args, **kwargs)
        with torch.device("cpu"):
            return function(*args, **kwargs)

    return run


BACKENDS = ("auto", "reference", "scatter", "dense", "triton")

#: So many pairs of a padded block cost what one gathered edge costs on the CPU.
PAIRS_AN_EDGE_CPU = 48
#: So many pairs of a long block cost the fused kernels no more than one gathered edge costs plain PyTorch on
#: the GPU: a pair takes a 123rd of its time, and of sparse long blocks half is skipped.
PAIRS_AN_EDGE_FUSED = 256
#: Pairs of long blocks that the fused kernels serve however few of them may attend.
FEW_PAIRS = 2**20
#: Rows of the largest tile, and of the tiles that longer blocks are cut into.
TILE_ROWS = 64
#: Edges of a row that a byte can number; 0 and 255 say that a pair may not attend, and that it has no terms.
NUMBERED_EDGES = 254


def check_backend(backend: str) -> str:
    """Raises :class:`ValueError`, naming them, unless there is such a backend."""
    check_choice("backend", backend, BACKENDS)
    return backend


def auto_backend(*, area: int, pairs: int, repeated: bool, on_cuda: bool, scatter: bool) -> str:
    """The backend of ``backend="auto"`` where the fused kernels do not serve."""
    if area <= PAIRS_AN_EDGE_CPU * pairs and not repeated:
        return "dense"
    return "scatter" if on_cuda and scatter else "reference"
