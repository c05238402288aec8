"""Triton kernels."""

from __future__ import annotations

try:
    import triton.language as tl
    from triton import jit as jit
except ImportError:  # without triton kernels cannot run, but the module can be imported

    def jit(function):
        """Returns the function unchanged."""
        return function


@jit
def keep_tile(seed, row, first, head, threshold, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Which weights of a tile dropout keeps: by a 24-bit number that depends only on the seed, the row, the
    column in its block and the head, so that the backward pass draws the same numbers.

    Args:
        seed: One number per call.
        row: Nodes of the rows, ``[ROWS]``.
        first: Index of the first column in its block, a multiple of four.
        head: The head.
        threshold: Share to drop, times 2^24.
        ROWS, COLUMNS: Size of the tile.
    """
    # Philox gives four numbers at a time, so one call serves four columns.
    column = first // 4 + tl.arange(0, COLUMNS // 4)
    zero = tl.zeros((ROWS, COLUMNS // 4), dtype=tl.int32)
    a, b, c, d = tl.philox(seed, zero + row[:, None], zero + column[None, :], zero + head, zero)
    drawn = tl.reshape(tl.join(tl.join(a, b), tl.join(c, d)), (ROWS, COLUMNS))
    return (drawn >> 8).to(tl.int32) >= threshold


@jit
def edge_offset(slot, rowptr, EDGE, head, H: tl.constexpr, HAS_EDGE: tl.constexpr):
    """Which pairs of a tile have terms, and the offset of their terms in ``[num_edges, H]``.

    Args:
        slot: Bytes of the pairs, as int32, ``[rows, columns]``.
        rowptr: First sorted edge of each row, ``[rows, 1]``; ``[1, rows]`` for a transposed tile.
        EDGE: Index of each sorted edge in ``edge_index``.
        head: The head.
        H: Number of heads.
        HAS_EDGE: Whether ``EDGE`` is given; otherwise the edges are already sorted.
    """
    numbered = (slot > 0) & (slot < 255)
    edge = rowptr + slot - 1
    if HAS_EDGE:
        edge = tl.load(EDGE + edge, mask=numbered, other=0)
    return numbered, edge * H + head


@jit
def tile_scores(raw, slot, numbered, edge, BIAS, SCALE, HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr):
    """Scores with their terms, -inf for pairs that may not attend; and the scale, 1 without one."""
    score = raw
    scale = raw
    if HAS_SCALE:
        scale = tl.load(SCALE + edge, mask=numbered, other=1.0).to(tl.float32)
        score = score * scale
    if HAS_BIAS:
        score = score + tl.load(BIAS + edge, mask=numbered, other=0.0).to(tl.float32)
    return tl.where(slot > 0, score, float("-inf")), scale


@jit
def tile_weights(q, k, start, head, place, inside, SLOT, ROWPTR, EDGE, BIAS, SCALE, tile, sm_scale,
                 H: tl.constexpr, BLOCK: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr,
                 HAS_EDGE: tl.constexpr, NUMBERS: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """Weights of a tile; scores without terms, the mask of pairs with terms, and the offsets of the terms."""
    raw = tl.dot(q, tl.trans(k), input_precision=PRECISION) * sm_scale
    byte = SLOT + tile * (BLOCK * BLOCK) + place[:, None] * BLOCK + place[None, :]
    slot = tl.load(byte).to(tl.int32)
    numbered = slot > 0
    edge = slot
    if NUMBERS:
        rowptr = tl.load(ROWPTR + start + place, mask=inside, other=0)
        numbered, edge = edge_offset(slot, rowptr[:, None], EDGE, head, H, HAS_EDGE)
    score, _ = tile_scores(raw, slot, numbered, edge, BIAS, SCALE, HAS_BIAS, HAS_SCALE)
    largest = tl.max(score, 1)
    largest = tl.where(largest == float("-inf"), 0.0, largest)  # for a row that may attend to nothing
    weight = tl.exp(score - largest[:, None])
    total = tl.sum(weight, 1)
    weight = weight / tl.where(total == 0.0, 1.0, total)[:, None]
    return weight, raw, numbered, edge


@jit
def tile_forward(Q, K, V, BIAS, SCALE, SEED, OUT, ALPHA, TILE, SLOT, ROWPTR, EDGE,
                 stride_node, stride_head, threshold, keep_scale, sm_scale,
                 H: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
                 HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr, HAS_EDGE: tl.constexpr,
                 DROPOUT: tl.constexpr, WEIGHTS: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """Output of a tile, and with ``WEIGHTS`` the weights of its explicit edges after dropout."""
    head = tl.program_id(0) % H  # neighbouring programs read neighbouring channels
    tile = tl.program_id(0) // H
    start = tl.load(TILE + 2 * tile)
    count = tl.load(TILE + 2 * tile + 1)
    place = tl.arange(0, BLOCK)
    channel = tl.arange(0, BLOCK_D)
    inside = place < count
    mask = inside[:, None] & (channel < D)[None, :]
    at = (start + place)[:, None] * stride_node + head * stride_head + channel[None, :]
    q = tl.load(Q + at, mask=mask, other=0.0)
    k = tl.load(K + at, mask=mask, other=0.0)
    weight, _, numbered, edge = tile_weights(
        q, k, start, head, place, inside, SLOT, ROWPTR, EDGE, BIAS, SCALE, tile, sm_scale,
        H, BLOCK, HAS_BIAS, HAS_SCALE, HAS_EDGE, HAS_BIAS or HAS_SCALE or WEIGHTS, PRECISION)  # fmt: skip
    if DROPOUT:
        keep = keep_tile(tl.load(SEED), start + place, 0, head, threshold, BLOCK, BLOCK)
        weight = tl.where(keep, weight * keep_scale, 0.0)
    if WEIGHTS:
        tl.store(ALPHA + edge, weight, mask=numbered)
    v = tl.load(V + at, mask=mask, other=0.0)
    out = tl.dot(weight.to(v.dtype), v, input_precision=PRECISION)
    to = (start + place)[:, None] * (H * D) + head * D + channel[None, :]
    tl.store(OUT + to, out.to(OUT.dtype.element_ty), mask=mask)


@jit
def tile_backward(Q, K, V, BIAS, SCALE, SEED, DOUT, DALPHA, DQ, DK, DV, DBIAS, DSCALE,
                  TILE, SLOT, ROWPTR, EDGE, stride_node, stride_head, threshold, keep_scale, sm_scale,
                  H: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
                  HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr, HAS_EDGE: tl.constexpr,
                  DROPOUT: tl.constexpr, WEIGHTS: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """All gradients of a tile; with ``WEIGHTS`` also those that arrive at the returned weights."""
    head = tl.program_id(0) % H
    tile = tl.program_id(0) // H
    start = tl.load(TILE + 2 * tile)
    count = tl.load(TILE + 2 * tile + 1)
    place = tl.arange(0, BLOCK)
    channel = tl.arange(0, BLOCK_D)
    inside = place < count
    mask = inside[:, None] & (channel < D)[None, :]
    at = (start + place)[:, None] * stride_node + head * stride_head + channel[None, :]
    to = (start + place)[:, None] * (H * D) + head * D + channel[None, :]
    q = tl.load(Q + at, mask=mask, other=0.0)
    k = tl.load(K + at, mask=mask, other=0.0)
    weight, raw, numbered, edge = tile_weights(
        q, k, start, head, place, inside, SLOT, ROWPTR, EDGE, BIAS, SCALE, tile, sm_scale,
        H, BLOCK, HAS_BIAS, HAS_SCALE, HAS_EDGE, HAS_BIAS or HAS_SCALE or WEIGHTS, PRECISION)  # fmt: skip
    grad = tl.load(DOUT + to, mask=mask, other=0.0)
    used = weight
    if DROPOUT:
        keep = keep_tile(tl.load(SEED), start + place, 0, head, threshold, BLOCK, BLOCK)
        used = tl.where(keep, weight * keep_scale, 0.0)
    dv = tl.dot(tl.trans(used.to(q.dtype)), grad, input_precision=PRECISION)
    tl.store(DV + to, dv.to(DV.dtype.element_ty), mask=mask)
    v = tl.load(V + at, mask=mask, other=0.0)
    grad_weight = tl.dot(grad, tl.trans(v), input_precision=PRECISION)
    if WEIGHTS:
        grad_weight += tl.load(DALPHA + edge, mask=numbered, other=0.0)
    if DROPOUT:
        grad_weight = tl.where(keep, grad_weight * keep_scale, 0.0)
    delta = tl.sum(weight * grad_weight, 1)
    grad_score = weight * (grad_weight - delta[:, None])
    if HAS_BIAS or HAS_SCALE:
        # Read again: the bytes would not fit into registers while the scores are computed.
        byte = SLOT + tile * (BLOCK * BLOCK) + place[:, None] * BLOCK + place[None, :]
        rowptr = tl.load(ROWPTR + start + place, mask=inside, other=0)
        slot = tl.load(byte).to(tl.int32)
        numbered, edge = edge_offset(slot, rowptr[:, None], EDGE, head, H, HAS_EDGE)
    if HAS_BIAS:
        tl.store(DBIAS + edge, grad_score.to(DBIAS.dtype.element_ty), mask=numbered)
    if HAS_SCALE:
        tl.store(DSCALE + edge, (grad_score * raw).to(DSCALE.dtype.element_ty), mask=numbered)
        scale = tl.load(SCALE + edge, mask=numbered, other=1.0).to(tl.float32)
        grad_score = grad_score * scale
    grad_raw = (grad_score * sm_scale).to(q.dtype)
    dq = tl.dot(grad_raw, k, input_precision=PRECISION)
    tl.store(DQ + to, dq.to(DQ.dtype.element_ty), mask=mask)
    dk = tl.dot(tl.trans(grad_raw), q, input_precision=PRECISION)
    tl.store(DK + to, dk.to(DK.dtype.element_ty), mask=mask)


@jit
def flash_scores(left, right, rowptr, head, byte_tile, i, j, SLOT, EDGE, BIAS, SCALE, sm_scale,
                 H: tl.constexpr, TILE: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr,
                 HAS_EDGE: tl.constexpr, NUMBERS: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """Scores of rows ``i`` and columns ``j`` of a byte tile, and their parts: scores without terms, scale,
    mask of pairs with terms, and offsets of the terms.

    ``left`` are queries, ``right`` keys, ``i`` and ``rowptr`` are ``[rows, 1]``, ``j`` is ``[1, columns]``;
    or the other way round, for transposed scores.
    """
    raw = tl.dot(left, tl.trans(right), input_precision=PRECISION) * sm_scale
    byte = SLOT + byte_tile.to(tl.int64) * (TILE * TILE) + i * TILE + j
    slot = tl.load(byte).to(tl.int32)
    numbered = slot > 0
    edge = slot
    if NUMBERS:
        numbered, edge = edge_offset(slot, rowptr, EDGE, head, H, HAS_EDGE)
    score, scale = tile_scores(raw, slot, numbered, edge, BIAS, SCALE, HAS_BIAS, HAS_SCALE)
    return score, raw, scale, numbered, edge


@jit
def flash_forward(Q, K, V, BIAS, SCALE, SEED, OUT, LSE, ALPHA, FLASH, SLOT, USED, ROWPTR, EDGE,
                  stride_node, stride_head, threshold, keep_scale, sm_scale,
                  H: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
                  BLOCK_D: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr,
                  HAS_EDGE: tl.constexpr,
                  DROPOUT: tl.constexpr, WEIGHTS: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """Output of 64 rows, and with ``WEIGHTS`` the weights of their explicit edges after dropout."""
    head = tl.program_id(0) % H
    task = FLASH + 4 * (tl.program_id(0) // H)
    start = tl.load(task)
    length = tl.load(task + 1)
    first = tl.load(task + 2)
    tiles = tl.cdiv(length, TILE)
    byte_tile = tl.load(task + 3) + first // TILE * tiles
    place = tl.arange(0, TILE)
    step = tl.arange(0, STEP)
    channel = tl.arange(0, BLOCK_D)
    inside = first + place < length
    real = (channel < D)[None, :]
    row = start + first + place
    at = head * stride_head + channel[None, :]
    q = tl.load(Q + row[:, None] * stride_node + at, mask=inside[:, None] & real, other=0.0)
    rowptr = tl.load(ROWPTR + row, mask=inside, other=0)
    largest = tl.full((TILE,), float("-inf"), tl.float32)
    total = tl.zeros((TILE,), tl.float32)
    out = tl.zeros((TILE, BLOCK_D), tl.float32)
    for c in range(0, length, STEP):
        at_tile = byte_tile + c // TILE
        if tl.load(USED + at_tile) != 0:
            column = c + step
            mask = (column < length)[:, None] & real
            k = tl.load(K + (start + column)[:, None] * stride_node + at, mask=mask, other=0.0)
            score, _, _, _, _ = flash_scores(
                q, k, rowptr[:, None], head, at_tile, place[:, None], (column % TILE)[None, :],
                SLOT, EDGE, BIAS, SCALE, sm_scale,
                H, TILE, HAS_BIAS, HAS_SCALE, HAS_EDGE, HAS_BIAS or HAS_SCALE, PRECISION)  # fmt: skip
            new = tl.maximum(largest, tl.max(score, 1))
            shift = tl.where(new == float("-inf"), 0.0, new)  # for a row without any source so far
            weight = tl.exp(score - shift[:, None])
            shrink = tl.exp(largest - shift)
            total = total * shrink + tl.sum(weight, 1)
            largest = new
            if DROPOUT:
                keep = keep_tile(tl.load(SEED), row, c, head, threshold, TILE, STEP)
                weight = tl.where(keep, weight * keep_scale, 0.0)
            v = tl.load(V + (start + column)[:, None] * stride_node + at, mask=mask, other=0.0)
            out = out * shrink[:, None] + tl.dot(weight.to(v.dtype), v, input_precision=PRECISION)
    total = tl.where(total == 0.0, 1.0, total)
    out = out / total[:, None]
    to = row[:, None] * (H * D) + head * D + channel[None, :]
    tl.store(OUT + to, out.to(OUT.dtype.element_ty), mask=inside[:, None] & real)
    lse = tl.where(largest == float("-inf"), 0.0, largest) + tl.log(total)
    tl.store(LSE + row * H + head, lse, mask=inside)
    if WEIGHTS:
        for c in range(0, length, STEP):
            at_tile = byte_tile + c // TILE
            if tl.load(USED + at_tile) != 0:
                column = c + step
                mask = (column < length)[:, None] & real
                k = tl.load(K + (start + column)[:, None] * stride_node + at, mask=mask, other=0.0)
                score, _, _, numbered, edge = flash_scores(
                    q, k, rowptr[:, None], head, at_tile, place[:, None], (column % TILE)[None, :],
                SLOT, EDGE, BIAS, SCALE, sm_scale,
                    H, TILE, HAS_BIAS, HAS_SCALE, HAS_EDGE, True, PRECISION)  # fmt: skip
                weight = tl.exp(score - lse[:, None])
                if DROPOUT:
                    keep = keep_tile(tl.load(SEED), row, c, head, threshold, TILE, STEP)
                    weight = tl.where(keep, weight * keep_scale, 0.0)
                tl.store(ALPHA + edge, weight, mask=numbered)


@jit
def flash_backward_pair(q, k, v, grad, lse, row, rowptr, first, head, byte_tile, i, j, seed,
                        SLOT, EDGE, BIAS, SCALE, DALPHA, threshold, keep_scale, sm_scale,
                        H: tl.constexpr, TILE: tl.constexpr, ON_SIDE: tl.constexpr,
                        HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr, HAS_EDGE: tl.constexpr,
                        DROPOUT: tl.constexpr, WEIGHTS: tl.constexpr,
                        PRECISION: tl.constexpr):  # fmt: skip
    """Weights of a part of a byte tile, before and after dropout, their gradients, and the parts of the
    scores from :func:`flash_scores`; all transposed if ``ON_SIDE``.
    """
    numbers: tl.constexpr = HAS_BIAS or HAS_SCALE or WEIGHTS
    if ON_SIDE:
        score, raw, scale, numbered, edge = flash_scores(
            k, q, rowptr, head, byte_tile, i, j, SLOT, EDGE, BIAS, SCALE, sm_scale,
            H, TILE, HAS_BIAS, HAS_SCALE, HAS_EDGE, numbers, PRECISION)  # fmt: skip
        grad_weight = tl.dot(v, tl.trans(grad), input_precision=PRECISION)
    else:
        score, raw, scale, numbered, edge = flash_scores(
            q, k, rowptr, head, byte_tile, i, j, SLOT, EDGE, BIAS, SCALE, sm_scale,
            H, TILE, HAS_BIAS, HAS_SCALE, HAS_EDGE, numbers, PRECISION)  # fmt: skip
        grad_weight = tl.dot(grad, tl.trans(v), input_precision=PRECISION)
    weight = tl.exp(score - lse)
    used = weight
    if WEIGHTS:
        grad_weight += tl.load(DALPHA + edge, mask=numbered, other=0.0)
    if DROPOUT:
        keep = keep_tile(seed, row, first, head, threshold, q.shape[0], k.shape[0])
        if ON_SIDE:
            keep = tl.trans(keep)
        used = tl.where(keep, weight * keep_scale, 0.0)
        grad_weight = tl.where(keep, grad_weight * keep_scale, 0.0)
    return weight, used, grad_weight, raw, scale, numbered, edge


@jit
def flash_backward_rows(Q, K, V, BIAS, SCALE, SEED, DOUT, DALPHA, LSE, DELTA, DQ, DBIAS, DSCALE,
                        FLASH, SLOT, USED, ROWPTR, EDGE,
                        stride_node, stride_head, threshold, keep_scale, sm_scale,
                        H: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
                        BLOCK_D: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr,
                        HAS_EDGE: tl.constexpr,
                        DROPOUT: tl.constexpr, WEIGHTS: tl.constexpr,
                        PRECISION: tl.constexpr):  # fmt: skip
    """Gradients of 64 queries and of their edges' terms; and each row's sum of weight times gradient."""
    head = tl.program_id(0) % H
    task = FLASH + 4 * (tl.program_id(0) // H)
    start = tl.load(task)
    length = tl.load(task + 1)
    first = tl.load(task + 2)
    tiles = tl.cdiv(length, TILE)
    byte_tile = tl.load(task + 3) + first // TILE * tiles
    place = tl.arange(0, TILE)
    step = tl.arange(0, STEP)
    channel = tl.arange(0, BLOCK_D)
    inside = first + place < length
    real = (channel < D)[None, :]
    row = start + first + place
    at = head * stride_head + channel[None, :]
    to = row[:, None] * (H * D) + head * D + channel[None, :]
    q = tl.load(Q + row[:, None] * stride_node + at, mask=inside[:, None] & real, other=0.0)
    grad = tl.load(DOUT + to, mask=inside[:, None] & real, other=0.0)
    rowptr = tl.load(ROWPTR + row, mask=inside, other=0)
    lse = tl.load(LSE + row * H + head, mask=inside, other=0.0)
    seed = SEED
    if DROPOUT:
        seed = tl.load(SEED)
    delta = tl.zeros((TILE,), tl.float32)
    for c in range(0, length, STEP):
        at_tile = byte_tile + c // TILE
        if tl.load(USED + at_tile) != 0:
            column = c + step
            mask = (column < length)[:, None] & real
            k = tl.load(K + (start + column)[:, None] * stride_node + at, mask=mask, other=0.0)
            v = tl.load(V + (start + column)[:, None] * stride_node + at, mask=mask, other=0.0)
            weight, _, grad_weight, _, _, _, _ = flash_backward_pair(
                q, k, v, grad, lse[:, None], row, rowptr[:, None], c, head, at_tile,
                place[:, None], (column % TILE)[None, :], seed,
                SLOT, EDGE, BIAS, SCALE, DALPHA, threshold, keep_scale, sm_scale,
                H, TILE, False, HAS_BIAS, HAS_SCALE, HAS_EDGE, DROPOUT, WEIGHTS, PRECISION)  # fmt: skip
            delta += tl.sum(weight * grad_weight, 1)
    tl.store(DELTA + row * H + head, delta, mask=inside)
    dq = tl.zeros((TILE, BLOCK_D), tl.float32)
    for c in range(0, length, STEP):
        at_tile = byte_tile + c // TILE
        if tl.load(USED + at_tile) != 0:
            column = c + step
            mask = (column < length)[:, None] & real
            k = tl.load(K + (start + column)[:, None] * stride_node + at, mask=mask, other=0.0)
            v = tl.load(V + (start + column)[:, None] * stride_node + at, mask=mask, other=0.0)
            weight, _, grad_weight, raw, scale, numbered, edge = flash_backward_pair(
                q, k, v, grad, lse[:, None], row, rowptr[:, None], c, head, at_tile,
                place[:, None], (column % TILE)[None, :], seed,
                SLOT, EDGE, BIAS, SCALE, DALPHA, threshold, keep_scale, sm_scale,
                H, TILE, False, HAS_BIAS, HAS_SCALE, HAS_EDGE, DROPOUT, WEIGHTS, PRECISION)  # fmt: skip
            grad_score = weight * (grad_weight - delta[:, None])
            if HAS_BIAS:
                tl.store(DBIAS + edge, grad_score.to(DBIAS.dtype.element_ty), mask=numbered)
            if HAS_SCALE:
                tl.store(DSCALE + edge, (grad_score * raw).to(DSCALE.dtype.element_ty), mask=numbered)
                grad_score = grad_score * scale
            dq += tl.dot((grad_score * sm_scale).to(k.dtype), k, input_precision=PRECISION)
    tl.store(DQ + to, dq.to(DQ.dtype.element_ty), mask=inside[:, None] & real)


@jit
def flash_backward_columns(Q, K, V, BIAS, SCALE, SEED, DOUT, DALPHA, LSE, DELTA, DK, DV,
                           FLASH, SLOT, USED, ROWPTR, EDGE,
                           stride_node, stride_head, threshold, keep_scale, sm_scale,
                           H: tl.constexpr, D: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
                           BLOCK_D: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr,
                           HAS_EDGE: tl.constexpr,
                           DROPOUT: tl.constexpr, WEIGHTS: tl.constexpr,
                           PRECISION: tl.constexpr):  # fmt: skip
    """Gradients of 64 keys and values."""
    head = tl.program_id(0) % H
    task = FLASH + 4 * (tl.program_id(0) // H)
    start = tl.load(task)
    length = tl.load(task + 1)
    first = tl.load(task + 2)
    tiles = tl.cdiv(length, TILE)
    byte_tile = tl.load(task + 3) + first // TILE
    place = tl.arange(0, TILE)
    step = tl.arange(0, STEP)
    channel = tl.arange(0, BLOCK_D)
    inside = first + place < length
    real = (channel < D)[None, :]
    at = head * stride_head + channel[None, :]
    column = (start + first + place)[:, None]
    k = tl.load(K + column * stride_node + at, mask=inside[:, None] & real, other=0.0)
    v = tl.load(V + column * stride_node + at, mask=inside[:, None] & real, other=0.0)
    seed = SEED
    if DROPOUT:
        seed = tl.load(SEED)
    dk = tl.zeros((TILE, BLOCK_D), tl.float32)
    dv = tl.zeros((TILE, BLOCK_D), tl.float32)
    for r in range(0, length, STEP):
        at_tile = byte_tile + r // TILE * tiles
        if tl.load(USED + at_tile) != 0:
            row = start + r + step
            there = r + step < length
            mask = there[:, None] & real
            to = row[:, None] * (H * D) + head * D + channel[None, :]
            q = tl.load(Q + row[:, None] * stride_node + at, mask=mask, other=0.0)
            grad = tl.load(DOUT + to, mask=mask, other=0.0)
            rowptr = tl.load(ROWPTR + row, mask=there, other=0)
            lse = tl.load(LSE + row * H + head, mask=there, other=0.0)
            delta = tl.load(DELTA + row * H + head, mask=there, other=0.0)
            weight, used, grad_weight, _, scale, _, _ = flash_backward_pair(
                q, k, v, grad, lse[None, :], row, rowptr[None, :], first, head, at_tile,
                ((r + step) % TILE)[None, :], place[:, None], seed,
                SLOT, EDGE, BIAS, SCALE, DALPHA, threshold, keep_scale, sm_scale,
                H, TILE, True, HAS_BIAS, HAS_SCALE, HAS_EDGE, DROPOUT, WEIGHTS, PRECISION)  # fmt: skip
            dv += tl.dot(used.to(grad.dtype), grad, input_precision=PRECISION)
            grad_score = weight * (grad_weight - delta[None, :])
            if HAS_SCALE:
                grad_score = grad_score * scale
            dk += tl.dot((grad_score * sm_scale).to(q.dtype), q, input_precision=PRECISION)
    to = column * (H * D) + head * D + channel[None, :]
    tl.store(DK + to, dk.to(DK.dtype.element_ty), mask=inside[:, None] & real)
    tl.store(DV + to, dv.to(DV.dtype.element_ty), mask=inside[:, None] & real)
