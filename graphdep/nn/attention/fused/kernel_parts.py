"""What the kernels share: dropout, the scores of a tile of pairs, and ``jit`` where triton is not installed.

Offsets are of 32 bits, which halves the registers that they take; the caller sees to it that they suffice.
"""

from __future__ import annotations

try:
    import triton.language as tl
    from triton import jit as jit
except ImportError:  # then nobody can run a kernel, but every module can be imported

    def jit(function):
        """The function as it is."""
        return function


@jit
def keep_tile(seed, row, first, head, threshold, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Which weights of a tile dropout keeps: by a number of 24 bits that depends on the seed, the row, the
    column in its block and the head alone, so that a backward pass draws the same ones.

    Args:
        seed: One number a call.
        row: Nodes of the rows, ``[ROWS]``.
        first: Place of the first column in its block, a multiple of four.
        head: The head.
        threshold: Share to drop, times 2^24.
        ROWS, COLUMNS: Size of the tile.
    """
    # Philox gives four numbers at a time: one call serves four columns.
    column = first // 4 + tl.arange(0, COLUMNS // 4)
    zero = tl.zeros((ROWS, COLUMNS // 4), dtype=tl.int32)
    a, b, c, d = tl.philox(seed, zero + row[:, None], zero + column[None, :], zero + head, zero)
    drawn = tl.reshape(tl.join(tl.join(a, b), tl.join(c, d)), (ROWS, COLUMNS))
    return (drawn >> 8).to(tl.int32) >= threshold


@jit
def keep_edges(seed, row, edge, head, threshold):
    """As :func:`keep_tile`, for edges by their numbers: two edges of one pair are drawn apart."""
    zero = tl.zeros_like(row + edge)
    drawn, _, _, _ = tl.philox(seed, zero + row, zero + edge, zero + head, zero + 1)
    return (drawn >> 8).to(tl.int32) >= threshold


@jit
def edge_offset(slot, rowptr, EDGE, head, H: tl.constexpr, HAS_EDGE: tl.constexpr):
    """Which pairs of a tile have terms, and where their term stands in ``[num_edges, H]``.

    Args:
        slot: Bytes of the pairs, as int32, ``[rows, columns]``.
        rowptr: First sorted edge of each row, ``[rows, 1]``; ``[1, rows]`` of a tile that lies on its side.
        EDGE: The caller's numbers of the sorted edges.
        head: The head.
        H: Number of heads.
        HAS_EDGE: Whether ``EDGE`` has any; else sorted edges stand where the caller has them.
    """
    numbered = (slot > 0) & (slot < 255)
    edge = rowptr + slot - 1
    if HAS_EDGE:
        edge = tl.load(EDGE + edge, mask=numbered, other=0)
    return numbered, edge * H + head


@jit
def tile_scores(raw, slot, numbered, edge, BIAS, SCALE, HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr):
    """Scores with their terms, -inf where a pair may not attend; and the scale, 1 where there is none."""
    score = raw
    scale = raw
    if HAS_SCALE:
        scale = tl.load(SCALE + edge, mask=numbered, other=1.0).to(tl.float32)
        score = score * scale
    if HAS_BIAS:
        score = score + tl.load(BIAS + edge, mask=numbered, other=0.0).to(tl.float32)
    return tl.where(slot > 0, score, float("-inf")), scale
