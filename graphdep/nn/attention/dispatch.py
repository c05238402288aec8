r"""Which backend serves a call, and which fused kernel serves a block of nodes: all such rules are here.

**On the CPU** a pair in a padded block costs about 1/24 of a gathered edge (measured,
``examples/benchmarks/attention.py``), so ``dense`` while its blocks hold at most 24 times as many pairs as
there are edges; else ``reference``.

**On CUDA** the fused kernels come first, where triton is installed and they can serve
(``refusal`` in ``fused/fused_attention.py`` says where not); then the rule of the CPU, with
``segment`` before ``reference`` where torch-scatter is installed.

**Among the fused kernels** every block of nodes (the smallest run of nodes that no pair leaves) goes to one:

=========  =====================================================  =========================================
kernel     blocks                                                 a program
=========  =====================================================  =========================================
``tile``   up to 64 nodes                                         whole blocks, all their pairs on chip
``flash``  longer, with a clique or :math:`n \le 28 m`            64 rows, a loop over 64 columns at a time
``csr``    longer and sparser than that; repeated edges           16 rows, a loop over their edges
=========  =====================================================  =========================================

for :math:`n` nodes with :math:`m` edges each on average. The bound is modelled, not measured: with 48
channels a head, on an H100 at 350 TFLOP/s and 5.5 TB/s from its L2 cache, a row costs 1.24 ps a column in a
dense tile and 35 ps an edge in a gather, 28 times as much; in the backward pass 27 times. Up to 64 nodes a
gather would save less than another launch costs.
"""

from __future__ import annotations

import torch
from torch import Tensor

BACKENDS = ("auto", "reference", "segment", "dense", "triton")

#: So many pairs of a padded block cost what one gathered edge costs.
PAIRS_AN_EDGE_CPU = 24
PAIRS_AN_EDGE_FUSED = 28

TILE, FLASH, CSR = range(3)
#: Rows of the largest block that one program of ``tile`` holds, and of the tiles of ``flash``.
TILE_ROWS = 64
#: Edges of a row that a byte can number; 0 and 255 say that a pair may not attend, and that it has no terms.
NUMBERED_EDGES = 254


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
    return "segment" if on_cuda and scatter else "reference"


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
