r"""Which backend serves a call, and which fused kernel serves a block of nodes: all such rules are here.

**On the CPU** ``dense`` while its blocks hold at most 48 times as many pairs as attend, else ``reference``,
which takes 1.1 to 2.2 times as long there, and .8 to 1.4 times at 64 (measured,
``examples/research/benchmarks/density.py``, whose table is in ``examples/research/results/speed.md``).
``segment`` is never chosen: it is for sums in a fixed order. Blocks that are complete, of one size and
without terms are one call of PyTorch's own attention on a view (``whole.py``), without dropout or on CUDA,
where that is fused.

**On CUDA** the fused kernels come first, where triton is installed and they can serve
(``refusal`` in ``fused/fused_attention.py`` says where not); then the rule of the CPU, with
``scatter`` before ``reference`` where torch-scatter is installed.

**Among the fused kernels** every block of nodes (the smallest run of nodes that no pair leaves) goes to one:

=========  =====================================================  =========================================
kernel     blocks                                                 a program
=========  =====================================================  =========================================
``tile``   up to 64 nodes                                         whole blocks, all their pairs on chip
``flash``  longer, with a clique or :math:`n \le 28 m`            64 rows, a loop over 32 columns at a time
``csr``    longer and sparser than that; repeated edges           16 rows, a loop over their edges
=========  =====================================================  =========================================

for :math:`n` nodes with :math:`m` edges each on average. The bound is modelled, not measured: with 48
channels a head, on an H100 at 350 TFLOP/s and 5.5 TB/s from its L2 cache, a row costs 1.24 ps a column in a
dense tile and 35 ps an edge in a gather, 28 times as much; in the backward pass 27 times. Up to 64 nodes a
gather would save less than another launch costs.

**What no fused kernel serves** goes to ``dense``, ``scatter`` or ``reference`` under ``"auto"``, and is
refused with its reason under ``"triton"``: float64, more than 128 channels a head, tensors of 2^31 numbers
and more, edges that are there twice beside a clique, more than 254 edges with terms in a row beside a clique.
Weights under dropout, and those of a clique's pairs, are of pairs written out: asked for, they cost what
``reference`` does, also under ``"triton"``.

**Where results differ** by more than rounding: a row all of whose pairs have a bias of :math:`-\infty` is
NaN, and zeros from the fused kernels. ``flash`` and ``csr`` keep the logarithm of a row's sum, of which the
last digit is worth the more the larger the scores are: the weights of a row add up to 1 within 1.5e-5 where
scores are some 450, within 2e-3 at 5e4 (measured under the interpreter, in 32 bits).
"""

from __future__ import annotations

import torch
from torch import Tensor

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
    if backend not in BACKENDS:
        raise ValueError(f"'backend' must be one of {', '.join(BACKENDS)} (got {backend!r})")
    return backend


def auto_backend(*, area: int, pairs: int, repeated: bool, on_cuda: bool, scatter: bool) -> str:
    """The backend of ``backend="auto"`` where the fused kernels do not serve.

    Args:
        area: Pairs that padded blocks would hold.
        pairs: Pairs that would be gathered.
        repeated: Whether an edge is there twice, which ``dense`` cannot serve.
        on_cuda: Whether the states are on a GPU.
        scatter: Whether torch-scatter is installed.
    """
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
