"""Which backend serves which input."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

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


BACKENDS = ("auto", "reference", "segment", "scatter", "dense", "triton")

#: So many pairs of a padded block cost what one gathered edge costs.
PAIRS_AN_EDGE_CPU = 48
PAIRS_AN_EDGE_FUSED = 28

TILE, FLASH, CSR = range(3)
#: Rows of the largest block that one program of ``tile`` holds, and of the tiles of ``flash``.
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


def kernel_of_blocks(nodes: Tensor, edges: Tensor, clique: Tensor, repeated: Tensor) -> Tensor:
    """``TILE``, ``FLASH`` or ``CSR`` for every block, by the table above.

    Args:
        nodes, edges: How many each block has.
        clique: Whether it has a clique: these pairs are not written out, so that there is nothing to gather.
        repeated: Whether it needs a number for every edge beyond what bytes can say: edges that are there
            twice, or rows with more than 254 edges that have terms.
    """
    dense = clique | ((nodes * nodes <= PAIRS_AN_EDGE_FUSED * edges) & ~repeated)
    small = (nodes <= TILE_ROWS) & (clique | ~repeated)
    return torch.where(small, TILE, torch.where(dense, FLASH, CSR))
