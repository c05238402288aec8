"""``tile``: one program for each tile of whole blocks, up to 64 nodes, and head; all of it on chip.

Nothing is kept for the backward pass but the inputs. It computes the weights anew, and the row sums of weight
times gradient from both as they are on chip, in 32 bits: taken from a rounded output instead, the gradients
of sharp weights are noise. Every number is written by one program, so that two runs are equal to the bit.
"""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):
    import triton.language as tl

from graphdep.nn.attention.fused.kernel_parts import edge_offset, jit, keep_tile, tile_scores


@jit
def tile_weights(q, k, start, head, place, inside, SLOT, ROWPTR, EDGE, BIAS, SCALE, tile, sm_scale,
                 H: tl.constexpr, BLOCK: tl.constexpr, HAS_BIAS: tl.constexpr, HAS_SCALE: tl.constexpr,
                 HAS_EDGE: tl.constexpr, NUMBERS: tl.constexpr, PRECISION: tl.constexpr):  # fmt: skip
    """Weights of a tile; its scores without terms, which pairs have terms, and where these stand."""
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
    largest = tl.where(largest == float("-inf"), 0.0, largest)  # of a row that may attend to nothing
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
    """All gradients of a tile; with ``WEIGHTS`` also from those of the weights that the forward pass gave."""
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
        # Read again: kept since the scores were computed, they would not fit into registers.
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
